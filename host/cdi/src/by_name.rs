//! Devices for a kubelet's pods, by name: what the kubelet keeps of an answer is a name, and what a container gets by it stands in a file.
//! The file is another when the hardware has moved; the kubelet's answer, which it repeats for as long as the pod lives, could not be.
//!
//! ```text
//!  Allocate ──► ByName ──► Devices ──► journal ──► file ──► "devgate.vendor.com/gpu=pod:17-…" ──► kubelet
//! ```

use crate::give::{NotGiven, Wanted, give};
use crate::keep::Keeper;
use crate::named::Named;
use devgate_core::Consumer;
use devgate_core::offer::{AllocateError, BoxFuture, DeviceList, Driver, Offer, Offers, Reply};
use devgate_types::ResourceName;
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;

/// The same offers, with names for answers, and what hands on their changes for as long as it is polled. A resource is among them when
/// what pods have of it from before is in files again.
pub fn by_name(keeper: &Arc<Keeper>, inner: Offers) -> (Offers, impl Future<Output = ()> + Send + 'static) {
    let out = watch::Sender::new(Arc::from([]));
    (out.subscribe(), follow(Arc::clone(keeper), inner, out))
}

async fn follow(keeper: Arc<Keeper>, mut inner: Offers, out: watch::Sender<Arc<[Arc<dyn Offer>]>>) {
    let mut known: Vec<(Arc<dyn Offer>, Arc<dyn Offer>)> = Vec::new();
    loop {
        let now = Arc::clone(&inner.borrow_and_update());
        let mut next = Vec::with_capacity(now.len());
        for offer in now.iter() {
            let before = known.iter().find(|(of, _)| Arc::ptr_eq(of, offer));
            let named = match before {
                Some((_, named)) => Arc::clone(named),
                None => {
                    keeper.settle(offer.resource()).await;
                    let (inner, keeper) = (Arc::clone(offer), Arc::clone(&keeper));
                    Arc::new(ByName { inner, keeper })
                }
            };
            next.push((Arc::clone(offer), named));
        }
        known = next;
        out.send_replace(known.iter().map(|(_, named)| Arc::clone(named)).collect());
        if inner.changed().await.is_err() {
            return out.closed().await;
        }
    }
}

/// A resource whose devices are told by name.
struct ByName {
    inner: Arc<dyn Offer>,
    keeper: Arc<Keeper>,
}

impl ByName {
    async fn give(&self, ids: &[String]) -> Result<Arc<Reply>, AllocateError> {
        let wanted =
            Wanted { who: &Consumer::Pods, resource: self.resource(), count: ids.len(), ids, numa: &[], ttl: None };
        let host = |why: &dyn fmt::Display| AllocateError::Host(format!("resource {}: CDI: {why}", self.resource()));
        let granted = give(&*self.keeper.devices, &wanted).await.map_err(|why| match why {
            NotGiven::Allocate(error) => error,
            NotGiven::NotEnough(..) => host(&why),
        })?;
        let named = Named::new(Consumer::Pods, granted);
        let reply = Arc::clone(&named.granted.reply);
        let told = Reply {
            env: reply.env.clone(),
            annotations: reply.annotations.clone(),
            cdi: reply.cdi.iter().cloned().chain(named.names(&reply)).collect(),
            ..Reply::default()
        };
        let Err(why) = self.keeper.put(named).await else {
            return Ok(Arc::new(told));
        };
        self.inner.take_back(ids).await;
        Err(host(&why))
    }
}

impl Offer for ByName {
    fn resource(&self) -> &ResourceName {
        self.inner.resource()
    }

    fn driver(&self) -> Option<&Driver> {
        self.inner.driver()
    }

    fn devices(&self) -> watch::Receiver<Arc<DeviceList>> {
        self.inner.devices()
    }

    fn allocate<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<Arc<Reply>, AllocateError>> {
        Box::pin(self.give(ids))
    }

    fn take_back<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, ()> {
        self.inner.take_back(ids)
    }

    fn starts(&self) -> bool {
        self.inner.starts()
    }

    fn start<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<(), AllocateError>> {
        self.inner.start(ids)
    }

    fn choose<'a>(&'a self, available: &'a [String], must: &'a [String], size: usize) -> BoxFuture<'a, Vec<String>> {
        self.inner.choose(available, must, size)
    }
}
