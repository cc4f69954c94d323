//! A Prometheus of the cluster, with the targets and labels that the overlay `monitoring` gives it.

use crate::cluster::Cluster;
use crate::process;
use crate::wait::until;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Where it listens, in the nodes' network.
const ADDRESS: &str = "127.0.0.1:9090";
/// What its process is called.
const NAME: &str = "prometheus";

/// One that ends with the scenario.
pub(crate) struct Prometheus<'a> {
    cluster: &'a Cluster,
}

impl<'a> Prometheus<'a> {
    /// Starts it with the rules of deploy/monitoring, until it answers.
    ///
    /// # Errors
    /// When it does not come.
    pub(crate) fn start(cluster: &'a Cluster) -> Result<Self> {
        let work = std::path::absolute(cluster.given.dir.join("work"))?;
        let _of_an_earlier_one = std::fs::remove_dir_all(work.join("tsdb"));
        let pods = cluster.devgate_pods()?;
        let targets = pods.iter().map(|pod| {
            let address = pod["status"]["podIP"].as_str().context("a pod without an address")?;
            Ok(json!({"targets": [format!("{address}:9464")], "labels": {"node": pod["spec"]["nodeName"]}}))
        });
        let targets = targets.collect::<Result<Vec<_>>>()?;
        let config = work.join("prometheus.json");
        let text = json!({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [monitoring(cluster, "alerts.yaml").canonicalize()?],
            "scrape_configs": [{"job_name": "devgate", "static_configs": targets}],
        });
        std::fs::write(&config, text.to_string())?;
        let (config, tsdb) = (config.display(), work.join("tsdb").display().to_string());
        let words = [NAME, &format!("--config.file={config}"), &format!("--storage.tsdb.path={tsdb}")];
        cluster.service(NAME, &[&words[..], &[&format!("--web.listen-address={ADDRESS}")]].concat())?;
        let prometheus = Self { cluster };
        until("Prometheus", 30, || prometheus.query("vector(1)"))?;
        Ok(prometheus)
    }

    /// What a query finds.
    ///
    /// # Errors
    /// When it does not answer, or says that it is no query.
    pub(crate) fn query(&self, query: &str) -> Result<Vec<Value>> {
        let mut curl = self.cluster.in_network("curl");
        curl.args(["--silent", "--show-error", "--fail-with-body", "--max-time", "10", "--data-urlencode"]);
        let answer = process::read(curl.arg(format!("query={query}")).arg(format!("http://{ADDRESS}/api/v1/query")))?;
        let answer: Value = serde_json::from_str(&answer).with_context(|| answer.clone())?;
        ensure!(answer["status"] == "success", "{query}: {answer}");
        Ok(answer["data"]["result"].as_array().cloned().unwrap_or_default())
    }

    /// Runs each query of the dashboard; how many there are, and how many find something.
    ///
    /// # Errors
    /// When one is not understood.
    pub(crate) fn dashboard(&self) -> Result<(usize, usize)> {
        let text = std::fs::read_to_string(monitoring(self.cluster, "dashboard.json"))?;
        let dashboard: Value = serde_json::from_str(&text)?;
        let panels: Vec<_> = dashboard["panels"].as_array().context("panels")?.iter().collect();
        let folded = panels.iter().filter_map(|row| row["panels"].as_array()).flatten();
        let targets = panels.iter().copied().chain(folded).filter_map(|panel| panel["targets"].as_array()).flatten();
        let (mut all, mut with) = (0, 0);
        for target in targets {
            let mut query =
                target["expr"].as_str().context("a target without a query")?.replace("$__rate_interval", "30s");
            for variable in ["$node", "$plugin", "$resource"] {
                query = query.replace(variable, ".*");
            }
            all += 1;
            with += usize::from(!self.query(&query)?.is_empty());
        }
        Ok((all, with))
    }
}

impl Drop for Prometheus<'_> {
    fn drop(&mut self) {
        let _with_the_node_at_the_latest = self.cluster.end_service(NAME);
    }
}

fn monitoring(cluster: &Cluster, file: &str) -> PathBuf {
    Path::new(&cluster.given.root).join("deploy/monitoring").join(file)
}
