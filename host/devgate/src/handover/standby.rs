//! A host that waits for another one: whether it would offer as much, and asking that one to hand over.

use super::less::{Offered, failure, less};
use super::trial::{Looked, Tried};
use super::{HandedOver, PATH};
use crate::cli::{RunArgs, TakeOver};
use crate::node::Sources;
use crate::output::named;
use crate::status::ask::{self, NotTaken};
use anyhow::{Context, bail};
use devgate_core::HOST_SOCKET;
use devgate_node::Node;
use devgate_types::{Mutex, PluginName};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// How long after it could not take over a host tries again the first time, and at most; twice as long each time.
const AGAIN: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(300));
/// How long a trial takes until it is said that it takes long: components compile, one after the other.
const LONG: Duration = Duration::from_secs(600);
/// How long a host that said yes may take to end.
const ENDS: Duration = Duration::from_secs(60);
/// How long a host that has just got the state directory may take until its socket is there.
const STARTS: Duration = Duration::from_secs(5);
/// How often it is looked whether the state directory can be had; and how often once the host that has it is asked to end for this one, or
/// while one that handed over is needed.
const LOOKS: Duration = Duration::from_millis(100);
const SOON: Duration = Duration::from_millis(5);
/// How long one that handed over tells probes that it is ready: by then, the one that took over gave up or has served well for a while.
const IS_NEEDED: Duration = Duration::from_secs(30);
/// The most devices that are named.
const NAMED: usize = 3;

/// A host that waits, and how far it is.
pub(crate) struct Standby {
    has_handed_over: bool,
    progress: Arc<Progress>,
    trial: Option<Trial>,
}

struct Progress {
    /// Which thread looks at the state directory, in [`Standby::pause`].
    looks: Thread,
    /// What the host that serves was asked with, if it did not say no: it ends for this one, and comes back where this one ends.
    tried: Mutex<Option<Tried>>,
    /// Whether probes are told that this one is ready.
    is_ready: Arc<AtomicBool>,
}

/// What is tried before another host is asked to make way.
struct Trial {
    id: String,
    wanted: TakeOver,
    args: RunArgs,
    node: Node,
    sources: Sources,
    progress: Arc<Progress>,
}

impl Standby {
    /// A host that asks to take over, if it was told to and did not hand over itself. The calling thread is to look at the state directory.
    pub(crate) fn new(args: &RunArgs, node: &Node, sources: Sources, handed_over: &mut HandedOver) -> Self {
        let is_ready = Arc::new(AtomicBool::new(handed_over.is_so()));
        let progress = Arc::new(Progress { looks: std::thread::current(), tried: Mutex::default(), is_ready });
        let wanted = args.take_over.filter(|_| !handed_over.is_so());
        let trial = wanted.map(|wanted| Trial {
            id: handed_over.id(),
            wanted,
            args: args.clone(),
            node: node.clone(),
            sources,
            progress: Arc::clone(&progress),
        });
        Self { has_handed_over: handed_over.is_so(), progress, trial }
    }

    /// What is to be polled while it waits, once.
    pub(crate) fn asking(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let trial = self.trial.take();
        let (has_handed_over, is_ready) = (self.has_handed_over, self.is_ready());
        async move {
            match trial {
                Some(trial) => trial.take_over().await,
                None if has_handed_over => {
                    tokio::time::sleep(IS_NEEDED).await;
                    // The controller of a DaemonSet looks for what it may end when a pod was ready for `minReadySeconds`, but not where another
                    // pod's look is due sooner, which may be too early. That this pod is not ready has it look once more.
                    is_ready.store(false, Ordering::SeqCst);
                }
                None => {}
            }
        }
    }

    /// Whether probes are told that it is ready, from now on.
    pub(crate) fn is_ready(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.progress.is_ready)
    }

    /// What it takes over with, where the one that served made way for it, and comes back where this one ends.
    pub(crate) fn tried(&self) -> Option<Tried> {
        self.progress.tried.lock().take()
    }

    /// Waits until the state directory is to be looked at again.
    pub(crate) fn pause(&self) {
        let is_needed = self.has_handed_over && self.progress.is_ready.load(Ordering::SeqCst);
        let is_next = is_needed || self.progress.tried.lock().is_some();
        std::thread::park_timeout(if is_next { SOON } else { LOOKS });
    }
}

impl Trial {
    /// Asks until it is dropped: who gets the state directory then does that.
    async fn take_over(self) {
        let (mut said, mut pause) = (String::new(), AGAIN.0);
        loop {
            match self.once().await {
                Ok(false) => {}
                Ok(true) => {
                    tokio::time::sleep(ENDS).await;
                    self.progress.tried.lock().take();
                    tracing::warn!(
                        family = "host",
                        "the devgate that serves has not made way within {ENDS:?}, or another one came first"
                    );
                }
                Err(error) => {
                    let why = format!("{error:#}");
                    if why != said {
                        tracing::warn!(family = "host", "cannot take over, and tries again: {why}");
                    }
                    said = why;
                }
            }
            tokio::time::sleep(pause).await;
            pause = AGAIN.1.min(pause * 2);
        }
    }

    /// Whether the host that serves says yes; it may be one that cannot be asked.
    async fn once(&self) -> anyhow::Result<bool> {
        // First: loading takes longest, and what is found is to be of now.
        let (args, node, sources) = (self.args.clone(), self.node.clone(), self.sources);
        let mut looking = tokio::task::spawn_blocking(move || Looked::at(&args, &node, sources));
        let looked = match tokio::time::timeout(LONG, &mut looking).await {
            Ok(looked) => looked,
            Err(_) => {
                tracing::warn!(family = "host", "the trial is not done within {LONG:?}: does a read of the node hang?");
                // Another one beside it would hang as well.
                looking.await
            }
        };
        let looked = looked.context("the trial")??;
        let fails: Vec<_> =
            looked.surveyed.iter().filter_map(|plugin| Some((plugin.name.clone(), failure(plugin)?))).collect();
        if self.is_unable().await? {
            self.found_out(&fails)?;
            return Ok(false);
        }
        let socket = self.socket();
        let offered: Offered = ask::status_of(&socket).await.context("the devgate that serves cannot be asked")?;
        said(&less(&offered, &looked.surveyed, self.wanted), "it would offer less than the devgate that serves")?;
        let fail = fails.into_iter().map(|(name, _)| name).collect();
        let tried = tokio::task::spawn_blocking(move || looked.with_runners(fail)).await.context("the runners")?;
        // Before it is asked: it may end before its answer is here, or its answer may be lost.
        *self.progress.tried.lock() = Some(tried);
        self.progress.looks.unpark();
        let taken = ask::take_over(&socket, &format!("{PATH}?{}", self.id)).await;
        if matches!(taken, Err(NotTaken::Refused(_))) {
            self.progress.tried.lock().take();
        }
        taken?;
        tracing::info!("the devgate that serves hands over");
        Ok(true)
    }

    /// Whether the host that serves has no socket on which it could be asked, as a version without `--take-over` has not.
    async fn is_unable(&self) -> anyhow::Result<bool> {
        let socket = self.socket();
        let is_there = || async { ask::is_answered(&socket).await.with_context(|| socket.display().to_string()) };
        if is_there().await? {
            return Ok(false);
        }
        tokio::time::sleep(STARTS).await;
        Ok(!is_there().await?)
    }

    /// Has the rollout end a host that cannot be asked, as it does once this one is ready.
    fn found_out(&self, fails: &[(PluginName, String)]) -> anyhow::Result<()> {
        if self.wanted == TakeOver::AsMany {
            let fails: Vec<_> = fails.iter().map(|(_, why)| why.clone()).collect();
            said(&fails, "the devgate that serves cannot be asked to hand over, and here")?;
        }
        if !self.progress.is_ready.swap(true, Ordering::SeqCst) {
            tracing::warn!(
                family = "host",
                "the devgate that serves hands over to none (no {}: is it of an earlier version?); this one tells probes that it is ready, so that a \
                 rollout ends that one, and serves then",
                self.socket().display()
            );
        }
        Ok(())
    }

    fn socket(&self) -> PathBuf {
        self.args.state_dir.join(HOST_SOCKET)
    }
}

/// Says the first of what speaks against it, if anything does.
fn said(all: &[String], what: &str) -> anyhow::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    bail!("{what}: {}", named(all, NAMED, "; "))
}
