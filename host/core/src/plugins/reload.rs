//! Another policy for plugins that run: tried as a whole, refused as a whole, and applied with the smallest change.
//!
//! ```text
//!   what differs ─► load and try each beside the one in force ─► anything wrong: nothing is changed
//!                                                             └► else: leave, arrange, switch, begin
//! ```

mod fewer;

pub use fewer::Fewer;

use super::{Plugins, Running};
use crate::calls::Calls;
use crate::grants::Grants;
use crate::inventory::Inventory;
use crate::ledger::PluginIndex;
use crate::loader::LoadFailure;
use crate::look::{Found, matched};
use crate::plugin::{Command, ReloadProblem, keeps_what_is_held, try_out};
use crate::resource::Core;
use crate::unit_table::Snapshot;
use devgate_policy::{PluginPolicy, Policy};
use devgate_types::{PluginName, ResourceName, UnitId};
use fewer::Tally;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// What loading and trying one plugin may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What a reload changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reloaded {
    /// Plugins that are new in the policy.
    pub new: Vec<PluginName>,
    /// Plugins whose entry or component is another.
    pub changed: Vec<PluginName>,
    /// Plugins that are not in the policy any more.
    pub gone: Vec<PluginName>,
    /// Whether plugins that stay are in another order, which decides who has hardware that two claim.
    pub reordered: bool,
    /// The resources that have fewer devices by it, sorted by name. That may be meant, or be a mistake in a selector.
    pub fewer: Vec<Fewer>,
}

impl Reloaded {
    /// Whether everything is as it was.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.new.is_empty() && self.changed.is_empty() && self.gone.is_empty() && !self.reordered
    }
}

/// Why a policy was not taken over. What was in force goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct NotReloaded(
    /// One line or more for each plugin that speaks against it; complete text.
    pub Vec<String>,
);

/// What is done for a reload, and never twice at a time for one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// Reading a component, for its digest.
    Read,
    /// Getting and compiling one.
    Load,
}

/// One plugin that is new or another.
struct Trial {
    name: PluginName,
    calls: Arc<Calls>,
    /// What it finds, once it has been tried.
    found: Found,
}

/// What `work` comes to; an error says what was not done.
async fn in_time<T>(name: &PluginName, not_done: &str, work: impl Future<Output = T>) -> Result<T, ReloadProblem> {
    let late = |_| ReloadProblem(format!("plugin {name}: {not_done} within {TIMEOUT:?}"));
    tokio::time::timeout(TIMEOUT, work).await.map_err(late)
}

/// Whether no selector matches a device of this node, and a plugin needs no component. What cannot be read is no reason to be idle.
/// Blocks.
fn has_nothing_to_do(grants: &Grants) -> bool {
    !grants.policy.hardware.is_empty() && matches!(matched(grants), Ok(0))
}

impl Plugins {
    /// Puts another policy in force, or the same one with other components.
    ///
    /// Every plugin that is new or another is loaded, asked what there is and found healthy first, while the old ones go on. A
    /// plugin that has nothing to do on this node is not loaded. The front ends see lists change, and no stream end. Fails where a
    /// component cannot be loaded or does not answer, or where a device that a pod may hold would go or become other hardware and `forced`
    /// is not set. Nothing is changed then.
    pub async fn reload(&mut self, policy: &Policy, forced: bool) -> Result<Reloaded, NotReloaded> {
        self.reap();
        let (mut trials, mut reloaded, mut problems) = self.differences(policy).await;
        let mut tally = Tally::default();
        if !forced {
            problems.extend(reloaded.gone.iter().filter_map(|name| self.still_held(name)));
        }
        for trial in &mut trials {
            match self.attempt(trial, forced).await {
                Ok(()) => {
                    let pools = trial.found.inventory.pools.iter();
                    tally.after(pools.map(|(resource, pool)| (resource.clone(), pool.units.len())).collect());
                }
                Err(ReloadProblem(problem)) => problems.push(problem),
            }
        }
        // Seconds may have passed, in which pods began.
        if problems.is_empty() && !forced {
            problems.extend(reloaded.gone.iter().filter_map(|name| self.still_held(name)));
            let confirmed = trials.iter().map(|trial| self.confirm(trial, forced));
            problems.extend(confirmed.filter_map(|confirmed| Some(confirmed.err()?.0)));
        }
        if !problems.is_empty() {
            return Err(NotReloaded(problems));
        }
        let idle = trials.iter().filter(|trial| trial.calls.component().is_none());
        let idle: BTreeSet<_> = idle.map(|trial| trial.name.clone()).collect();
        let touched = trials.iter().map(|trial| &trial.name).chain(&reloaded.gone);
        for name in touched {
            tally.before(name, self.shown(name).map(|(resource, shown)| (resource, shown.listed())).collect());
        }
        reloaded.fewer = tally.fewer(policy, &idle);
        self.apply(policy, trials, &reloaded).await;
        Ok(reloaded)
    }

    /// Which plugins are new, other ones, or gone, and of which it cannot be told.
    async fn differences(&self, policy: &Policy) -> (Vec<Trial>, Reloaded, Vec<String>) {
        let (mut trials, mut reloaded, mut problems) = (Vec::new(), Reloaded::default(), Vec::new());
        for (name, new) in &policy.plugins {
            let running = self.running.get(name);
            let is_another = match running {
                None => Ok(true),
                Some(running) => self.is_another(running, new).await,
            };
            match is_another {
                Ok(true) if running.is_none() => reloaded.new.push(name.clone()),
                Ok(true) => reloaded.changed.push(name.clone()),
                Ok(false) => continue,
                Err(ReloadProblem(problem)) => {
                    problems.push(problem);
                    continue;
                }
            }
            trials.push(Trial {
                name: name.clone(),
                // Whatever it refuses is noted where its predecessor's is.
                calls: self.calls(new, running.map(|running| &running.calls)),
                found: Found::default(),
            });
        }
        let gone = self.running.keys().filter(|name| !policy.plugins.contains_key(*name));
        reloaded.gone = gone.cloned().collect();
        let stay = |names: &mut dyn Iterator<Item = &PluginName>| -> Vec<PluginName> {
            let stays = |name: &&PluginName| self.running.contains_key(*name) && policy.plugins.contains_key(*name);
            names.filter(stays).cloned().collect()
        };
        reloaded.reordered = stay(&mut self.order.iter()) != stay(&mut policy.plugins.keys());
        (trials, reloaded, problems)
    }

    /// Whether a plugin's entry or component is another. A component that cannot be had speaks against the reload: what runs would
    /// not survive a restart, and that nothing changed would hide it until then.
    async fn is_another(&self, running: &Running, new: &PluginPolicy) -> Result<bool, ReloadProblem> {
        if !running.calls.grants.policy.is_like(new) {
            return Ok(true);
        }
        let Some(component) = running.calls.component() else {
            // Not loaded yet: it takes what is there when it is.
            return Ok(false);
        };
        let (loader, policy) = (Arc::clone(&self.shared.around.loader), Arc::new(new.clone()));
        let grants = Arc::clone(&running.calls.grants);
        let read = move || match loader.digest(&policy) {
            Err(_) if has_nothing_to_do(&grants) => Ok(None),
            digest => digest,
        };
        let name = &new.name;
        let read = self.alone(Work::Read, name, read);
        let digest = in_time(name, "its component was not read", read).await???;
        Ok(digest.is_some() && digest != component.profile().sha256)
    }

    fn still_held(&self, name: &PluginName) -> Option<String> {
        let running = self.running.get(name)?;
        let held = self.shared.ledger.held(running.index);
        let first = held.first()?;
        let more = match held.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "plugin {name}: is not in the policy any more, and a pod may hold device {first}{more}; wait until its pods are gone, or force it"
        ))
    }

    /// Loads a component and tries it beside what is in force.
    async fn attempt(&self, trial: &mut Trial, forced: bool) -> Result<(), ReloadProblem> {
        let name = &trial.name;
        let what = "was not loaded and tried";
        in_time(name, what, self.load(&trial.calls)).await??;
        let pools = self.shown(name).map(|(resource, shown)| (resource, shown.pool.clone())).collect();
        let before = Inventory { pools, ..Inventory::default() };
        trial.found = in_time(name, what, try_out(&trial.calls, before)).await??;
        self.confirm(trial, forced)
    }

    /// A plugin that runs.
    fn core(&self, name: &PluginName) -> Option<Arc<Core>> {
        let index = self.running.get(name)?.index;
        self.shared.registry.plugins().into_iter().find(|core| core.index == index)
    }

    /// What a plugin offers, if it runs.
    fn shown(&self, name: &PluginName) -> impl Iterator<Item = (ResourceName, Arc<Snapshot>)> + use<> {
        self.core(name).into_iter().flat_map(|core| core.shown.all())
    }

    /// Whether consumers would keep all that they have of it.
    fn confirm(&self, trial: &Trial, forced: bool) -> Result<(), ReloadProblem> {
        let found = &trial.found.inventory;
        match self.core(&trial.name) {
            None => self.takes_up(&trial.name, found),
            Some(_) if forced => Ok(()),
            Some(core) => keeps_what_is_held(&core, &trial.calls.grants.policy, found),
        }
    }

    /// Whether a plugin that comes back while pods hold what it gave offers that as it did: no other plugin would look after it, and
    /// under another resource's name the kubelet would give it away again. After a restart of the host it is known from the
    /// memory, and unhealthy.
    fn takes_up(&self, name: &PluginName, inventory: &Inventory) -> Result<(), ReloadProblem> {
        let Some(index) = self.leaving_as(name) else {
            return Ok(());
        };
        let allocations = &self.shared.around.allocations;
        let is_as_before =
            |id: &UnitId| inventory.all().any(|(resource, _, unit)| unit.id == *id && allocations.has(resource, unit));
        let held = self.shared.ledger.held(index);
        match held.iter().find(|id| !is_as_before(id)) {
            None => Ok(()),
            Some(id) => Err(ReloadProblem(format!(
                "plugin {name}: is back, and device {id}, which a pod may hold since it was taken out, would not be offered as it was; wait until its pods are gone, or restart devgate"
            ))),
        }
    }

    /// Loads a component, unless there is nothing for it to do here.
    async fn load(&self, calls: &Arc<Calls>) -> Result<(), ReloadProblem> {
        let (loader, calls) = (Arc::clone(&self.shared.around.loader), Arc::clone(calls));
        let name = calls.grants.policy.name.clone();
        let work = move || {
            if !has_nothing_to_do(&calls.grants) {
                calls.loaded(loader.load(&calls.grants.policy)?);
            }
            Ok::<_, LoadFailure>(())
        };
        Ok(self.alone(Work::Load, &name, work).await??)
    }

    /// Runs what may never return, on a thread of its own, and never beside itself: who tries again each minute must not use up the
    /// host's threads. Plugins do not wait for each other's: a pull may take a quarter of an hour.
    async fn alone<T: Send + 'static>(
        &self,
        what: Work,
        plugin: &PluginName,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ReloadProblem> {
        let Some(leave) = self.loads.try_lock(&[(what, plugin.clone())]) else {
            return Err(ReloadProblem(format!(
                "plugin {plugin}: host fault: an earlier reload still gets, reads or compiles a component of this plugin"
            )));
        };
        let work = move || {
            let _leave = leave;
            work()
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|panic| ReloadProblem(format!("plugin {plugin}: host fault: loading panicked: {panic}")))
    }

    fn leaving_as(&self, name: &PluginName) -> Option<PluginIndex> {
        let mut leaving = self.leaving.iter();
        leaving.find(|(_, left)| *left == name).map(|(index, _)| *index)
    }

    async fn apply(&mut self, policy: &Policy, trials: Vec<Trial>, reloaded: &Reloaded) {
        let gone: Vec<_> = reloaded.gone.iter().filter_map(|name| Some((name, self.running.remove(name)?))).collect();
        self.leaving.extend(gone.iter().map(|(name, running)| (running.index, (*name).clone())));
        let mut order: Vec<(PluginIndex, String)> = Vec::new();
        for name in policy.plugins.keys() {
            let running = self.running.get(name).map(|running| running.index);
            // One that is back while pods still hold what it gave goes on where it was.
            let index = running.or_else(|| self.leaving_as(name)).unwrap_or_else(|| self.next_index());
            order.push((index, name.to_string()));
        }
        self.shared.ledger.arrange(&order);
        self.order = policy.plugins.keys().cloned().collect();
        // They look there whether they are back by now.
        for (_, running) in gone {
            drop(running.commands.send(Command::Leave).await);
        }
        for trial in trials {
            if let Some(running) = self.running.get_mut(&trial.name) {
                running.calls = Arc::clone(&trial.calls);
                drop(running.commands.send(Command::Switch { calls: trial.calls, found: trial.found }).await);
                continue;
            }
            let index = order.iter().find(|(_, name)| *name == trial.name.as_str());
            if let Some((index, _)) = index {
                self.begin(*index, trial.calls, None);
            }
        }
        self.shared.registry.arrange(&self.order);
    }
}
