//! The drivers of what is offered, each served by a task of its own. So are those that the policy has, those of which claims have
//! something, and those that were served before, offered or not: a pod whose driver is not there cannot end, also one whose claim has
//! nothing yet.

use crate::agent::{self, Agent};
use crate::config::{DraConfig, DraError};
use crate::driver::Driver;
use crate::inventory::{self, DriverOffers};
use crate::{leftovers, paths, publish, sockets};
use devgate_cdi::Claims;
use devgate_core::Consumer;
use devgate_core::offer::{Offer, Offers};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::{self, JoinSet};
use tokio_util::sync::CancellationToken;

/// Serves and registers every driver that `offers` or the policy name or that claims have something of, now and later, until `stop`;
/// then closes all of them, with their calls in flight finished and their sockets removed. What names no driver is not its business.
///
/// Dropping the future closes everything at once. Fails where the kubelet's directory has too long a path, or when the task of a driver
/// ended (all are closed then, too).
pub async fn serve(config: DraConfig, mut offers: Offers, stop: CancellationToken) -> Result<(), DraError> {
    paths::check(&config.registry)?;
    let config = Arc::new(config);
    let (agent, claims) = (Arc::new(Agent::new(&config)), Arc::new(Claims::new(Arc::clone(&config.keeper))));
    config.watch.begins(&agent);
    let has_claims = !claims.all().is_empty();
    let around = async {
        tokio::join!(agent::keep(&agent, has_claims), leftovers::look(&config, &agent, &claims));
    };
    tokio::pin!(around);
    let mut drivers = Drivers {
        config: Arc::clone(&config),
        agent: Arc::clone(&agent),
        claims: Arc::clone(&claims),
        live: BTreeMap::new(),
        tasks: JoinSet::new(),
        owners: HashMap::new(),
    };
    let mut named = config.named.clone();
    let (mut more_offers, mut more_names) = (true, true);
    let result = loop {
        let now = Arc::clone(&offers.borrow_and_update());
        drivers.follow(&now, named.borrow_and_update().clone());
        tokio::select! {
            () = stop.cancelled() => break Ok(()),
            changed = offers.changed(), if more_offers => more_offers = changed.is_ok(),
            changed = named.changed(), if more_names => more_names = changed.is_ok(),
            error = drivers.ended() => {
                tracing::error!("{error}");
                break Err(error);
            }
            () = &mut around => {}
        }
    };
    tokio::select! {
        () = drivers.close() => {}
        // A claim that is being prepared may still have to ask.
        () = &mut around => {}
    }
    result
}

/// The drivers that are served.
struct Drivers {
    config: Arc<DraConfig>,
    agent: Arc<Agent>,
    claims: Arc<Claims>,
    live: BTreeMap<String, Served>,
    tasks: JoinSet<()>,
    /// Whose the tasks are, those that are closing among them; each token is cancelled when its task has ended.
    owners: HashMap<task::Id, (String, CancellationToken)>,
}

struct Served {
    is_published: bool,
    offers: watch::Sender<DriverOffers>,
    stop: CancellationToken,
    task: task::Id,
}

/// The offers of each driver.
fn by_driver(offers: &[Arc<dyn Offer>]) -> BTreeMap<String, DriverOffers> {
    let mut all = BTreeMap::<String, Vec<Arc<dyn Offer>>>::new();
    for offer in offers {
        if let Some(driver) = offer.driver() {
            all.entry(driver.name.clone()).or_default().push(Arc::clone(offer));
        }
    }
    all.into_iter().map(|(name, offers)| (name, offers.into())).collect()
}

impl Drivers {
    /// Serves what is new, and replaces what was reloaded under the same name. What is gone is published no more, and served for as long
    /// as this host runs: the kubelet notes a claim before it asks for it, keeps it where that fails, and its pod until the driver says that
    /// it is over.
    fn follow(&mut self, offers: &[Arc<dyn Offer>], named: BTreeSet<String>) {
        let mut now = by_driver(offers);
        for name in named {
            now.entry(name).or_default();
        }
        let published: BTreeSet<String> = now.keys().cloned().collect();
        for who in self.claims.all() {
            if let Consumer::Claim { driver, .. } = who {
                now.entry(driver).or_default();
            }
        }
        for name in self.live.keys() {
            now.entry(name.clone()).or_default();
        }
        self.live.retain(|name, served| {
            // One that is published from now on, or no more, begins anew.
            let stays = served.is_published == published.contains(name);
            if !stays {
                tracing::info!(driver = %name, "driver {name}: no longer served as it was");
                served.stop.cancel();
                self.config.watch.ends(name);
                self.agent.end(name);
            }
            stays
        });
        for (name, offers) in now {
            match self.live.get(&name) {
                Some(served) => drop(served.offers.send_if_modified(|old| {
                    let is_same = old.len() == offers.len() && old.iter().zip(&*offers).all(|(a, b)| Arc::ptr_eq(a, b));
                    if !is_same {
                        *old = offers;
                    }
                    !is_same
                })),
                None => self.begin(published.contains(&name), name, offers),
            }
        }
    }

    fn begin(&mut self, is_published: bool, name: String, offers: DriverOffers) {
        let of = (name.clone(), is_published);
        let driver = Arc::new(Driver::new(of, &self.config, &self.claims, &self.agent, &offers));
        self.config.watch.serves(&driver);
        if is_published {
            self.agent.begin(&name);
        }
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let (sender, offers) = watch::channel(offers);
        let closing = self.owners.values().filter(|(of, _)| *of == name);
        let closing: Vec<_> = closing.map(|(_, ended)| ended.clone()).collect();
        let (guard, stopped) = (ended.clone().drop_guard(), stop.clone());
        let task = self.tasks.spawn(async move {
            let _guard = guard;
            // Offered again while its sockets are still closing: never two of them.
            for previous in closing {
                previous.cancelled().await;
            }
            tokio::select! {
                () = sockets::serve(&driver, &stopped) => {}
                () = inventory::follow(&driver.name, offers, &driver.inventory) => {}
                () = publish::run(&driver) => {}
            }
        });
        self.owners.insert(task.id(), (name.clone(), ended));
        let served = Served { is_published, offers: sender, stop, task: task.id() };
        self.live.insert(name, served);
    }

    /// Waits until the task of a driver ends that is offered, which only a bug makes happen, or until one fails while it closes.
    async fn ended(&mut self) -> DraError {
        while let Some(end) = self.tasks.join_next_with_id().await {
            let (task, failed) = match end {
                Ok((task, ())) => (task, None),
                Err(error) => (error.id(), Some(error.to_string())),
            };
            let Some((driver, _)) = self.owners.remove(&task) else {
                continue;
            };
            let is_live = self.live.get(&driver).is_some_and(|served| served.task == task);
            if let Some(why) = failed.or_else(|| is_live.then(|| "without a reason".to_owned())) {
                return DraError::TaskEnded { driver, why };
            }
        }
        std::future::pending().await
    }

    async fn close(&mut self) {
        for served in self.live.values() {
            served.stop.cancel();
        }
        while self.tasks.join_next().await.is_some() {}
    }
}
