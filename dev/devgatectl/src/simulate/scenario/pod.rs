//! A pod of a scenario.

use super::Amount;
use super::read::{Item, Read};
use devgate_fake_kubelet::{Container, Pod};

impl Read for Pod {
    fn read(item: &Item<'_>) -> Option<Self> {
        let fields = item.fields("a pod", "name requests containers")?;
        let name = fields.need("name");
        let containers = match (fields.item("requests"), fields.item("containers")) {
            (Some(requests), None) => vec![container("main", requests)?],
            (None, Some(containers)) => Read::read(containers)?,
            _ => {
                let message = "a pod has either \"requests\" or \"containers\"";
                item.report.error(item.node.at, message);
                return None;
            }
        };
        Some(Self { name: name?, containers })
    }
}

impl Read for Container {
    fn read(item: &Item<'_>) -> Option<Self> {
        let fields = item.fields("a container", "name requests init")?;
        let name: String = fields.need("name")?;
        let container = match fields.item("requests") {
            Some(requests) => container(&name, requests)?,
            None => Self::new(&name, &[]),
        };
        let init = fields.get("init").unwrap_or(false);
        Some(Self { init, ..container })
    }
}

fn container(name: &str, requests: &Item<'_>) -> Option<Container> {
    let mut container = Container::new(name, &[]);
    for item in requests.entries("\"requests\"")? {
        let count = match Amount::read(&item) {
            Some(Amount::Count(count)) => count,
            Some(Amount::These(ids)) => {
                let count = ids.len();
                container.chosen.insert(item.key.to_owned(), ids.into_iter().collect());
                count
            }
            None => continue,
        };
        if count == 0 {
            item.wrong::<()>("one or more");
        }
        container.resources.insert(item.key.to_owned(), count);
    }
    Some(container)
}
