//! One driver: what all of its parts share.

use crate::agent::Agent;
use crate::config::DraConfig;
use crate::inventory::{DriverOffers, Inventory};
use crate::paths::Paths;
use crate::status::{DriverStatus, Phase, Registered};
use devgate_cdi::Claims;
use devgate_core::Consumer;
use devgate_kubelet::gauge::Gauge;
use devgate_types::{Again, Bucket, LogThrottle, Mutex, escape};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// When a failure that lasts is logged again.
const AGAIN: Again = Again::Growing(Duration::from_secs(60), Duration::from_secs(3_600));

/// Of how many claims it is remembered what was logged.
const MANY: usize = 256;

/// A driver, from when it is offered, the policy has it, or claims have something of it.
pub(crate) struct Driver {
    pub(crate) name: String,
    /// Whether schedulers are told of it: not where it is there only for the end of claims.
    pub(crate) is_published: bool,
    pub(crate) config: Arc<DraConfig>,
    pub(crate) paths: Paths,
    pub(crate) claims: Arc<Claims>,
    pub(crate) agent: Arc<Agent>,
    /// What it has now.
    pub(crate) inventory: watch::Sender<Arc<Inventory>>,
    pub(crate) registered: watch::Sender<Registered>,
    /// Word of claims that have come or gone.
    pub(crate) changed: watch::Sender<()>,
    /// Calls that give or take something.
    pub(crate) calls: Gauge,
    failures: Mutex<LogThrottle>,
    /// What was said of claims.
    claim_failures: Mutex<LogThrottle>,
}

impl Driver {
    /// A driver with these offers.
    pub(crate) fn new(
        (name, is_published): (String, bool),
        config: &Arc<DraConfig>,
        claims: &Arc<Claims>,
        agent: &Arc<Agent>,
        offers: &DriverOffers,
    ) -> Self {
        let inventory = Inventory::of(&name, offers);
        Self {
            paths: Paths::new(&config.registry, &name),
            name,
            is_published,
            config: Arc::clone(config),
            claims: Arc::clone(claims),
            agent: Arc::clone(agent),
            inventory: watch::Sender::new(Arc::new(inventory)),
            registered: watch::Sender::new(Registered::new()),
            changed: watch::Sender::new(()),
            calls: Gauge::default(),
            failures: Mutex::new(LogThrottle::new(1, Bucket::new(64, Duration::from_secs(1)))),
            claim_failures: Mutex::new(LogThrottle::new(MANY, Bucket::new(64, Duration::from_secs(1)))),
        }
    }

    /// A claim of this driver.
    pub(crate) fn consumer(&self, uid: &str) -> Consumer {
        Consumer::Claim { driver: self.name.clone(), uid: uid.to_owned() }
    }

    /// Its claims that have something.
    pub(crate) fn consumers(&self) -> Vec<Consumer> {
        let is_its = |who: &Consumer| matches!(who, Consumer::Claim { driver, .. } if *driver == self.name);
        self.claims.all().into_iter().filter(is_its).collect()
    }

    /// What it has now.
    pub(crate) fn now(&self) -> Arc<Inventory> {
        Arc::clone(&self.inventory.borrow())
    }

    /// It is not registered for this reason, which is made again.
    pub(crate) fn fails(&self, phase: Phase, why: &str) {
        self.registered.send_modify(|registered| registered.note(phase, Some(why.to_owned())));
        if let Some(more) = self.failures.lock().line(why, AGAIN, Instant::now()) {
            tracing::warn!(driver = %self.name, more, "driver {}: not registered: {why}", self.name);
        }
    }

    /// A claim cannot have what it should. The kubelet asks again and again, and so that is said ever less often.
    pub(crate) fn claim_fails(&self, why: &str) {
        if let Some(more) = self.claim_failures.lock().line(why, AGAIN, Instant::now()) {
            tracing::warn!(driver = %self.name, more, "driver {}: {why}", self.name);
        }
    }

    /// The kubelet has answered.
    pub(crate) fn notified(&self, registered: bool, error: &str) {
        if !registered {
            return self.fails(Phase::Refused, &format!("the kubelet refuses it: {}", escape(error, 512)));
        }
        self.failures.lock().forget();
        let before = self.registered.borrow().phase;
        self.registered.send_modify(|registered| registered.note(Phase::Registered, None));
        if before != Phase::Registered {
            tracing::info!(driver = %self.name, "driver {}: registered with the kubelet", self.name);
        }
    }

    pub(crate) fn status(&self) -> DriverStatus {
        let (registered, said, now) = (self.registered.borrow().clone(), self.agent.said(&self.name), self.now());
        DriverStatus {
            driver: self.name.clone(),
            phase: registered.phase,
            since: registered.since,
            error: registered.error,
            devices: now.devices.len(),
            left_out: now.left_out.iter().map(|id| escape(id, 64)).collect(),
            generation: said.generation,
            dropped: said.dropped.into_iter().collect(),
            unpublished: said.error,
            claims: self.consumers().len(),
        }
    }
}
