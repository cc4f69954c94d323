//! What there is: queues by what they are offered as, and accelerators on vfio.

use crate::config::Config;
use crate::function;
use crate::queue::{self, Queue};
use devgate_sdk::{Error, Pool, Presence, Unit, hardware};
use std::collections::BTreeMap;

/// What a look found.
#[derive(Default)]
pub(crate) struct Found {
    /// By resource.
    units: BTreeMap<String, Vec<Unit>>,
    /// The pool of accelerators on vfio, with what opens them.
    vfio: Option<Pool>,
    /// The kernel names of what is there and cannot be described now.
    unread: Vec<String>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
}

/// Looks for all of it.
///
/// # Errors
/// When a bus cannot be listed at all, or what opens functions on vfio cannot be told.
pub(crate) fn look(config: &Config) -> Result<Found, Error> {
    let mut found = Found::default();
    for device in hardware::devices("dsa")? {
        let name = device.name();
        if !queue::is_queue(&name) {
            continue;
        }
        match queue::look(device).if_present() {
            Ok(Some(Queue::Offered(resource, unit))) => found.units.entry(resource).or_default().push(unit),
            Ok(Some(Queue::NotNow(why))) => found.open(name, &format!("is not offered: {why}")),
            Ok(Some(Queue::NotMeant) | None) => {}
            Err(error) => found.open(name, &format!("cannot be described now: {}", error.message)),
        }
    }
    if let Some(resource) = &config.vfio {
        found.functions(resource)?;
    }
    Ok(found)
}

impl Found {
    /// Leaves something as it was.
    fn open(&mut self, name: String, what: &str) {
        self.notes.push(format!("{name} {what}"));
        self.unread.push(name);
    }

    fn functions(&mut self, resource: &str) -> Result<(), Error> {
        let mut pool = Pool::new(resource, Vec::new());
        for device in hardware::devices("pci")? {
            let name = device.name();
            if !function::is_dsa(&device) {
                continue;
            }
            match function::unit(device).if_present() {
                Ok(unit) => pool.units.extend(unit.flatten()),
                Err(error) => self.open(name, &format!("cannot be described now: {}", error.message)),
            }
        }
        if !pool.units.is_empty() {
            pool.shared_nodes = devgate_vfio::openers()?;
        }
        self.vfio = Some(pool);
        Ok(())
    }

    /// The pools; the host takes what is unread for the whole plugin, wherever it is said.
    pub(crate) fn pools(self) -> Vec<Pool> {
        let mut pools: Vec<Pool> = self.units.into_iter().map(|(name, units)| Pool::new(name, units)).collect();
        pools.extend(self.vfio);
        if pools.is_empty() {
            pools.push(Pool::new("dsa.intel.com/wq-user-shared", Vec::new()));
        }
        let mut pools = pools.into_iter();
        let first = pools.next().map(|first| first.with_unread(&self.unread));
        first.into_iter().chain(pools).collect()
    }
}
