//! All resources that are offered, in policy order, whichever plugin was ready first.

use crate::claims::Place;
use crate::offer::{Offer, Offers};
use crate::resource::Resource;
use devgate_types::ResourceName;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

type Known = BTreeMap<(Place, ResourceName), Arc<dyn Offer>>;

/// Where plugins put their resources and front ends find them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Registry {
    known: Arc<Mutex<Known>>,
    offers: watch::Sender<Arc<[Arc<dyn Offer>]>>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self {
            known: Arc::default(),
            offers: watch::Sender::new(Arc::from([])),
        }
    }

    pub(crate) fn offers(&self) -> Offers {
        self.offers.subscribe()
    }

    /// Offers a resource; where another plugin offered it until now, in its stead.
    pub(crate) fn add(&self, place: Place, name: &ResourceName, resource: Arc<Resource>) {
        let mut known = self.lock();
        known.retain(|(_, other), _| other != name);
        known.insert((place, name.clone()), resource);
        self.offers.send_replace(known.values().cloned().collect());
    }

    /// Whether a plugin offers a resource.
    pub(crate) fn has(&self, place: Place, name: &ResourceName) -> bool {
        self.lock().contains_key(&(place, name.clone()))
    }

    /// Takes a resource back, unless another plugin offers it by now.
    pub(crate) fn remove(&self, place: Place, name: &ResourceName) {
        let mut known = self.lock();
        if known.remove(&(place, name.clone())).is_some() {
            self.offers.send_replace(known.values().cloned().collect());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
