//! From the changes of a resource's devices to the messages that the kubelet gets.

mod flaps;

use std::sync::Arc;
use std::time::Duration;

use devgate_core::offer::Offer;
use devgate_types::{LogThrottle, ResourceName};
use tokio::sync::watch;
use tokio::time::Instant;

use super::encoded_list::EncodedList;
use super::watched::FrontEndWatch;
use super::{AGAIN, failures};
use flaps::Flaps;

/// The offer of one resource, which a reload may replace.
pub(crate) type CurrentOffer = watch::Receiver<Arc<dyn Offer>>;

/// The newest list of a resource. Streams read from it; a slow one skips to the newest.
pub(crate) struct Listing {
    resource: ResourceName,
    offer: CurrentOffer,
    out: watch::Sender<EncodedList>,
    coalesce: Duration,
    flaps: Flaps,
    watch: FrontEndWatch,
    refusals: LogThrottle,
}

impl Listing {
    /// A listing with the list that the offer has now; it changes only while [`Self::run`] runs.
    pub(crate) fn new(resource: ResourceName, offer: CurrentOffer, coalesce: Duration, watch: FrontEndWatch) -> Self {
        let list = offer.borrow().devices().borrow().clone();
        let mut listing = Self {
            resource,
            offer,
            out: watch::Sender::new(EncodedList::default()),
            coalesce,
            flaps: Flaps::new(coalesce),
            watch,
            refusals: failures(),
        };
        let shown = listing.flaps.show(&list, Instant::now());
        listing.publish(&shown.list);
        listing
    }

    /// The newest list, and word of the next.
    pub(crate) fn subscribe(&self) -> watch::Receiver<EncodedList> {
        self.out.subscribe()
    }

    /// Publishes every change: the first at once, the next after `coalesce` at the earliest, always the newest list, and
    /// never the same twice. What comes and goes is shown unhealthy for longer than it is ([`Flaps`]). Ends when the resource
    /// is no longer offered.
    pub(crate) async fn run(mut self) {
        let mut quiet_until = Instant::now();
        let mut devices = self.offer.borrow_and_update().devices();
        loop {
            // Also what changed between `new` and here, or between the old offer and the new one.
            let list = Arc::clone(&devices.borrow_and_update());
            let shown = self.flaps.show(&list, Instant::now());
            self.watch.hides(&self.resource, &shown.hidden);
            if self.publish(&shown.list) {
                quiet_until = Instant::now() + self.coalesce;
            }
            drop((list, shown.list));
            let again = async {
                match shown.until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            let replaced = tokio::select! {
                () = again => Ok(false),
                changed = devices.changed() => match changed {
                    Ok(()) => Ok(false),
                    // The list's maker is gone. It stands until the offer is replaced or withdrawn.
                    Err(_) => self.offer.changed().await.map(|()| true),
                },
                changed = self.offer.changed() => changed.map(|()| true),
            };
            let Ok(replaced) = replaced else { return };
            tokio::time::sleep_until(quiet_until).await;
            if replaced {
                devices = self.offer.borrow_and_update().devices();
            }
        }
    }

    /// Whether there was something new.
    #[tracing::instrument(name = "device-plugin.list", level = "trace", skip_all)]
    fn publish(&mut self, list: &devgate_core::offer::DeviceList) -> bool {
        let encoded = EncodedList::try_new(list);
        self.watch.sends(&self.resource, encoded.as_ref().err().map(ToString::to_string));
        match encoded {
            Ok(new) => self.out.send_if_modified(|old| {
                let changed = *old != new;
                if changed {
                    tracing::debug!(resource = %self.resource, devices = list.devices.len(), bytes = new.len(), "list");
                    *old = new;
                }
                changed
            }),
            Err(error) => {
                if let Some(more) = self.refusals.line("list too large", AGAIN, Instant::now().into()) {
                    tracing::error!(resource = %self.resource, more, "resource {}: list not sent, the previous one stands: {error}", self.resource);
                }
                false
            }
        }
    }
}
