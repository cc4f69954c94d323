//! A pod of a scenario.

use super::read::{Item, Read};
use devgate_fake_kubelet::{Container, Pod};
use devgate_policy::yaml::Value;
use std::collections::BTreeMap;

/// How many devices a container asks for, or which.
enum Request {
    Count(usize),
    These(Vec<String>),
}

impl Read for Request {
    fn read(item: &Item<'_>) -> Option<Self> {
        let request = match &item.node.value {
            Value::List(_) => Self::These(Read::read(item)?),
            Value::Number(_) => Self::Count(Read::read(item)?),
            _ => return item.wrong("how many, or a list of ids"),
        };
        match &request {
            Self::Count(0) => item.wrong("one or more"),
            Self::These(ids) if ids.is_empty() => item.wrong("one or more"),
            _ => Some(request),
        }
    }
}

impl Read for Pod {
    fn read(item: &Item<'_>) -> Option<Self> {
        let fields = item.fields("a pod", "name requests containers")?;
        let name = fields.need("name");
        let containers = match (fields.item("requests"), fields.item("containers")) {
            (Some(requests), None) => vec![container("main", Read::read(requests)?)],
            (None, Some(containers)) => Read::read(containers)?,
            _ => {
                let message = "a pod has either \"requests\" or \"containers\"";
                item.report.error(item.node.at, message);
                return None;
            }
        };
        Some(Self {
            name: name?,
            containers,
        })
    }
}

impl Read for Container {
    fn read(item: &Item<'_>) -> Option<Self> {
        let fields = item.fields("a container", "name requests init")?;
        let name: String = fields.need("name")?;
        let init = fields.get("init").unwrap_or(false);
        let requests = fields.get("requests").unwrap_or_default();
        Some(Self {
            init,
            ..container(&name, requests)
        })
    }
}

fn container(name: &str, requests: BTreeMap<String, Request>) -> Container {
    let mut container = Container::new(name, &[]);
    for (resource, request) in requests {
        let count = match request {
            Request::Count(count) => count,
            Request::These(ids) => {
                let count = ids.len();
                container.chosen.insert(resource.clone(), ids.into_iter().collect());
                count
            }
        };
        container.resources.insert(resource, count);
    }
    container
}
