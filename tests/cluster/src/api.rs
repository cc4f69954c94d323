//! Reading the cluster, as an outsider does: API objects, metrics.

use crate::cluster::Cluster;
use crate::configs::ADDRESS;
use crate::process;
use anyhow::{Context, Result};
use serde_json::Value;

impl Cluster {
    /// What the API server answers to a GET. Unlike kubectl it costs next to nothing, so that it can be asked often.
    ///
    /// # Errors
    /// When it answers with an error.
    pub(crate) fn api(&self, path: &str) -> Result<String> {
        let keys = self.given.dir.join("keys");
        let mut curl = self.in_network("curl");
        curl.args(["--silent", "--show-error", "--fail-with-body", "--max-time", "10"]);
        curl.arg("--cacert").arg(keys.join("ca.crt"));
        curl.arg("--cert").arg(keys.join("admin.crt")).arg("--key").arg(keys.join("admin.key"));
        process::read(curl.arg(format!("https://{ADDRESS}:443{path}")))
    }

    /// The same as JSON.
    ///
    /// # Errors
    /// When it answers with an error.
    pub(crate) fn get(&self, path: &str) -> Result<Value> {
        serde_json::from_str(&self.api(path)?).with_context(|| format!("the answer to {path}"))
    }

    /// A list of objects.
    ///
    /// # Errors
    /// When the API server answers with an error.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<Value>> {
        let mut list = self.get(path)?;
        Ok(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    /// How many of a resource the node has: `allocatable`, or `capacity`; `None` where it does not know of it.
    ///
    /// # Errors
    /// When the API server answers with an error.
    pub(crate) fn node_has(&self, which: &str, resource: &str) -> Result<Option<u64>> {
        let node = self.get("/api/v1/nodes/node1")?;
        let amount = node["status"][which][resource].as_str();
        amount.map(|text| text.parse().context("an amount")).transpose()
    }

    /// devgate's metrics: each line's name with labels, and its value.
    ///
    /// # Errors
    /// When devgate's pod does not answer.
    pub(crate) fn metrics(&self) -> Result<Vec<(String, f64)>> {
        let text = self.probe("/metrics")?;
        let line = |line: &str| Some((line.rsplit_once(' ')?.0.to_owned(), line.rsplit_once(' ')?.1.parse().ok()?));
        Ok(text.lines().filter(|line| !line.starts_with('#')).filter_map(line).collect())
    }

    /// The sum of a metric over all lines that contain each of these texts, such as `plugin="disks"`.
    ///
    /// # Errors
    /// When devgate's pod does not answer, or there is no such line.
    pub(crate) fn metric(&self, name: &str, with: &[&str]) -> Result<f64> {
        let all = self.metrics()?;
        let of = |line: &str| line.split('{').next() == Some(name) && with.iter().all(|text| line.contains(text));
        let found: Vec<_> = all.iter().filter(|(line, _)| of(line)).map(|(_, value)| value).collect();
        if found.is_empty() {
            anyhow::bail!("there is no metric {name} with {}", with.join(", "));
        }
        Ok(found.into_iter().sum())
    }

    /// What devgate answers to a GET on its port.
    ///
    /// # Errors
    /// When it answers with an error, whose text is in it.
    pub(crate) fn probe(&self, path: &str) -> Result<String> {
        let pod = self.devgate()?;
        let address = pod["status"]["podIP"].as_str().context("devgate's pod has no address")?;
        let mut curl = self.in_network("curl");
        curl.args(["--silent", "--show-error", "--fail-with-body", "--max-time", "5"]);
        process::read(curl.arg(format!("http://{address}:9464{path}")))
    }
}
