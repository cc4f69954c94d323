//! A pod of a scenario.

use super::read::{Fields, Item, Report, entries};
use devgate_fake_kubelet::{Container, Pod};
use devgate_policy::yaml::Value;

/// A pod with its containers.
#[derive(Debug, Clone)]
pub(in crate::simulate) struct PodSpec {
    pub(in crate::simulate) pod: Pod,
}

const KEYS: [&str; 3] = ["name", "requests", "containers"];
const CONTAINER: [&str; 3] = ["name", "requests", "init"];

impl PodSpec {
    pub(super) fn read(item: &Item<'_>, report: &mut Report<'_>) -> Option<Self> {
        let fields = Fields::open(item.node, "a pod", &KEYS, report)?;
        let name = fields.need_text("name", report);
        let containers = match (fields.get("requests"), fields.get("containers")) {
            (Some(requests), None) => {
                let mut main = Container::new("main", &[]);
                requested(&requests, &mut main, report)?;
                vec![main]
            }
            (None, Some(containers)) => {
                let list = containers.list(report)?.iter();
                let read = list.map(|node| container(&containers.element(node), report));
                read.collect::<Option<Vec<_>>>()?
            }
            _ => {
                report.error(fields.at, "a pod has either \"requests\" or \"containers\"");
                return None;
            }
        };
        Some(Self {
            pod: Pod {
                name: name?,
                containers,
            },
        })
    }
}

fn container(item: &Item<'_>, report: &mut Report<'_>) -> Option<Container> {
    let fields = Fields::open(item.node, "a container", &CONTAINER, report)?;
    let mut container = Container::new(&fields.need_text("name", report)?, &[]);
    if let Some(requests) = fields.get("requests") {
        requested(&requests, &mut container, report)?;
    }
    container.init = fields.get("init").and_then(|item| item.yes(report)).unwrap_or(false);
    Some(container)
}

/// How many devices of which resource, or which.
fn requested(item: &Item<'_>, container: &mut Container, report: &mut Report<'_>) -> Option<()> {
    for entry in entries(item.node, "\"requests\"", report)? {
        let resource = entry.key.to_owned();
        let count = match &entry.node.value {
            Value::List(_) => {
                let ids = entry.texts(report)?;
                let count = ids.len();
                container.chosen.insert(resource.clone(), ids.into_iter().collect());
                count
            }
            Value::Number(_) => entry.count(report)?,
            _ => {
                entry.wrong("how many, or a list of ids", report);
                return None;
            }
        };
        if count == 0 {
            entry.wrong("one or more", report);
        }
        container.resources.insert(resource, count);
    }
    Some(())
}
