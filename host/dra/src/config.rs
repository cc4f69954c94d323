//! What the front end needs, and why it ends.

use crate::status::DraWatch;
use devgate_agent_protocol::Judged;
use devgate_cdi::Keeper;
use devgate_core::offer::BoxFuture;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A claim, by what pods call it: another of the same name may come after it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Tells which claims pods of this node have; nothing where that cannot be known.
pub type InUse = Arc<dyn Fn() -> BoxFuture<'static, Option<BTreeSet<ClaimName>>> + Send + Sync>;

/// Where the kubelet and the agent are, and how patient to be with them. The defaults are for production; tests shorten the times.
#[derive(Clone)]
pub struct DraConfig {
    /// The directory in which the kubelet looks for drivers, such as `/var/lib/kubelet/plugins_registry`; by the path that it has for the
    /// kubelet.
    pub registry: PathBuf,
    /// The agent's socket; while nobody is there nothing is published, and no claim can be prepared that was not before.
    pub agent: PathBuf,
    /// The files of claims.
    pub keeper: Arc<Keeper>,
    /// Which claims pods have.
    pub in_use: InUse,
    /// Where to note what becomes of every driver.
    pub watch: DraWatch,
    /// How often to look whether the sockets are there. 1 s.
    pub look: Duration,
    /// How long what drivers had before may take to be in files again before they are registered. 30 s.
    pub settle_timeout: Duration,
    /// The longest that `NodePrepareResources` may take. 40 s: the kubelet gives up after 45.
    pub prepare_timeout: Duration,
    /// How long calls in flight may take to finish at shutdown. 5 s.
    pub drain: Duration,
    /// How long the agent may take to answer for a claim, or to take a message. 10 s.
    pub ask_timeout: Duration,
    /// The drivers that the policy has, offered already or not: the agent removes the slices of all others.
    pub named: watch::Receiver<BTreeSet<String>>,
    /// How the host is, where the cluster is to be told: the agent hears of it also without a driver.
    pub judged: watch::Receiver<Option<Arc<Judged>>>,
    /// How long the slices of a driver that the policy has are left as they are while it is not offered. 30 s: its plugin may be starting.
    pub unoffered: Duration,
    /// How often the kubelet is told of health although nothing changes. 40 s.
    pub health_every: Duration,
    /// The least time between two such messages. 500 ms.
    pub health_calm: Duration,
    /// How long after the start it is looked for claims that the kubelet did not end. 1 min.
    pub leftovers_first: Duration,
    /// How often it is looked for them. 10 min, a tenth more or less.
    pub leftovers_every: Duration,
}

impl DraConfig {
    /// The defaults.
    #[must_use]
    pub fn new(
        registry: PathBuf,
        agent: PathBuf,
        named: watch::Receiver<BTreeSet<String>>,
        keeper: Arc<Keeper>,
        in_use: InUse,
    ) -> Self {
        Self {
            registry,
            agent,
            keeper,
            in_use,
            watch: DraWatch::default(),
            look: Duration::from_secs(1),
            settle_timeout: Duration::from_secs(30),
            prepare_timeout: Duration::from_secs(40),
            drain: Duration::from_secs(5),
            ask_timeout: Duration::from_secs(10),
            named,
            judged: watch::Sender::default().subscribe(),
            unoffered: Duration::from_secs(30),
            health_every: Duration::from_secs(40),
            health_calm: Duration::from_millis(500),
            leftovers_first: Duration::from_secs(60),
            leftovers_every: Duration::from_secs(600),
        }
    }
}

/// Why the front end ended, or never began.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraError {
    /// The sockets would have no room.
    #[error(
        "kubelet's directory of plugins {}: has too long a path: a driver's socket in it would exceed 107 bytes; mount it at a path of at most {} bytes",
        .0.display(),
        .1
    )]
    PathTooLong(PathBuf, usize),
    /// A bug of the host ended what serves a driver; the kubelet would not be answered for it any more.
    #[error("host fault: driver {driver}: its task ended: {why}; ending, so that a restart serves it again")]
    TaskEnded {
        /// The driver.
        driver: String,
        /// How it ended.
        why: String,
    },
}
