//! All resources that are offered, in policy order, whichever plugin was ready first.

use crate::ledger::PluginIndex;
use crate::offer::{Offer, Offers};
use crate::resource::{Core, Resource};
use devgate_types::{Mutex, PluginName, ResourceName};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use tokio::sync::watch;

type Known = BTreeMap<(PluginIndex, ResourceName), Arc<Resource>>;

/// Plugins, none of which is kept alive by it.
pub(crate) type Cores = Arc<Mutex<Vec<Weak<Core>>>>;

/// Where plugins put their resources and front ends find them. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    known: Arc<Mutex<Known>>,
    offers: watch::Sender<Arc<[Arc<dyn Offer>]>>,
    /// All plugins, those among them that leave and still look after what consumers have.
    pub(crate) plugins: Cores,
}

impl Registry {
    pub(crate) fn offers(&self) -> Offers {
        self.offers.subscribe()
    }

    /// Offers a resource; where another plugin offered it until now, in its stead.
    pub(crate) fn add(&self, index: PluginIndex, name: &ResourceName, resource: Arc<Resource>) {
        let mut known = self.known.lock();
        known.retain(|(_, other), _| other != name);
        known.insert((index, name.clone()), resource);
        self.offers.send_replace(offers(&known));
    }

    /// Whether a plugin offers a resource.
    pub(crate) fn has(&self, index: PluginIndex, name: &ResourceName) -> bool {
        self.known.lock().contains_key(&(index, name.clone()))
    }

    /// Takes a resource back, unless another plugin offers it by now.
    pub(crate) fn remove(&self, index: PluginIndex, name: &ResourceName) {
        let mut known = self.known.lock();
        if known.remove(&(index, name.clone())).is_some() {
            self.offers.send_replace(offers(&known));
        }
    }

    /// A resource by its name.
    pub(crate) fn resource(&self, name: &ResourceName) -> Option<Arc<Resource>> {
        let known = self.known.lock();
        let mut found = known.iter().filter(|((_, of), _)| of == name);
        found.next().map(|(_, resource)| Arc::clone(resource))
    }

    /// A plugin is there.
    pub(crate) fn meet(&self, core: &Arc<Core>) {
        let mut plugins = self.plugins.lock();
        plugins.retain(|core| core.strong_count() > 0);
        plugins.push(Arc::downgrade(core));
    }

    /// The policy's order of plugins, from now on; one that is not in it any more is last.
    pub(crate) fn arrange(&self, order: &[PluginName]) {
        let rank = |plugin: &Weak<Core>| {
            let core = plugin.upgrade()?;
            order.iter().position(|name| name == core.plugin())
        };
        let mut plugins = self.plugins.lock();
        plugins.sort_by_cached_key(|plugin| rank(plugin).unwrap_or(usize::MAX));
    }

    /// The plugins that are there, in the policy's order.
    pub(crate) fn plugins(&self) -> Vec<Arc<Core>> {
        let plugins = self.plugins.lock();
        plugins.iter().filter_map(Weak::upgrade).collect()
    }
}

fn offers(known: &Known) -> Arc<[Arc<dyn Offer>]> {
    known.values().map(|resource| Arc::clone(resource) as Arc<dyn Offer>).collect()
}
