//! A pod of a scenario.

use super::read::{Fields, Item, Report, entries};
use devgate_kubelet::standin::{Container, Pod};

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
                let resources = requested(&requests, report)?;
                vec![Container {
                    resources,
                    ..Container::new("main", &[])
                }]
            }
            (None, Some(containers)) => {
                let mut all = Vec::new();
                for node in containers.list(report)? {
                    all.push(container(&containers.element(node), report)?);
                }
                all
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
    let name = fields.need_text("name", report);
    let resources = match fields.get("requests") {
        Some(requests) => requested(&requests, report)?,
        None => Default::default(),
    };
    let init = fields.get("init").and_then(|item| item.yes(report)).unwrap_or(false);
    Some(Container {
        name: name?,
        init,
        resources,
    })
}

fn requested(item: &Item<'_>, report: &mut Report<'_>) -> Option<std::collections::BTreeMap<String, usize>> {
    let mut resources = std::collections::BTreeMap::new();
    for entry in entries(item.node, "\"requests\"", report)? {
        resources.insert(entry.key.to_owned(), entry.count(report)?);
    }
    Some(resources)
}
