//! What kubectl is asked. It knows the cluster, and who asks may do.

use crate::cli::FleetArgs;
use anyhow::{Context, ensure};
use devgate_types::escape;
use serde::Deserialize;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::Command;

/// The container of devgate's pods, and the program in it.
const CONTAINER: &str = "devgate";
const PROGRAM: &str = "/devgate";
/// How `devgate status` ends where a host answers.
const ANSWERED: [Option<i32>; 2] = [Some(0), Some(5)];

pub(super) struct Kubectl {
    options: Vec<String>,
    namespace: String,
    selector: String,
    timeout: Duration,
}

/// A pod of devgate's.
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) node: String,
    phase: String,
}

/// What is read of `devgate status --output json`, of whichever version.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HostStatus {
    pub(super) version: String,
    pub(super) summary: String,
    pub(super) conditions: Vec<ConditionStatus>,
    pub(super) plugins: Vec<PluginStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConditionStatus {
    pub(super) condition: String,
    pub(super) of: String,
    pub(super) why: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PluginStatus {
    pub(super) resources: Vec<ResourceStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResourceStatus {
    pub(super) devices: Vec<DeviceStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DeviceStatus {
    pub(super) unhealthy: Option<String>,
}

#[derive(Deserialize)]
struct Pods {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
}

impl Kubectl {
    pub(super) fn new(args: &FleetArgs) -> Self {
        let context = args.context.iter().map(|context| format!("--context={context}"));
        Self {
            options: context.collect(),
            namespace: args.namespace.clone(),
            selector: args.selector.clone(),
            timeout: Duration::from_secs(args.timeout.into()),
        }
    }

    /// devgate's pods, in whichever state.
    pub(super) async fn pods(&self) -> anyhow::Result<Vec<Pod>> {
        let (namespace, selector) =
            (format!("--namespace={}", self.namespace), format!("--selector={}", self.selector));
        let output = self.run(&["get", "pods", &namespace, &selector, "--output=json"]).await?;
        ensure!(output.status.success(), "kubectl: {}", said(&output));
        let pods: Pods = serde_json::from_slice(&output.stdout).context("kubectl: the list of pods")?;
        let pod = |item: Item| Pod {
            name: item.metadata.name,
            node: item.spec.node_name.unwrap_or_else(|| "-".to_owned()),
            phase: item.status.phase,
        };
        Ok(pods.items.into_iter().map(pod).collect())
    }

    /// What a pod's host says.
    ///
    /// # Errors
    /// Why it says nothing.
    pub(super) async fn status(&self, pod: &Pod) -> Result<HostStatus, String> {
        if pod.phase != "Running" {
            return Err(format!("its pod is {}", pod.phase));
        }
        let namespace = format!("--namespace={}", self.namespace);
        let words = ["exec", &namespace, &pod.name, "--container", CONTAINER, "--", PROGRAM, "status", "--output=json"];
        let asked = tokio::time::timeout(self.timeout, self.run(&words)).await;
        let output = asked.map_err(|_| format!("no answer within {:?}", self.timeout))?;
        let output = output.map_err(|error| format!("{error:#}"))?;
        if !ANSWERED.contains(&output.status.code()) {
            return Err(said(&output));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| format!("its answer is not understood: {error}"))
    }

    async fn run(&self, words: &[&str]) -> anyhow::Result<Output> {
        let mut command = Command::new("kubectl");
        command.args(&self.options).args(words).stdin(Stdio::null()).kill_on_drop(true);
        command.output().await.context("kubectl")
    }
}

/// The last line that was said of what went wrong.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with("command terminated"));
    last.map_or_else(|| output.status.to_string(), |line| escape(line.trim(), 300))
}
