//! One plugin's life: load, enumerate, find healthy, offer, look again.

mod debounce;
mod device_info;
mod enumerate;
mod load;
mod order;
mod poll;
mod publish;
mod reload;
mod shared;
mod single_flight;
mod status;
mod survey_reply;

pub(crate) use reload::{Command, ReloadProblem, keeps_what_is_held, try_out};

use crate::backoff::Backoff;
use crate::calls::Calls;
use crate::id_rate_limit::IdRateLimit;
use crate::ledger::PluginIndex;
use crate::look::{FailedLook, Found};
use crate::resource::{Core, Resource, sweep};
use crate::status::State;
use crate::survey::{Outcome, Surveyed};
use crate::unit_table::UnitTable;
use crate::units::Rejection;
use crate::watcher::{Asked, Interest};
use debounce::Debounce;
use devgate_policy::PluginPolicy;
use devgate_types::component::Component;
use devgate_types::{CallError, ResourceName};
use order::Order;
use reload::AfterCommand;
pub(crate) use shared::Shared;
pub use shared::Surroundings;
pub use status::StatusReader;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// How long a plugin waits for the ones before it that may offer the same to say what they have. Compiling a component can take seconds.
const ORDER_PATIENCE: Duration = Duration::from_secs(30);
/// What matching selectors with the whole device tree may take.
const TREE_PATIENCE: Duration = Duration::from_secs(5);
/// What loading may take before the host stops waiting; compiling cannot be interrupted.
const LOAD_PATIENCE: Duration = Duration::from_secs(120);
/// A look at the hardware takes at most one part in this of a plugin's time, however many devices there are.
const IDLE_SHARE: u32 = 50;
/// How long a component is not asked while what a trial found is registered and listed, which takes the processor.
const LISTED: Duration = Duration::from_millis(300);
/// The longest pause between two looks that comes of this.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Everything that a plugin's task keeps.
pub(crate) struct Plugin {
    core: Arc<Core>,
    /// What the core's calls are as well.
    calls: Arc<Calls>,
    shared: Shared,
    resources: BTreeMap<ResourceName, Arc<Resource>>,
    units: UnitTable,
    id_rate_limit: IdRateLimit,
    rejected: BTreeSet<Rejection>,
    failing: Option<Failing>,
    /// Whether what there is to tell of the node may be something else.
    relabel: bool,
    commands: mpsc::Receiver<Command>,
    /// What a trial found before the host started, until it is offered.
    found: Option<Found>,
    /// Whom it waits for.
    order: Order,
    /// Resources that are going away, and since when they are offered empty.
    farewell: BTreeMap<ResourceName, Instant>,
    /// How often something was forgotten that was handed out, when that was taken into account last.
    forgotten: u64,
    /// Who waits to be told what a look found.
    asked: Vec<oneshot::Sender<Surveyed>>,
    /// Lets go of what no pod has any more, as long as the plugin is there.
    sweep: JoinSet<()>,
}

struct Failing {
    since: Instant,
    reason: Arc<str>,
    backoff: Backoff,
}

impl Plugin {
    /// A plugin that is not loaded yet, unless `calls` has its component already; it offers at first what a trial `found`.
    pub(crate) fn new(
        index: PluginIndex,
        calls: Arc<Calls>,
        commands: mpsc::Receiver<Command>,
        shared: Shared,
        found: Option<Found>,
    ) -> Self {
        let name = calls.grants.policy.name.clone();
        calls.services.is_at(index);
        let (ledger, allocations) = (shared.ledger.clone(), shared.around.allocations.clone());
        let core = Arc::new(Core::new(name, index, ledger, allocations, Arc::clone(&calls)));
        shared.registry.meet(&core);
        shared.ledger.knows(index, Arc::clone(&calls.grants));
        let policy = &calls.grants.policy;
        shared.labels.expects(&policy.name, &policy.labels, &core.recorder);
        let mut sweeping = JoinSet::new();
        sweeping.spawn(sweep(Arc::clone(&core), shared.around.holders.clone()));
        let plugin = Self {
            core,
            calls,
            shared,
            resources: BTreeMap::new(),
            units: UnitTable::default(),
            id_rate_limit: IdRateLimit::default(),
            rejected: BTreeSet::new(),
            failing: None,
            relabel: true,
            commands,
            found,
            order: Order::default(),
            farewell: BTreeMap::new(),
            forgotten: 0,
            asked: Vec::new(),
            sweep: sweeping,
        };
        plugin.watch_node();
        plugin
    }

    /// Is woken from now on by what happens to what there is now.
    fn watch_node(&self) {
        let (wake, matched_lines) = (Arc::clone(&self.core.wake), Arc::clone(&self.calls.services.matched_lines));
        let interest = Interest::new(self.policy(), self.units.inventory(), wake, matched_lines);
        self.shared.watcher.register(self.core.index, interest);
    }

    fn policy(&self) -> &Arc<PluginPolicy> {
        &self.calls.grants.policy
    }

    /// Runs until the plugin is told to leave, or the task is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            let turn = match self.load_when_needed().await {
                Ok(component) => self.serve(&component).await,
                Err(turn) => turn,
            };
            match turn {
                AfterCommand::Restart => {}
                AfterCommand::Leave => return self.leave().await,
            }
        }
    }

    /// Looks and offers, until something else is in force.
    async fn serve(&mut self, component: &Arc<dyn Component>) -> AfterCommand {
        let mut ledger = self.core.ledger.subscribe(self.core.index);
        let mut next_enumerate = Instant::now();
        let mut debounce = Debounce::default();
        if let Some(found) = self.found.take() {
            self.go_on_from(found, component).await;
        }
        loop {
            let started = Instant::now();
            self.core.recorder.record_alive(self.busy());
            let mut works = self.failing.is_none();
            if started >= next_enumerate {
                let result = self.enumerate(component).await;
                debounce.units.did(started, Instant::now());
                works = result.is_ok();
                let wait = match result {
                    Ok(()) => self.policy().health.enumerate_every,
                    Err(error) => self.failed("enumerate", &error),
                };
                next_enumerate = Instant::now() + wait;
            }
            let looked = self.poll(component, works).await;
            debounce.did_health(started, Instant::now());
            match looked {
                Err(FailedLook { call, error }) => {
                    next_enumerate = Instant::now() + self.failed(call.as_str(), &error);
                }
                // What comes or goes is listed anew as soon as it is seen.
                Ok(true) => debounce.ask(Asked::UNITS, Instant::now()),
                Ok(false) => {}
            }
            // A look that failed or hung says nothing of what looks cost.
            let cost = if self.failing.is_none() { started.elapsed() * IDLE_SHARE } else { Duration::ZERO };
            let next_look = self.next_tick(cost.min(LONGEST_PAUSE));
            loop {
                self.core.recorder.record_alive(next_look.saturating_duration_since(Instant::now()));
                self.judge_order().await;
                // Who sees that it serves finds what it offers, also where that is nothing.
                match (self.publish(), &self.failing) {
                    (None, None) => self.core.recorder.set_state(State::Serving),
                    (Some(what), None) => self.core.recorder.set_waiting(what),
                    (_, Some(_)) => {}
                }
                self.drain();
                let failed = self.failing.as_ref().map(|failing| Outcome::Failed(failing.reason.to_string()));
                self.tell(&failed.unwrap_or(Outcome::Answered)).await;
                let due = debounce.due().map_or(next_look, |due| due.min(next_look));
                tokio::select! {
                    Some(command) = self.commands.recv() => return self.handle_command(command),
                    () = tokio::time::sleep_until(due.into()) => {}
                    asked = self.core.wake.asked() => {
                        debounce.ask(asked, Instant::now());
                        continue;
                    }
                    // What the others have is no news about this plugin's hardware.
                    _ = ledger.changed() => continue,
                }
                let now = Instant::now();
                if debounce.hardware.begin(now) {
                    self.core.recorder.record_alive(self.busy());
                    // What is gone is not given any more, whatever the component says of it and whenever it answers.
                    let _ = self.poll(component, false).await;
                    debounce.hardware.did(now, Instant::now());
                    continue;
                }
                // What fails is tried again after its own pause, whatever happens meanwhile.
                if debounce.units.begin(now) && self.failing.is_none() {
                    next_enumerate = now;
                }
                break;
            }
        }
    }

    /// Offers what a trial found a moment ago, but for what is gone since. What there is now is asked for next.
    async fn go_on_from(&mut self, found: Found, component: &Arc<dyn Component>) {
        self.take_answer(found.inventory, found.rejected);
        for (units, findings) in found.findings {
            self.apply(&units, &findings);
        }
        if self.poll(component, false).await.is_ok() {
            self.judge_order().await;
            self.publish();
            // Kubelet is to have the list first.
            tokio::time::sleep(LISTED).await;
        }
    }

    /// What one round may take at the most: every call waits for a thread, then for its answer.
    fn busy(&self) -> Duration {
        let calls = u32::try_from(self.units.inventory().pools.len()).unwrap_or(u32::MAX).saturating_add(2);
        self.calls.limits().deadline.saturating_mul(calls.saturating_mul(2))
    }

    /// The first tick after this pause. Ticks of all plugins fall together, so that the processor is woken once for all.
    fn next_tick(&self, pause: Duration) -> Instant {
        let every = self.policy().health.check_every;
        let since = self.shared.born.elapsed() + pause;
        let ticks = since.as_nanos() / every.as_nanos().max(1) + 1;
        self.shared.born + every.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
    }

    /// Notes a failed call; the answer is when to try again.
    fn failed(&mut self, call: &str, error: &CallError) -> Duration {
        let reason = format!("plugin {}: {call} {error}", self.core.name());
        let family = match error {
            CallError::Host(_) => "host",
            CallError::Failed(_) | CallError::Guest(_) => "guest",
        };
        self.fails(family, &reason, false)
    }

    /// Notes why it fails, and says so once, with when it is tried again where that `may_help`; the answer is that time.
    fn fails(&mut self, family: &str, reason: &str, may_help: bool) -> Duration {
        let name = self.core.name();
        let failing = self.failing.get_or_insert_with(|| Failing {
            since: Instant::now(),
            reason: Arc::from(""),
            backoff: Backoff::default(),
        });
        let wait = failing.backoff.pause();
        self.core.recorder.set_failing(reason, wait);
        if *failing.reason == *reason {
            tracing::debug!(plugin = name, family, retry_in = ?wait, "{reason}");
        } else {
            let again =
                if may_help { format!("; tried again in {}s", wait.as_secs_f32().ceil()) } else { String::new() };
            tracing::error!(plugin = name, family, retry_in = ?wait, "{reason}{again}");
            failing.reason = reason.into();
        }
        // Plugins after this one must not wait for it for ever.
        if self.resources.is_empty() {
            self.core.ledger.report(self.core.index, Vec::new());
        }
        wait
    }

    fn recovered(&mut self) {
        if let Some(failing) = self.failing.take() {
            let name = self.policy().name.as_str();
            tracing::info!(plugin = name, after = ?failing.since.elapsed(), "plugin {name}: works again");
        }
    }
}
