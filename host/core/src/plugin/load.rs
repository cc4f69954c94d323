//! Before a plugin's first call: whether there is anything to do here, and getting the component.

use super::reload::AfterCommand;
use super::single_flight::SingleFlight;
use super::{LOAD_PATIENCE, Plugin, TREE_PATIENCE};
use crate::calls::Calls;
use crate::loader::{LoadFailure, Loader};
use crate::look::matched;
use crate::status::{RefusalKind, State};
use crate::survey::Outcome;
use devgate_policy::PluginPolicy;
use devgate_types::CallError;
use devgate_types::component::Component;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often it is said what a load waits for.
const TELL: Duration = Duration::from_millis(250);
/// The least time between two looks for something to do, whatever happens.
const LEAST_PAUSE: Duration = Duration::from_millis(500);
/// How often it is looked whether what could not be loaded has come. A file must be the same for two looks: it may be half written.
const ARRIVAL: Duration = Duration::from_millis(250);

impl Plugin {
    /// Waits until there is something to do on this node, then loads the component, as often as it takes.
    pub(super) async fn load_when_needed(&mut self) -> Result<Arc<dyn Component>, AfterCommand> {
        if let Some(component) = self.calls.component() {
            return Ok(component);
        }
        let name = self.policy().name.to_string();
        let (mut was_idle, mut attempt) = (false, SingleFlight::default());
        let wake = Arc::clone(&self.core.wake);
        loop {
            let matched = matched_now(&self.calls).await;
            if self.is_idle(&matched) {
                self.core.recorder.set_state(State::Idle);
                if !was_idle {
                    tracing::info!(plugin = name, "plugin {name}: idle, no selector matches a device of this node");
                }
                was_idle = true;
                // Why it could not be had when it was needed says nothing of the next time, which may be days later.
                self.failing = None;
                self.core.recorder.record_alive(self.policy().health.enumerate_every);
                self.core.ledger.report(self.core.index, Vec::new());
                self.publish();
                self.drain();
                self.tell(&Outcome::Idle).await;
                // Something may be there at last; what is not looked at that often costs a storm of events little.
                let pause = self.policy().health.enumerate_every.max(LEAST_PAUSE);
                let woken = async {
                    tokio::time::sleep(LEAST_PAUSE).await;
                    let _ = wake.asked().await;
                };
                if let Some(turn) = self.wait_for_commands(pause, woken).await {
                    return Err(turn);
                }
                continue;
            }
            if self.core.recorder.is_idle() {
                self.core.recorder.set_state(State::Loading);
            }
            self.core.recorder.record_alive(LOAD_PATIENCE);
            let (loader, policy) = (Arc::clone(&self.shared.around.loader), Arc::clone(self.policy()));
            let started = Instant::now();
            // Looked at first: what comes while it is loaded is seen as another.
            let load = attempt.wait(LOAD_PATIENCE, move || (loader.stamp(&policy), loader.load(&policy)));
            tokio::pin!(load);
            let loaded = loop {
                tokio::select! {
                    // A caller that asks for a look before the first one waits for that one, and not for one more.
                    biased;
                    Some(command) = self.commands.recv() => return Err(self.handle_command(command)),
                    loaded = &mut load => break loaded,
                    () = tokio::time::sleep(TELL) => self.tell_what_is_waited_for(),
                }
            };
            if loaded.is_err() && self.waits_for().is_some() {
                // It comes, slowly.
                continue;
            }
            let (stamp, failure) = match loaded {
                Ok((_, Ok(component))) => {
                    let component = self.calls.loaded(component);
                    tracing::info!(plugin = name, took = ?started.elapsed(), "plugin {name}: loaded");
                    self.failing = None;
                    return Ok(component);
                }
                Ok((stamp, Err(failure))) => (Some(stamp), failure),
                Err(error) => (None, LoadFailure::Host(format!("plugin {name}: load {error}"))),
            };
            let (family, text) = match &failure {
                LoadFailure::Refused(text) => ("refused", text),
                LoadFailure::Guest(text) => ("guest", text),
                LoadFailure::Host(text) => ("host", text),
            };
            // What could not be had may be by then; what is refused or broken is so until an admin changes it.
            let wait = self.fails(family, text, family == "host");
            self.core.recorder.record_alive(wait);
            if family == "refused" {
                self.core.recorder.record_refusal(RefusalKind::Load, text);
            }
            self.tell(&Outcome::NotLoaded(failure)).await;
            let (loader, policy) = (Arc::clone(&self.shared.around.loader), Arc::clone(self.policy()));
            let arrived = async {
                match stamp {
                    Some(stamp) => arrival(loader, policy, stamp).await,
                    // What still loads is waited for as it is.
                    None => pending().await,
                }
            };
            if let Some(turn) = self.wait_for_commands(wait, arrived).await {
                return Err(turn);
            }
        }
    }

    /// What the load that is under way waits for, outside of the node.
    fn waits_for(&self) -> Option<String> {
        self.shared.around.loader.progress(self.policy())
    }

    /// Notes what is waited for, beside why it failed the last time, if it did: an attempt can take longer than the pause before
    /// it. Plugins behind this one do not wait for it as well.
    fn tell_what_is_waited_for(&self) {
        if let Some(what) = self.waits_for() {
            match &self.failing {
                None => self.core.recorder.set_waiting(&what),
                Some(failing) => self.core.recorder.set_retrying(&failing.reason, &what),
            }
            self.core.ledger.report(self.core.index, Vec::new());
        }
    }

    /// Waits for so long, until it is woken, or until it is told something.
    async fn wait_for_commands(&mut self, pause: Duration, woken: impl Future<Output = ()>) -> Option<AfterCommand> {
        tokio::select! {
            () = tokio::time::sleep(pause) => None,
            () = woken => None,
            Some(command) = self.commands.recv() => Some(self.handle_command(command)),
        }
    }

    /// Whether there are selectors and none matches anything: then the component is not even compiled. Not knowing is no
    /// reason to be idle.
    fn is_idle(&self, matched: &Result<usize, CallError>) -> bool {
        !self.policy().hardware.is_empty() && matches!(matched, Ok(0))
    }
}

/// Waits until what would be loaded is another than what was `tried`, and stays the same for a moment.
async fn arrival(loader: Arc<dyn Loader>, policy: Arc<PluginPolicy>, tried: u64) {
    let mut seen = tried;
    loop {
        tokio::time::sleep(ARRIVAL).await;
        let (loader, policy) = (Arc::clone(&loader), Arc::clone(&policy));
        let Ok(now) = tokio::task::spawn_blocking(move || loader.stamp(&policy)).await else {
            continue;
        };
        if now == seen && now != tried {
            return;
        }
        seen = now;
    }
}

/// How many devices are granted now; limits grow with them.
pub(super) async fn matched_now(calls: &Calls) -> Result<usize, CallError> {
    if calls.grants.policy.hardware.is_empty() {
        return Ok(0);
    }
    let grants = Arc::clone(&calls.grants);
    let matched = calls.block(TREE_PATIENCE, move || matched(&grants)).await??;
    calls.scale(matched);
    Ok(matched)
}
