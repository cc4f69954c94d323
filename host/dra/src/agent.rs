//! The agent, which has the token: what it is told, asked, and has said. It may be away, slow or taken over: then no claim is prepared
//! that was not before, and nothing else comes of it.

mod link;

pub(crate) use link::keep;

use crate::config::{ClaimName, DraConfig};
use devgate_agent_protocol::{COUNTERS, Claim, Counters, Device, FromAgent, Judged, TAINTS, ToAgent};
use devgate_types::{Again, Bucket, LogThrottle, Mutex, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot, watch};

/// How often it is said at most what is wrong with it.
const SAID_EVERY: Duration = Duration::from_secs(60);
/// How many fields are remembered that the API server did not keep, and how many characters of each.
const MAX_DROPPED: usize = 16;
const MAX_FIELD: usize = 64;
/// The most characters of a text of its.
const MAX_TEXT: usize = 512;

/// The agent, as this host sees it.
pub(crate) struct Agent {
    path: PathBuf,
    ask_timeout: Duration,
    asks: Mutex<BTreeMap<u64, Asked>>,
    next: AtomicU64,
    drivers: Mutex<BTreeMap<String, Told>>,
    /// Those that the policy has.
    named: watch::Receiver<BTreeSet<String>>,
    /// How the host is, where that is to be told.
    judged: watch::Receiver<Option<Arc<Judged>>>,
    /// Something is to be sent.
    wake: Notify,
    /// Nothing where it is connected.
    away: Mutex<Option<String>>,
    /// It has said something of a driver's devices.
    said: watch::Sender<()>,
    lines: Mutex<LogThrottle>,
}

/// Why it is not known what a claim was given.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("the agent, which could say what it was given, is away (--agent-socket): {0}")]
    Away(String),
    #[error("the agent has not said within {0:?} what it was given")]
    Late(Duration),
}

/// A claim that is asked for.
struct Asked {
    message: ToAgent,
    is_sent: bool,
    answer: oneshot::Sender<Claim>,
}

/// A driver: what is to be published, and what was said of it.
#[derive(Default)]
struct Told {
    /// Nothing before it is known what it has.
    published: Option<Arc<Published>>,
    said: Said,
}

/// What became of a driver's devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) generation: Option<i64>,
    /// Fields that the API server did not keep; escaped.
    pub(crate) dropped: BTreeSet<String>,
    /// Escaped.
    pub(crate) error: Option<String>,
    /// When it was said last that these were not kept.
    pub(crate) dropped_at: BTreeMap<&'static str, Instant>,
}

/// What schedulers are told of a driver's devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) devices: Vec<Device>,
    /// What they take from.
    pub(crate) counters: Counters,
}

impl Agent {
    pub(crate) fn new(config: &DraConfig) -> Self {
        Self {
            path: config.agent.clone(),
            ask_timeout: config.ask_timeout,
            asks: Mutex::default(),
            next: AtomicU64::new(1),
            drivers: Mutex::default(),
            named: config.named.clone(),
            judged: config.judged.clone(),
            wake: Notify::new(),
            away: Mutex::new(Some("not connected yet".to_owned())),
            said: watch::Sender::new(()),
            lines: Mutex::new(LogThrottle::new(1, Bucket::new(1, SAID_EVERY))),
        }
    }

    /// Why it is away, if it is; escaped.
    pub(crate) fn away(&self) -> Option<String> {
        self.away.lock().clone()
    }

    /// All drivers that there are, or will be.
    fn names(&self) -> BTreeSet<String> {
        let mut names = self.named.borrow().clone();
        names.extend(self.drivers.lock().keys().cloned());
        names
    }

    /// Has it told when the policy has other drivers or the host is otherwise, for as long as it is polled.
    async fn follow(&self) {
        tokio::join!(self.wake_at(self.named.clone()), self.wake_at(self.judged.clone()));
        std::future::pending().await
    }

    async fn wake_at<T>(&self, mut of: watch::Receiver<T>) {
        while of.changed().await.is_ok() {
            self.wake.notify_one();
        }
    }

    /// There is such a driver.
    pub(crate) fn begin(&self, driver: &str) {
        self.drivers.lock().entry(driver.to_owned()).or_default();
        self.wake.notify_one();
    }

    /// There is no such driver any more.
    pub(crate) fn end(&self, driver: &str) {
        self.drivers.lock().remove(driver);
        self.wake.notify_one();
    }

    /// A driver has these devices.
    pub(crate) fn publish(&self, driver: &str, published: Arc<Published>) {
        if let Some(told) = self.drivers.lock().get_mut(driver) {
            told.published = Some(published);
        }
        self.wake.notify_one();
    }

    /// What became of a driver's devices.
    pub(crate) fn said(&self, driver: &str) -> Said {
        self.drivers.lock().get(driver).map(|told| told.said.clone()).unwrap_or_default()
    }

    /// Word of what it says.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.said.subscribe()
    }

    /// What a claim was given of a driver's devices. Fails where there is no answer in time.
    pub(crate) async fn claim(&self, driver: &str, name: &ClaimName, uid: &str) -> Result<Claim, NoAnswer> {
        self.claim_within(self.ask_timeout, driver, name, uid).await
    }

    /// The same, in this time.
    pub(crate) async fn claim_within(
        &self,
        bound: Duration,
        driver: &str,
        name: &ClaimName,
        uid: &str,
    ) -> Result<Claim, NoAnswer> {
        let ask = self.next.fetch_add(1, Ordering::Relaxed);
        let ClaimName { namespace, name } = name.clone();
        let message = ToAgent::Claim { ask, driver: driver.to_owned(), namespace, name, uid: uid.to_owned() };
        let (answer, answered) = oneshot::channel();
        self.asks.lock().insert(ask, Asked { message, is_sent: false, answer });
        let _forgets = Forgets(self, ask);
        self.wake.notify_one();
        match tokio::time::timeout(bound, answered).await {
            Ok(Ok(claim)) => Ok(claim),
            _ => Err(match self.away() {
                Some(why) => NoAnswer::Away(why),
                None => NoAnswer::Late(bound),
            }),
        }
    }

    /// What it says. Fails where it cannot be.
    fn hear(&self, message: FromAgent) {
        match message {
            FromAgent::Claim { ask, claim } => {
                let asked = self.asks.lock().remove(&ask);
                match asked {
                    // Who asked may have given up.
                    Some(asked) => drop(asked.answer.send(claim)),
                    None if ask >= self.next.load(Ordering::Relaxed) => _ = self.warn("answers what it was not asked"),
                    None => {}
                }
            }
            FromAgent::Published { driver, generation, dropped, error } => {
                let dropped = dropped.iter().take(MAX_DROPPED).map(|field| escape(field, MAX_FIELD)).collect();
                let error = error.map(|error| escape(&error, MAX_TEXT));
                let mut drivers = self.drivers.lock();
                let Some(told) = drivers.get_mut(&driver) else {
                    drop(drivers);
                    self.warn("has published devices of a driver that is not there");
                    return;
                };
                let mut said = Said { generation, dropped, error, dropped_at: told.said.dropped_at.clone() };
                for field in [TAINTS, COUNTERS].into_iter().filter(|field| said.dropped.contains(*field)) {
                    said.dropped_at.insert(field, Instant::now());
                }
                let (before, now) = (told.said.error.clone(), said.error.clone());
                told.said = said;
                drop(drivers);
                if let Some(why) = now.filter(|why| before.as_ref() != Some(why)) {
                    self.warn(&format!("driver {driver}: not all of its devices are published: {why}"));
                }
                self.said.send_replace(());
            }
        }
    }

    /// Whether it was logged.
    fn warn(&self, what: &str) -> bool {
        let line = self.lines.lock().line(what, Again::After(SAID_EVERY), Instant::now());
        if let Some(more) = line {
            tracing::warn!(family = "host", more, "agent: {what}");
        }
        line.is_some()
    }
}

/// Forgets a question whose answer is not waited for any more.
struct Forgets<'a>(&'a Agent, u64);

impl Drop for Forgets<'_> {
    fn drop(&mut self) {
        self.0.asks.lock().remove(&self.1);
    }
}
