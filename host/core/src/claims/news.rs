//! Who is told that what he may give is not what it was. Only those are whom it concerns: to look again costs a plugin with
//! thousands of devices dear.

use super::Place;
use std::collections::BTreeMap;
use tokio::sync::watch;

/// How often there was news.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    everyone: u64,
    each: BTreeMap<Place, u64>,
}

impl Told {
    fn of(&self, place: Place) -> (u64, u64) {
        (self.everyone, self.each.get(&place).copied().unwrap_or_default())
    }

    /// For all plugins, those that are not known yet among them.
    pub(super) fn everyone(&mut self) {
        self.everyone += 1;
    }

    pub(super) fn each(&mut self, places: impl IntoIterator<Item = Place>) {
        for place in places {
            *self.each.entry(place).or_default() += 1;
        }
    }
}

/// What one plugin is told from the time on when this was made.
pub(crate) struct News {
    place: Place,
    seen: (u64, u64),
    told: watch::Receiver<Told>,
}

impl News {
    pub(super) fn of(place: Place, told: &watch::Sender<Told>) -> Self {
        let told = told.subscribe();
        let seen = told.borrow().of(place);
        Self { place, seen, told }
    }

    /// Waits until an outcome of this plugin may be another than when it was last told so.
    ///
    /// # Errors
    /// When there is no ledger any more.
    pub(crate) async fn changed(&mut self) -> Result<(), watch::error::RecvError> {
        let (place, seen) = (self.place, self.seen);
        self.seen = self.told.wait_for(|told| told.of(place) != seen).await?.of(place);
        Ok(())
    }
}
