//! One plugin's life: load, enumerate, find healthy, offer, look again.

use crate::call::CallHost;
use crate::calls::{self, Calls, Inline};
use crate::claims::{Ledger, Place};
use crate::component::Component;
use crate::grants::Grants;
use crate::health::UnitHealth;
use crate::inventory::{Inventory, Rejection, UnitRecord};
use crate::offer::{Device, DeviceList};
use crate::registry::Registry;
use crate::resource::{Core, Resource, Snapshot, replica_ids};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use devgate_model::{CallError, GuestFault, ResourceName, UnitId, Verdict};
use devgate_node::Node;
use devgate_policy::PluginPolicy;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The longest wait between two attempts of a plugin that keeps failing.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);
/// How long a plugin waits for the ones before it to say what they have. Compiling a component can take seconds.
const ORDER_PATIENCE: Duration = Duration::from_secs(30);
/// What loading may take before the host stops waiting; compiling cannot be interrupted.
const LOAD_PATIENCE: Duration = Duration::from_secs(120);
/// A look at the hardware takes at most one part in this of a plugin's time, however many devices there are.
const IDLE_SHARE: u32 = 50;

/// Devices whose health is logged one by one when it changes; more at once are counted.
const LOGGED_AT_ONCE: usize = 16;

/// Makes a component ready to be called. Implemented over `devgate-sandbox` by the binary; blocks while it compiles.
pub trait Loader: Send + Sync + 'static {
    /// Loads what the policy names.
    ///
    /// # Errors
    /// Why not, and what to do: complete text for people.
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure>;
}

/// Why a component was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadFailure {
    /// It asks for more than the policy grants, or is not what the policy names.
    #[error("{0}")]
    Refused(String),
    /// It is not a component that can run.
    #[error("{0}")]
    Guest(String),
    /// It could not be read, or the host failed.
    #[error("{0}")]
    Host(String),
}

/// Everything that a plugin's task keeps.
pub(crate) struct Plugin {
    core: Arc<Core>,
    loader: Arc<dyn Loader>,
    registry: Registry,
    resources: BTreeMap<ResourceName, Arc<Resource>>,
    inventory: Inventory,
    /// Held units that the component does not list as they were; they keep their record and are unhealthy.
    strayed: HashMap<UnitId, Arc<str>>,
    health: HashMap<UnitId, UnitHealth>,
    rejected: BTreeSet<Rejection>,
    /// What the host itself found wrong with a unit.
    problems: HashMap<UnitId, Arc<str>>,
    /// What was last published about each unit, to log what is new.
    shown: HashMap<UnitId, Option<Arc<str>>>,
    failing: Option<Failing>,
    born: Instant,
}

struct Failing {
    since: Instant,
    reason: Arc<str>,
    backoff: ExponentialBackoff,
}

impl Plugin {
    pub(crate) fn new(
        place: Place,
        policy: Arc<PluginPolicy>,
        node: Node,
        loader: Arc<dyn Loader>,
        ledger: Ledger,
        registry: Registry,
        inline: Inline,
    ) -> Self {
        let calls = Calls::new(Arc::new(Grants::new(node, policy)), inline);
        let core = Core {
            place,
            calls,
            ledger,
            component: RwLock::new(None),
            look: Notify::new(),
        };
        Self {
            core: Arc::new(core),
            loader,
            registry,
            resources: BTreeMap::new(),
            inventory: Inventory::default(),
            strayed: HashMap::new(),
            health: HashMap::new(),
            rejected: BTreeSet::new(),
            problems: HashMap::new(),
            shown: HashMap::new(),
            failing: None,
            born: Instant::now(),
        }
    }

    fn policy(&self) -> &Arc<PluginPolicy> {
        &self.core.calls.grants.policy
    }

    /// Runs until the task is dropped.
    pub(crate) async fn run(mut self) {
        let component = self.load_when_needed().await;
        let mut ledger = self.core.ledger.subscribe();
        let mut next_enumerate = Instant::now();
        loop {
            let started = Instant::now();
            let mut works = self.failing.is_none();
            if started >= next_enumerate {
                let result = self.enumerate(&component).await;
                works = result.is_ok();
                let wait = match result {
                    Ok(()) => self.policy().health.enumerate_every,
                    Err(error) => self.failed("enumerate", &error),
                };
                next_enumerate = Instant::now() + wait;
            }
            let before = self.problems.clone();
            let health = self.look(&component, works).await;
            if let Err(error) = health {
                next_enumerate = Instant::now() + self.failed("health", &error);
            } else if before != self.problems {
                // What comes or goes is listed anew as soon as it is seen.
                next_enumerate = next_enumerate.min(Instant::now() + self.policy().health.check_every);
            }
            self.publish();
            let wait = self.policy().health.check_every.max(started.elapsed() * IDLE_SHARE);
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.core.look.notified() => {}
                _ = ledger.changed() => {}
            }
        }
    }

    /// Waits until there is something to do on this node, then loads the component, as often as it takes.
    async fn load_when_needed(&mut self) -> Arc<dyn Component> {
        let name = self.policy().name.to_string();
        let mut backoff = backoff();
        let mut was_idle = false;
        loop {
            if self.is_idle(self.matched().await) {
                if !was_idle {
                    tracing::info!(
                        plugin = name,
                        "plugin {name}: idle, no selector matches a device of this node"
                    );
                }
                was_idle = true;
                self.core.ledger.report(self.core.place, Vec::new());
                tokio::time::sleep(self.policy().health.enumerate_every).await;
                continue;
            }
            let (loader, policy) = (Arc::clone(&self.loader), Arc::clone(self.policy()));
            let started = Instant::now();
            let loaded = self.core.calls.block(LOAD_PATIENCE, move || loader.load(&policy)).await;
            let error = match loaded {
                Ok(Ok(component)) => {
                    *self.core.component.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&component));
                    tracing::info!(plugin = name, took = ?started.elapsed(), "plugin {name}: loaded");
                    return component;
                }
                Ok(Err(LoadFailure::Refused(text))) => ("refused", text),
                Ok(Err(LoadFailure::Guest(text))) => ("guest", text),
                Ok(Err(LoadFailure::Host(text))) => ("host", text),
                Err(error) => ("host", format!("plugin {name}: load {error}")),
            };
            self.core.ledger.report(self.core.place, Vec::new());
            let wait = backoff.next().unwrap_or(LONGEST_BACKOFF);
            tracing::error!(plugin = name, family = error.0, retry_in = ?wait, "{}", error.1);
            tokio::time::sleep(wait).await;
        }
    }

    /// How many devices are granted here now; limits grow with them.
    async fn matched(&self) -> usize {
        if self.policy().hardware.is_empty() {
            return 0;
        }
        let grants = Arc::clone(&self.core.calls.grants);
        let matched = self
            .core
            .calls
            .block(LOAD_PATIENCE, move || grants.matched())
            .await
            .unwrap_or(0);
        self.core.calls.scale(matched);
        matched
    }

    /// Whether there are selectors and none matches anything: then the component is not even compiled.
    fn is_idle(&self, matched: usize) -> bool {
        !self.policy().hardware.is_empty() && matched == 0
    }

    async fn enumerate(&mut self, component: &Arc<dyn Component>) -> Result<(), CallError> {
        let core = Arc::clone(&self.core);
        self.matched().await;
        let component = Arc::clone(component);
        let call = core.calls.call(component, |component, host| {
            let (pools, host) = calls::open(component.enumerate(host)?)?;
            let numa = |device: &devgate_node::DevicePath| host.numa_node(device);
            Ok(Inventory::gate(host.policy(), &host, pools, &numa))
        });
        let (inventory, rejected) = call.await?;
        let rejected: BTreeSet<_> = rejected.into_iter().collect();
        let name = self.policy().name.to_string();
        for rejection in rejected.difference(&self.rejected) {
            tracing::warn!(plugin = name, family = "refused", "plugin {name}: {rejection}");
        }
        self.rejected = rejected;
        self.adopt(inventory);
        Ok(())
    }

    /// Takes over a new inventory. What a pod holds stays as it was handed out.
    fn adopt(&mut self, mut new: Inventory) {
        let held = self.core.ledger.held(self.core.place);
        self.strayed.clear();
        for (resource, pool) in &self.inventory.pools {
            for old in pool.units.iter().filter(|unit| held.contains(&unit.id)) {
                if let Some(reason) = new.keep(resource, old) {
                    self.strayed.insert(old.id.clone(), reason.into());
                }
            }
        }
        // A resource that lost its pool keeps its stream, with an empty list.
        for resource in self.resources.keys() {
            new.pools.entry(resource.clone()).or_default();
        }
        if new != self.inventory {
            self.log_difference(&new);
            self.inventory = new;
        }
        let ids: HashSet<_> = self.inventory.units().map(|unit| unit.id.clone()).collect();
        self.health.retain(|id, _| ids.contains(id));
        self.core
            .ledger
            .report(self.core.place, self.inventory.claims(self.policy()));
    }

    fn log_difference(&self, new: &Inventory) {
        let (before, after) = (self.inventory.ids(), new.ids());
        let count = |a: &HashMap<&UnitId, &Arc<UnitRecord>>, b: &HashMap<&UnitId, &Arc<UnitRecord>>| {
            a.keys().filter(|id| !b.contains_key(*id)).count()
        };
        let (added, removed) = (count(&after, &before), count(&before, &after));
        let name = self.policy().name.as_str();
        let total = after.len();
        tracing::info!(
            plugin = name,
            total,
            added,
            removed,
            "plugin {name}: {total} devices (+{added}, -{removed})"
        );
    }

    /// Looks at what every unit is made of, and asks the component for its verdicts if `ask`. One hop to a thread that may
    /// wait, whatever there is to do.
    async fn look(&mut self, component: &Arc<dyn Component>, ask: bool) -> Result<(), CallError> {
        let pools = self
            .inventory
            .pools
            .iter()
            .map(|(name, pool)| (name.clone(), pool.units.clone()));
        let pools: Vec<_> = pools.filter(|(_, units)| !units.is_empty()).collect();
        let (asked, component, grants) = (
            pools.clone(),
            Arc::clone(component),
            Arc::clone(&self.core.calls.grants),
        );
        let work = move |host: &dyn Fn() -> Box<CallHost>| {
            let problem = |unit: &Arc<UnitRecord>| Some((unit.id.clone(), unit.problem(&grants.node)?.into()));
            let problems = asked.iter().flat_map(|(_, units)| units).filter_map(problem).collect();
            let verdicts = |(resource, units): &(ResourceName, Vec<Arc<UnitRecord>>)| {
                verdicts(component.as_ref(), host(), resource, units)
            };
            let verdicts = ask.then(|| asked.iter().map(verdicts).collect::<Result<Vec<_>, _>>());
            (problems, verdicts)
        };
        let (problems, verdicts) = self.core.calls.calls(pools.len(), work).await?;
        self.problems = problems;
        if let Some(verdicts) = verdicts {
            for ((_, units), verdicts) in pools.iter().zip(verdicts?) {
                self.take_verdicts(units, &verdicts);
            }
            self.recovered();
        }
        Ok(())
    }

    fn take_verdicts(&mut self, units: &[Arc<UnitRecord>], verdicts: &[Verdict]) {
        let (policy, now) = (Arc::clone(self.policy()), Instant::now());
        for (unit, verdict) in units.iter().zip(verdicts) {
            match self.health.get_mut(&unit.id) {
                Some(health) => health.update(verdict, &policy.health, now),
                None => drop(self.health.insert(unit.id.clone(), UnitHealth::first(verdict))),
            }
        }
    }

    /// Notes a failed call; the answer is when to try again.
    fn failed(&mut self, call: &str, error: &CallError) -> Duration {
        let name = self.core.calls.grants.policy.name.as_str();
        let reason: Arc<str> = format!("plugin {name}: {call} {error}").into();
        let family = match error {
            CallError::Host(_) => "host",
            CallError::Failed(_) | CallError::Guest(_) => "guest",
        };
        let failing = self.failing.get_or_insert_with(|| Failing {
            since: Instant::now(),
            reason: Arc::from(""),
            backoff: backoff(),
        });
        let wait = failing.backoff.next().unwrap_or(LONGEST_BACKOFF);
        if failing.reason == reason {
            tracing::debug!(plugin = name, family, retry_in = ?wait, "{reason}");
        } else {
            tracing::error!(plugin = name, family, retry_in = ?wait, "{reason}");
        }
        failing.reason = reason;
        // Plugins after this one must not wait for it for ever.
        if self.resources.is_empty() {
            self.core.ledger.report(self.core.place, Vec::new());
        }
        wait
    }

    fn recovered(&mut self) {
        if let Some(failing) = self.failing.take() {
            let name = self.policy().name.as_str();
            tracing::info!(plugin = name, after = ?failing.since.elapsed(), "plugin {name}: works again");
        }
    }

    /// Offers what there is now, once the first enumeration and health check have succeeded.
    fn publish(&mut self) {
        let core = Arc::clone(&self.core);
        let ready = core.ledger.is_settled_before(core.place) || self.born.elapsed() > ORDER_PATIENCE;
        if !ready || (self.resources.is_empty() && self.failing.is_some()) {
            return;
        }
        let outcomes = self.outcomes();
        self.log_outcomes(&outcomes);
        let lost = core.ledger.lost(core.place);
        for (name, pool) in &self.inventory.pools {
            let mut snapshot = Snapshot {
                pool: pool.clone(),
                units: HashMap::with_capacity(pool.units.len()),
            };
            let mut list = DeviceList::default();
            for (n, unit) in pool.units.iter().enumerate() {
                let unhealthy = outcomes.get(&unit.id).cloned().flatten();
                if !lost.get(&unit.id).is_some_and(|lost| lost.id_taken) {
                    list.devices
                        .extend(replica_ids(&unit.id, self.policy().replicas).map(|id| Device {
                            id,
                            unhealthy: unhealthy.clone(),
                            numa_nodes: unit.numa_nodes.clone(),
                        }));
                }
                snapshot.units.insert(unit.id.clone(), (n, unhealthy));
            }
            list.devices.sort_by(|a, b| a.id.cmp(&b.id));
            let known = self.resources.get(name);
            let resource = known
                .cloned()
                .unwrap_or_else(|| Arc::new(Resource::new(Arc::clone(&core), name.clone())));
            resource.publish(snapshot, list);
            if known.is_none() {
                self.resources.insert(name.clone(), Arc::clone(&resource));
                self.registry.add(core.place, name, resource);
            }
        }
        self.shown = outcomes;
    }

    /// Why each unit may not be handed out, if so: what is certain before what was said.
    fn outcomes(&self) -> HashMap<UnitId, Option<Arc<str>>> {
        let lost = self.core.ledger.lost(self.core.place);
        let stale = self
            .failing
            .as_ref()
            .filter(|f| f.since.elapsed() >= self.policy().health.stale_after);
        let why = |id: &UnitId| {
            let host = lost
                .get(id)
                .map(|lost| &lost.reason)
                .or_else(|| self.problems.get(id))
                .or_else(|| self.strayed.get(id));
            match host.or(stale.map(|failing| &failing.reason)) {
                Some(reason) => Some(Arc::clone(reason)),
                None => self
                    .health
                    .get(id)
                    .map_or_else(|| Some("not found healthy yet".into()), UnitHealth::unhealthy),
            }
        };
        self.inventory
            .units()
            .map(|unit| (unit.id.clone(), why(&unit.id)))
            .collect()
    }

    /// One line for each device whose health is another than it was, and a count where there are many.
    fn log_outcomes(&self, outcomes: &HashMap<UnitId, Option<Arc<str>>>) {
        let name = self.policy().name.as_str();
        let mut changed: Vec<_> = outcomes
            .iter()
            .filter(|(id, now)| match self.shown.get(*id) {
                Some(before) => before.is_some() != now.is_some(),
                None => now.is_some(),
            })
            .collect();
        changed.sort();
        for (id, unhealthy) in changed.iter().take(LOGGED_AT_ONCE) {
            match unhealthy {
                None => tracing::info!(plugin = name, device = %id, "plugin {name}: device {id} is healthy again"),
                Some(why) => {
                    tracing::warn!(plugin = name, device = %id, "plugin {name}: device {id} is unhealthy: {why}")
                }
            }
        }
        if let Some(more) = changed.len().checked_sub(LOGGED_AT_ONCE).filter(|more| *more > 0) {
            tracing::warn!(
                plugin = name,
                more,
                "plugin {name}: the health of {more} more devices changed"
            );
        }
    }
}

impl UnitRecord {
    /// What is wrong with the hardware of this unit now, as the host sees it.
    fn problem(&self, node: &Node) -> Option<String> {
        if let Some(gone) = self.backing.iter().find(|device| !node.exists(device)) {
            return Some(format!("device {} is gone", gone.name()));
        }
        self.nodes.iter().find_map(|granted| {
            let changed = node.check_node(&granted.node).err()?;
            Some(format!("node {} {changed}", granted.node.path))
        })
    }
}

impl Inventory {
    /// Keeps a unit that a pod holds as it is. Returns what is different in what the component says now.
    fn keep(&mut self, resource: &ResourceName, old: &Arc<UnitRecord>) -> Option<String> {
        let pool = self.pools.entry(resource.clone()).or_default();
        let found = pool.units.binary_search_by(|unit| unit.id.cmp(&old.id));
        let reason = match found.ok().and_then(|n| pool.units.get_mut(n)) {
            Some(new) if new.backing == old.backing && new.nodes == old.nodes => return None,
            Some(new) => {
                *new = Arc::clone(old);
                "its hardware is another than when it was handed out"
            }
            None => {
                let at = pool.units.partition_point(|unit| unit.id < old.id);
                pool.units.insert(at, Arc::clone(old));
                "the component does not list it any more"
            }
        };
        Some(reason.to_owned())
    }
}

/// The component's verdicts on these units.
fn verdicts(
    component: &dyn Component,
    mut host: Box<CallHost>,
    resource: &ResourceName,
    units: &[Arc<UnitRecord>],
) -> Result<Vec<Verdict>, CallError> {
    let lent: Vec<_> = units.iter().map(|unit| unit.lend(&mut host)).collect();
    let (verdicts, _) = calls::open(component.health(host, resource.as_str(), &lent)?)?;
    if verdicts.len() != lent.len() {
        let message = format!("health gave {} verdicts for {} units", verdicts.len(), lent.len());
        return Err(GuestFault::contract(&message).into());
    }
    Ok(verdicts)
}

fn backoff() -> ExponentialBackoff {
    let builder = ExponentialBuilder::new()
        .with_min_delay(Duration::from_secs(1))
        .with_max_delay(LONGEST_BACKOFF);
    builder.with_jitter().without_max_times().build()
}
