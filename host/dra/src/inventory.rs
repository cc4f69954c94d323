//! All devices of a driver, by what they are called in the API.

use devgate_cdi::device_name;
use devgate_core::offer::{Driver, Facts, Offer};
use devgate_types::ResourceName;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{StreamExt as _, StreamMap};

/// The offers of one driver; none while its plugin is not there.
pub(crate) type DriverOffers = Arc<[Arc<dyn Offer>]>;

/// A device.
#[derive(Debug)]
pub(crate) struct Listed {
    /// As schedulers know it: a DNS label.
    pub(crate) name: String,
    /// As it is offered.
    pub(crate) id: String,
    pub(crate) resource: ResourceName,
    /// Escaped.
    pub(crate) unhealthy: Option<Arc<str>>,
    pub(crate) facts: Option<Arc<Facts>>,
}

/// All devices of a driver at one moment.
#[derive(Debug)]
pub(crate) struct Inventory {
    pub(crate) driver: Driver,
    pub(crate) is_offered: bool,
    /// In the order of offers and lists.
    pub(crate) devices: Vec<Listed>,
    by_name: HashMap<String, usize>,
    /// Ids that have the name of another.
    pub(crate) left_out: Vec<String>,
}

impl Inventory {
    /// What these list now of the driver of this name. One that is not offered may do nothing that a policy must allow.
    pub(crate) fn of(name: &str, offers: &DriverOffers) -> Self {
        let driver = offers.iter().find_map(|offer| offer.driver()).cloned();
        let driver = driver.unwrap_or_else(|| Driver { name: name.to_owned(), ..Driver::default() });
        let (is_offered, by_name) = (!offers.is_empty(), HashMap::new());
        let mut all = Self { driver, is_offered, devices: Vec::new(), by_name, left_out: Vec::new() };
        for offer in offers.iter() {
            let list = Arc::clone(&offer.devices().borrow());
            for device in &list.devices {
                let (name, id) = (device_name(&device.id), device.id.clone());
                if all.by_name.contains_key(&name) {
                    all.left_out.push(id);
                    continue;
                }
                all.by_name.insert(name.clone(), all.devices.len());
                let (unhealthy, facts) = (device.unhealthy.clone(), device.facts.clone());
                all.devices.push(Listed { name, id, resource: offer.resource().clone(), unhealthy, facts });
            }
        }
        all
    }

    /// The device of this name.
    pub(crate) fn device(&self, name: &str) -> Option<&Listed> {
        self.devices.get(*self.by_name.get(name)?)
    }
}

/// Tells each change of what a driver's offers list, for as long as it is polled.
pub(crate) async fn follow(name: &str, mut offers: watch::Receiver<DriverOffers>, out: &watch::Sender<Arc<Inventory>>) {
    loop {
        let now = Arc::clone(&offers.borrow_and_update());
        let lists = now.iter().map(|offer| WatchStream::from_changes(offer.devices()));
        let mut lists: StreamMap<usize, _> = lists.enumerate().collect();
        loop {
            out.send_replace(Arc::new(Inventory::of(name, &now)));
            tokio::select! {
                Some(_) = lists.next() => {}
                changed = offers.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return std::future::pending().await,
                },
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
