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
use crate::claims::Place;
use crate::grants::Grants;
use crate::inventory::Inventory;
use crate::plugin::{Against, Command, matched, try_out};
use devgate_policy::{PluginPolicy, Policy};
use devgate_types::{PluginName, UnitId};
use fewer::{Counts, Tally};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// What loading and trying one plugin may take.
const PATIENCE: Duration = Duration::from_secs(120);

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

/// What is done for a reload, and for which plugin.
pub(super) type Loads = Arc<Mutex<BTreeSet<(Work, PluginName)>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// Reading a component, for its digest.
    Read,
    /// Getting and compiling one.
    Load,
}

/// Leave to do it, until it is dropped.
struct Leave(Loads, (Work, PluginName));

impl Leave {
    fn take(loads: &Loads, what: (Work, PluginName)) -> Option<Self> {
        let new = loads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(what.clone());
        new.then(|| Self(Arc::clone(loads), what))
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

/// One plugin that is new or another.
struct Trial {
    name: PluginName,
    calls: Arc<Calls>,
    /// Whether it runs already.
    runs: bool,
}

fn late(name: &PluginName, what: &'static str) -> Against {
    let (name, patience) = (name.clone(), PATIENCE);
    Against::Late { name, what, patience }
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
    /// plugin that has nothing to do on this node is not loaded. The front ends see lists change, and no stream end.
    ///
    /// # Errors
    /// Where a component cannot be loaded or does not answer, or where a device that a pod may hold would go or become other
    /// hardware and `forced` is not set. Nothing is changed then.
    pub async fn reload(&mut self, policy: &Policy, forced: bool) -> Result<Reloaded, NotReloaded> {
        self.reap();
        let (trials, mut reloaded, mut problems) = self.differences(policy).await;
        let mut tally = Tally::default();
        if !forced {
            problems.extend(reloaded.gone.iter().filter_map(|name| self.still_held(name)));
        }
        for trial in &trials {
            match self.attempt(trial, forced).await {
                Ok(after) => tally.after(&after),
                Err(problem) => problems.push(problem.to_string()),
            }
        }
        // Seconds may have passed, in which pods began.
        if problems.is_empty() && !forced {
            problems.extend(reloaded.gone.iter().filter_map(|name| self.still_held(name)));
            for trial in trials.iter().filter(|trial| trial.runs) {
                problems.extend(self.confirm(&trial.name).await.err().map(|problem| problem.to_string()));
            }
        }
        if !problems.is_empty() {
            for running in trials.iter().filter_map(|trial| self.running.get(&trial.name)) {
                drop(running.commands.send(Command::Keep).await);
            }
            return Err(NotReloaded(problems));
        }
        let idle = trials.iter().filter(|trial| trial.calls.component().is_none());
        let idle: BTreeSet<_> = idle.map(|trial| trial.name.clone()).collect();
        let touched = trials.iter().map(|trial| &trial.name).chain(&reloaded.gone);
        for (name, running) in touched.filter_map(|name| self.running.get_key_value(name)) {
            tally.before(name, &running.calls.grants.board.counts());
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
            match running {
                None => reloaded.new.push(name.clone()),
                Some(running) => match self.is_another(running, new).await {
                    Ok(true) => reloaded.changed.push(name.clone()),
                    Ok(false) => continue,
                    Err(problem) => {
                        problems.push(problem.to_string());
                        continue;
                    }
                },
            }
            trials.push(Trial {
                name: name.clone(),
                // Whatever it refuses is noted where its predecessor's is.
                calls: self.calls(new, running.map(|running| &running.calls)),
                runs: running.is_some(),
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
    async fn is_another(&self, running: &Running, new: &PluginPolicy) -> Result<bool, Against> {
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
            Err(failure) => Err(failure),
            Ok(digest) => Ok(digest),
        };
        let name = &new.name;
        let read = tokio::time::timeout(PATIENCE, self.alone(Work::Read, name, read));
        let digest = read.await.map_err(|_| late(name, "its component was not read"))???;
        Ok(digest.is_some() && digest != component.profile().sha256)
    }

    fn still_held(&self, name: &PluginName) -> Option<String> {
        let running = self.running.get(name)?;
        let held = self.shared.ledger.held(running.place);
        let first = held.first()?;
        let more = match held.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "plugin {name}: is not in the policy any more, and a pod may hold device {first}{more}; wait until its pods are gone, or force it"
        ))
    }

    /// Loads a component and tries it beside what is in force. How many devices it has.
    async fn attempt(&self, trial: &Trial, forced: bool) -> Result<Counts, Against> {
        let name = &trial.name;
        let late = || late(name, "was not loaded and tried");
        let load = tokio::time::timeout(PATIENCE, self.load(&trial.calls));
        load.await.map_err(|_| late())??;
        let calls = Arc::clone(&trial.calls);
        if !trial.runs {
            let tried = tokio::time::timeout(PATIENCE, try_out(calls, &Inventory::default())).await;
            let tried = tried.map_err(|_| late())??;
            self.takes_up(name, tried.inventory())?;
            return Ok(tried.counts());
        }
        self.ask(name, |answer| Command::Try { calls, forced, answer }).await
    }

    /// Whether a plugin that comes back while pods hold what it gave offers that as it did: nobody else would look after it, and
    /// under another resource's name the kubelet would give it away again. After a restart of the host it is known from the
    /// memory, and unhealthy.
    fn takes_up(&self, name: &PluginName, inventory: &Inventory) -> Result<(), Against> {
        let Some(place) = self.leaving_as(name) else {
            return Ok(());
        };
        let memory = &self.shared.around.memory;
        let is_as_before = |id: &UnitId| {
            let mut pools = inventory.pools.iter();
            pools.any(|(resource, pool)| {
                let unit = pool.units.iter().find(|unit| unit.id == *id);
                unit.is_some_and(|unit| memory.has(resource, unit))
            })
        };
        let held = self.shared.ledger.held(place);
        match held.iter().find(|id| !is_as_before(id)) {
            None => Ok(()),
            Some(id) => Err(Against::Another {
                name: name.clone(),
                id: id.clone(),
            }),
        }
    }

    /// Whether what was tried may be switched to still.
    async fn confirm(&self, name: &PluginName) -> Result<(), Against> {
        self.ask(name, |answer| Command::Confirm { answer }).await
    }

    /// Tells a plugin something and waits for its answer.
    async fn ask<T>(
        &self,
        name: &PluginName,
        command: impl FnOnce(oneshot::Sender<Result<T, Against>>) -> Command,
    ) -> Result<T, Against> {
        let ended = || Against::Ended(name.clone());
        let running = self.running.get(name).ok_or_else(ended)?;
        let (answer, answered) = oneshot::channel();
        let command = command(answer);
        let asked = async {
            running.commands.send(command).await.ok()?;
            answered.await.ok()
        };
        let result = tokio::time::timeout(PATIENCE, asked).await;
        result.map_err(|_| late(name, "did not answer"))?.ok_or_else(ended)?
    }

    /// Loads a component, unless there is nothing for it to do here.
    async fn load(&self, calls: &Arc<Calls>) -> Result<(), Against> {
        let (loader, calls) = (Arc::clone(&self.shared.around.loader), Arc::clone(calls));
        let name = calls.grants.policy.name.clone();
        let work = move || {
            if has_nothing_to_do(&calls.grants) {
                return Ok(());
            }
            match loader.load(&calls.grants.policy) {
                Ok(component) => {
                    calls.loaded(component);
                    Ok(())
                }
                Err(failure) => Err(failure),
            }
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
    ) -> Result<T, Against> {
        let Some(leave) = Leave::take(&self.loads, (what, plugin.clone())) else {
            return Err(Against::Busy(plugin.clone()));
        };
        let work = move || {
            let _leave = leave;
            work()
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|panic| {
            let name = plugin.clone();
            Against::Panicked { name, panic }
        })
    }

    fn leaving_as(&self, name: &PluginName) -> Option<Place> {
        let mut leaving = self.leaving.iter();
        leaving.find(|(_, left)| *left == name).map(|(place, _)| *place)
    }

    async fn apply(&mut self, policy: &Policy, trials: Vec<Trial>, reloaded: &Reloaded) {
        for name in &reloaded.gone {
            if let Some(running) = self.running.remove(name) {
                self.leaving.insert(running.place, name.clone());
                drop(running.commands.send(Command::Leave).await);
            }
        }
        let mut order: Vec<(Place, String)> = Vec::new();
        for name in policy.plugins.keys() {
            let running = self.running.get(name).map(|running| running.place);
            // One that is back while pods still hold what it gave goes on where it was.
            let place = running
                .or_else(|| self.leaving_as(name))
                .unwrap_or_else(|| self.next_place());
            order.push((place, name.to_string()));
        }
        self.shared.ledger.arrange(&order);
        self.order = policy.plugins.keys().cloned().collect();
        for trial in trials {
            if let Some(running) = self.running.get_mut(&trial.name) {
                running.calls = trial.calls;
                drop(running.commands.send(Command::Switch).await);
                continue;
            }
            let place = order.iter().find(|(_, name)| *name == trial.name.as_str());
            if let Some((place, _)) = place {
                self.begin(*place, trial.calls);
            }
        }
        self.shared.watch.arrange(&self.order);
    }
}
