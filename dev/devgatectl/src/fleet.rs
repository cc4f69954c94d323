//! `devgatectl fleet`: asks the hosts of all nodes side by side, by kubectl, and shows a line for each node and what is wrong once.

mod kubectl;
mod text;

use crate::cli::FleetArgs;
use devgate::cli::Output;
use devgate::progress::Progress;
use devgate::{exit, output};
use devgate_types::escape;
use kubectl::{HostStatus, Kubectl, Pod};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// The longest text of a host that is shown.
const MAX_TEXT: usize = 300;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Fleet {
    /// In the order of their names.
    nodes: Vec<NodeStatus>,
    /// That on most nodes first.
    problems: Vec<Problem>,
}

/// One node's host.
#[derive(Debug, Serialize)]
struct NodeStatus {
    node: String,
    pod: String,
    version: Option<String>,
    devices: usize,
    healthy: usize,
    /// What the host says of itself in a line.
    summary: String,
    /// Why it does not answer, if so.
    unanswered: Option<String>,
    #[serde(skip)]
    conditions: Vec<(String, String, String)>,
}

/// What is wrong in one way on some nodes.
#[derive(Debug, Serialize)]
struct Problem {
    /// The condition's code, or `unanswered`.
    condition: String,
    /// Whose it is, such as `plugin gpus`.
    of: String,
    /// In the words of the first of the nodes.
    why: String,
    nodes: Vec<String>,
}

/// Runs the command.
pub(crate) fn fleet(args: &FleetArgs) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut nodes = runtime.block_on(ask(args))?;
    nodes.sort_by(|a, b| (&a.node, &a.pod).cmp(&(&b.node, &b.pod)));
    let fleet = Fleet { problems: problems(&nodes), nodes };
    match args.output {
        Output::Text => output::print(&text::of(&fleet))?,
        Output::Json => output::print_json(&fleet)?,
    }
    Ok(if fleet.problems.is_empty() { exit::OK } else { exit::FOUND })
}

async fn ask(args: &FleetArgs) -> anyhow::Result<Vec<NodeStatus>> {
    let kubectl = Arc::new(Kubectl::new(args));
    let pods = kubectl.pods().await.map_err(|why| exit::with_code(exit::NODE, why.to_string()))?;
    if pods.is_empty() {
        let (namespace, selector) = (escape(&args.namespace, 80), escape(&args.selector, 200));
        let why =
            format!("namespace {namespace}: has no pod with {selector}; name another one with -n, -l or --context");
        return Err(exit::with_code(exit::NODE, why));
    }
    let _progress = Progress::begin(format!("asking {}", output::count(pods.len(), "pod")));
    let (permits, mut asked) = (Arc::new(Semaphore::new(args.jobs.into())), JoinSet::new());
    for pod in pods {
        let (kubectl, permits) = (Arc::clone(&kubectl), Arc::clone(&permits));
        asked.spawn(async move {
            let _permit = permits.acquire_owned().await;
            let status = kubectl.status(&pod).await;
            NodeStatus::of(pod, status)
        });
    }
    Ok(asked.join_all().await)
}

impl NodeStatus {
    fn of(pod: Pod, status: Result<HostStatus, String>) -> Self {
        let (status, unanswered) = match status {
            Ok(status) => (status, None),
            Err(why) => (HostStatus::default(), Some(escape(&why, MAX_TEXT))),
        };
        let devices =
            || status.plugins.iter().flat_map(|plugin| &plugin.resources).flat_map(|resource| &resource.devices);
        let shown = |text: &str| escape(text, MAX_TEXT);
        let conditions = status.conditions.iter();
        Self {
            node: shown(&pod.node),
            pod: shown(&pod.name),
            version: (!status.version.is_empty()).then(|| shown(&status.version)),
            devices: devices().count(),
            healthy: devices().filter(|device| device.unhealthy.is_none()).count(),
            summary: unanswered.clone().unwrap_or_else(|| shown(&status.summary)),
            conditions: conditions
                .map(|found| (shown(&found.condition), shown(&found.of), shown(&found.why)))
                .collect(),
            unanswered,
        }
    }
}

/// What is wrong, with the nodes on which it is: the same but for its numbers is the same.
fn problems(nodes: &[NodeStatus]) -> Vec<Problem> {
    let mut like: BTreeMap<(String, String, String), Problem> = BTreeMap::new();
    for node in nodes {
        let unanswered = node.unanswered.iter().map(|why| ("unanswered".to_owned(), "host".to_owned(), why.clone()));
        for (condition, of, why) in node.conditions.iter().cloned().chain(unanswered) {
            let shape = why.replace(&node.pod, "").replace(|c: char| c.is_ascii_digit(), "");
            let problem = like.entry((condition.clone(), of.clone(), shape));
            let problem = problem.or_insert_with(|| Problem { condition, of, why, nodes: Vec::new() });
            if problem.nodes.last() != Some(&node.node) {
                problem.nodes.push(node.node.clone());
            }
        }
    }
    let mut problems: Vec<_> = like.into_values().collect();
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.nodes.len()));
    problems
}

#[cfg(test)]
mod tests;
