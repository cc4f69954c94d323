//! The rules and the dashboard of deploy/monitoring with a real Prometheus that scrapes a real host: every query finds something.

use crate::monitoring::{KIND, RESOURCE, port, ready};
use anyhow::{Context, ensure};
use devgate_fake_kubelet::Pod;
use devgate_tests::{Host, Port, Setup, generic_policy, recording};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// Panels that show nothing where nothing is wrong.
const NOTHING_WRONG: [&str; 3] = ["Plugins that do not serve", "Unhealthy devices by node", "Near a limit"];
/// How a query ends that lists only the nodes with something to tell.
const ONLY_SOME: [&str; 2] = [" > 0", " > 0)"];
/// What is not everywhere: a limit of this process' memory.
const NOT_EVERYWHERE: &str = "devgate_memory_limit_bytes";
/// How long until there is something to see: two scrapes, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);

fn monitoring(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/monitoring").join(file)
}

/// A Prometheus that ends with the test.
struct Prometheus {
    port: Port,
    _child: Child,
}

impl Prometheus {
    /// One that scrapes a host every second, as the node `node-1`; nothing where it is not installed.
    fn start(dir: &Path, target: u16) -> anyhow::Result<Option<Self>> {
        let rules = monitoring("alerts.yaml").canonicalize()?;
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{}']\nscrape_configs:\n  - job_name: devgate\n    \
             static_configs: [{{targets: ['127.0.0.1:{target}'], labels: {{node: node-1}}}}]\n",
            rules.display()
        );
        let file = dir.join("prometheus.yml");
        std::fs::write(&file, config)?;
        let port = Port::find()?;
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", dir.join("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{}", port.number))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(dir.join("prometheus.log"))?)
            .kill_on_drop(true)
            .spawn();
        match child {
            Ok(child) => Ok(Some(Self { port, _child: child })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                ensure!(
                    std::env::var_os("CI").is_none(),
                    "prometheus is not here, and CI must not pass without it: apt-get install prometheus"
                );
                println!("SKIPPED: prometheus is not here (apt-get install prometheus)");
                Ok(None)
            }
            Err(error) => Err(error).context("start prometheus"),
        }
    }

    /// What it answers, if it does and has no error.
    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port.number)).await?;
        // The older version has no chunks.
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
        let json: Value = serde_json::from_str(body).with_context(|| answer.clone())?;
        ensure!(json["status"] == "success", "{path}: {body}");
        Ok(json["data"].clone())
    }

    async fn query(&self, query: &str) -> anyhow::Result<Vec<Value>> {
        let escaped = query.bytes().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "%{byte:02x}");
            text
        });
        let data = self.get(&format!("/api/v1/query?query={escaped}")).await?;
        Ok(data["result"].as_array().cloned().unwrap_or_default())
    }

    /// Waits until it has scraped.
    async fn scraped(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        loop {
            let up = self.query("count_over_time(up{job=\"devgate\"}[1m]) > 3 and up == 1").await;
            match up {
                Ok(found) if !found.is_empty() => return Ok(()),
                Err(error) if start.elapsed() > TIMEOUT => return Err(error),
                _ if start.elapsed() > TIMEOUT => anyhow::bail!("nothing was scraped"),
                _ => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }
}

/// A query of the dashboard.
struct Query {
    panel: String,
    text: String,
    /// What its legend names.
    labels: BTreeSet<String>,
}

fn queries() -> anyhow::Result<Vec<Query>> {
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(monitoring("dashboard.json"))?)?;
    let panels = dashboard["panels"].as_array().context("panels")?;
    // Those within a row that is folded, too.
    let folded = panels.iter().filter_map(|row| row["panels"].as_array()).flatten();
    let mut all = Vec::new();
    for panel in panels.iter().chain(folded) {
        for target in panel["targets"].as_array().into_iter().flatten() {
            all.push(query(&panel["title"], target)?);
        }
    }
    for annotation in dashboard["annotations"]["list"].as_array().into_iter().flatten() {
        all.push(query(&annotation["name"], annotation)?);
    }
    Ok(all)
}

fn query(of: &Value, target: &Value) -> anyhow::Result<Query> {
    let mut text = target["expr"].as_str().context("expr")?.replace("$__rate_interval", "30s");
    for variable in ["$node", "$plugin", "$resource"] {
        text = text.replace(variable, ".*");
    }
    let legend = target["legendFormat"].as_str().unwrap_or_default();
    let labels = legend.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
    Ok(Query {
        panel: of.as_str().unwrap_or_default().to_owned(),
        text,
        labels: labels.map(|(label, _)| label.to_owned()).collect(),
    })
}

async fn host() -> anyhow::Result<Host> {
    let policy = generic_policy(&[KIND]);
    let policy = policy.replacen("    hardware:", "    kernel-log: ['^ACME: ([0-9]+)']\n    hardware:", 1);
    let host = Setup::new(&policy).on(&recording(&[KIND])).args(&["--listen", "127.0.0.1:0"]).start().await?;
    host.allocatable(RESOURCE, 2).await?;
    ready(&host, port(&host).await?).await?;
    host.kubelet.admit(&Pod::new("a", &[(RESOURCE, 1)])).await?;
    Ok(host)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_query_of_the_dashboard_finds_something_and_every_rule_can_be_run() -> anyhow::Result<()> {
    let host = host().await?;
    let Some(prometheus) = Prometheus::start(host.dir(), port(&host).await?)? else {
        return Ok(());
    };
    prometheus.scraped().await?;
    let queries = queries()?;
    ensure!(queries.len() > 30, "only {} queries", queries.len());
    let may_be_empty = |query: &Query| {
        NOTHING_WRONG.contains(&query.panel.as_str())
            || ONLY_SOME.iter().any(|end| query.text.ends_with(end))
            || query.text.contains(NOT_EVERYWHERE)
    };
    let start = Instant::now();
    for query in &queries {
        let found = loop {
            let found = prometheus.query(&query.text).await?;
            if !found.is_empty() || may_be_empty(query) {
                break found;
            }
            ensure!(start.elapsed() < TIMEOUT, "panel {}: {} finds nothing", query.panel, query.text);
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        for label in &query.labels {
            let has = |one: &Value| one["metric"][label].is_string();
            ensure!(found.iter().all(has), "panel {}: no label {label} in {found:?}", query.panel);
        }
    }
    let made_up = prometheus.query("devgate_no_such_metric").await?;
    ensure!(made_up.is_empty(), "what is made up is found");

    let rules = prometheus.get("/api/v1/rules").await?;
    let groups = rules["groups"].as_array().context("groups")?;
    let rules: Vec<_> = groups.iter().filter_map(|group| group["rules"].as_array()).flatten().collect();
    ensure!(rules.len() > 30, "only {} rules", rules.len());
    for rule in rules {
        ensure!(rule["health"] == "ok", "{rule}");
        ensure!(rule["state"] != "firing", "a host that is well fires {rule}");
    }
    Ok(())
}
