//! One look at a whole policy on a node: what every plugin would offer if it were started here now, and why not the rest.
//!
//! The same steps as a running plugin's, through the same gate and the same ledger, once and in the policy's order. Nothing is
//! remembered, handed out or told to anybody.

use crate::allocations::Memory;
use crate::call::{CallHost, Moment};
use crate::claims::{Ledger, Place};
use crate::grants::{Grants, Heard, Line};
use crate::health::UnitHealth;
use crate::inventory::Inventory;
use crate::labels;
use crate::means::Means;
use crate::plugin::{LoadFailure, Loader, matched, verdicts};
use crate::replica::replica_ids;
use crate::units::GrantedNode;
use crate::units::{PoolRecord, Rejection, UnitRecord};
use devgate_node::{DevicePath, Node};
use devgate_policy::{Derived, Origin, PluginPolicy, Policy, Use};
use devgate_types::component::Component;
use devgate_types::{PluginName, ResourceName, UnitId};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

/// What one plugin would do here.
#[derive(Debug)]
pub struct Surveyed {
    /// Its name.
    pub name: PluginName,
    /// How far it gets.
    pub outcome: Outcome,
    /// The pools and units that the gate did not let through, sorted.
    pub rejected: Vec<Rejection>,
    /// The units that it did, sorted by resource and id.
    pub units: Vec<SurveyedUnit>,
    /// The units that the policy's `only` or `except` leaves out, sorted by id.
    pub left: Vec<LeftOut>,
    /// The kernel names of the devices that its component cannot describe now.
    pub unread: BTreeSet<String>,
    /// The devices that the policy offers and that are part of no unit, left-out ones included, sorted; nothing where it
    /// offers nothing at all, which the outcome explains.
    pub unused: Vec<DevicePath>,
    /// What it would tell of the node.
    pub labels: Derived,
    /// What was said in its calls: its component's lines, and what that asked for and does not get. At most 20 lines; nothing
    /// where the plugin runs, as they are in the log then.
    pub lines: Vec<Line>,
}

/// A unit that is there and that the policy does not want offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its id.
    pub id: UnitId,
    /// The component's own name of its resource.
    pub resource: ResourceName,
    /// What it is made of.
    pub backing: Vec<DevicePath>,
    /// Its own nodes.
    pub nodes: Vec<GrantedNode>,
    /// The filter that leaves it out, or the first of `only` where none of them matches.
    pub origin: Origin,
}

/// How far a plugin gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No selector matches a device of this node, so that it is not even loaded.
    Idle,
    /// The device tree cannot be read, so that nothing is known.
    Blind(String),
    /// Its component is not loaded.
    NotLoaded(LoadFailure),
    /// A call failed, so that it offers nothing: the call's name, and complete text.
    Failed(String),
    /// It offers what is among its units.
    Answered,
}

/// A unit that passed the gate.
#[derive(Debug)]
pub struct SurveyedUnit {
    /// The resource that it is offered as.
    pub resource: ResourceName,
    /// Its id, without a replica's suffix.
    pub id: UnitId,
    /// How many devices the kubelet is told of: one for each replica.
    pub devices: usize,
    /// What it is made of.
    pub backing: Vec<DevicePath>,
    /// The nodes that an allocation of it hands out, those of its pool included.
    pub nodes: Vec<GrantedNode>,
    /// What the component says of it, unescaped.
    pub properties: Vec<(String, String)>,
    /// The NUMA nodes that it is near.
    pub numa_nodes: BTreeSet<u32>,
    /// To whom it lost hardware or its id.
    pub lost: Option<Arc<str>>,
    /// Whether the kubelet is not even told of it, because its id is another unit's.
    pub hidden: bool,
    /// What the host finds wrong with its hardware.
    pub problem: Option<Arc<str>>,
    /// Why the component does not find it healthy; escaped.
    pub verdict: Option<Arc<str>>,
}

impl SurveyedUnit {
    /// One that nothing is wrong with.
    pub(crate) fn of(resource: &ResourceName, unit: &UnitRecord, pool: &PoolRecord, replicas: u32) -> Self {
        Self {
            resource: resource.clone(),
            id: unit.id.clone(),
            devices: replica_ids(&unit.id, replicas).count(),
            backing: unit.backing.clone(),
            nodes: unit.nodes.iter().chain(&pool.shared_nodes).cloned().collect(),
            properties: unit.properties.clone(),
            numa_nodes: unit.numa_nodes.clone(),
            lost: None,
            hidden: false,
            problem: None,
            verdict: None,
        }
    }

    /// Why it may not be handed out, if so: what is certain before what was said.
    #[must_use]
    pub fn unhealthy(&self) -> Option<&Arc<str>> {
        self.lost.as_ref().or(self.problem.as_ref()).or(self.verdict.as_ref())
    }
}

/// Looks at every plugin of a policy. Blocks as long as loading and calls take, each within its limits; a read that the kernel
/// never answers is waited for.
#[must_use]
pub fn survey(policy: &Policy, node: &Node, loader: &dyn Loader) -> Vec<Surveyed> {
    let ledger = Ledger::new(policy.plugins.keys().map(ToString::to_string));
    let plugins = policy.plugins.values().enumerate();
    let looks: Vec<_> = plugins
        .map(|(place, policy)| {
            let look = Look::at(policy, node, loader);
            let claims = look.inventory.claims(policy, &Memory::forgetful());
            ledger.report(Place(place), claims);
            look
        })
        .collect();
    let places = looks.into_iter().enumerate();
    places.map(|(place, look)| look.judge(&ledger, Place(place))).collect()
}

/// One plugin, while it is looked at.
struct Look {
    grants: Arc<Grants>,
    heard: Heard,
    outcome: Outcome,
    component: Option<Arc<dyn Component>>,
    devices: usize,
    inventory: Inventory,
    rejected: BTreeSet<Rejection>,
}

impl Look {
    /// Up to what it claims.
    fn at(policy: &PluginPolicy, node: &Node, loader: &dyn Loader) -> Self {
        let heard = Heard::default();
        let mut grants = Grants::new(node.clone(), Arc::new(policy.clone()));
        grants.heard = Some(heard.clone());
        let mut look = Self {
            grants: Arc::new(grants),
            heard,
            outcome: Outcome::Answered,
            component: None,
            devices: 0,
            inventory: Inventory::default(),
            rejected: BTreeSet::new(),
        };
        if let Err(outcome) = look.enumerate(loader) {
            look.outcome = outcome;
        }
        look
    }

    fn enumerate(&mut self, loader: &dyn Loader) -> Result<(), Outcome> {
        let policy = Arc::clone(&self.grants.policy);
        self.devices = matched(&self.grants).map_err(|fault| Outcome::Blind(fault.to_string()))?;
        if self.devices == 0 && !policy.hardware.is_empty() {
            return Err(Outcome::Idle);
        }
        let component = loader.load(&policy).map_err(Outcome::NotLoaded)?;
        let mut host = self.host();
        let ticket = host.ticket();
        host.during(Moment::Enumerate(ticket));
        let answer = Inventory::ask(component.as_ref(), host);
        self.component = Some(component);
        let (inventory, rejected) = answer.map_err(|error| self.failed("enumerate", &error))?;
        self.inventory = inventory;
        self.rejected = rejected.into_iter().collect();
        Ok(())
    }

    fn failed(&self, call: &str, error: &devgate_types::CallError) -> Outcome {
        Outcome::Failed(format!("plugin {}: {call} {error}", self.grants.policy.name))
    }

    fn host(&self) -> Box<CallHost> {
        let policy = &self.grants.policy;
        let limits = Arc::new(policy.limits.for_devices(self.devices));
        let config = policy.config.to_string().into();
        let means = Arc::new(Means::none(policy));
        Box::new(CallHost::new(Arc::clone(&self.grants), means, limits, config))
    }

    /// What becomes of its units, once all plugins have said what they claim.
    fn judge(mut self, ledger: &Ledger, place: Place) -> Surveyed {
        let lost = ledger.lost(place);
        let mut units = Vec::new();
        for (resource, pool) in &self.inventory.pools {
            let problems: HashMap<_, _> = pool.problems(&self.grants.node).into_iter().collect();
            let health = match self.health(resource, pool) {
                Ok(health) => health,
                Err(outcome) => {
                    // It offers nothing, and so keeps nothing from those after it.
                    ledger.report(place, Vec::new());
                    self.outcome = outcome;
                    units.clear();
                    break;
                }
            };
            for unit in &pool.units {
                let lost = lost.get(&unit.id);
                units.push(SurveyedUnit {
                    lost: lost.map(|lost| Arc::clone(&lost.reason)),
                    hidden: lost.is_some_and(|lost| lost.id_taken),
                    problem: problems.get(&unit.id).cloned(),
                    verdict: health.get(&unit.id).and_then(UnitHealth::unhealthy),
                    ..SurveyedUnit::of(resource, unit, pool, self.grants.policy.replicas)
                });
            }
        }
        let unused = self.unused();
        let found: HashMap<_, _> = units.iter().map(|unit| (&unit.id, unit)).collect();
        let labels = labels::of(&self.grants.policy, &self.inventory, |id| {
            let unit = found.get(id).filter(|unit| !unit.hidden)?;
            Some(unit.unhealthy().is_none())
        });
        Surveyed {
            labels,
            name: self.grants.policy.name.clone(),
            outcome: self.outcome,
            rejected: self.rejected.into_iter().collect(),
            units,
            left: left_out(&self.inventory),
            unread: self.inventory.unread,
            unused,
            lines: self.heard.lines(),
        }
    }

    /// The offered devices that are part of nothing, where it offers something at all.
    fn unused(&self) -> Vec<DevicePath> {
        match self.outcome {
            Outcome::Answered => unused(&self.grants, &self.inventory),
            _ => Vec::new(),
        }
    }

    fn health(&self, resource: &ResourceName, pool: &PoolRecord) -> Result<HashMap<UnitId, UnitHealth>, Outcome> {
        let Some(component) = self.component.as_ref().filter(|_| !pool.units.is_empty()) else {
            return Ok(HashMap::new());
        };
        let mut host = self.host();
        let ticket = host.ticket();
        host.during(Moment::Health(ticket));
        let verdicts = verdicts(component.as_ref(), host, pool.asked(resource), &pool.units);
        let verdicts = verdicts.map_err(|error| self.failed("health", &error))?;
        let (policy, now) = (&self.grants.policy, Instant::now());
        let of = |(unit, verdict): (&Arc<UnitRecord>, _)| {
            (unit.id.clone(), UnitHealth::first(verdict, None, &policy.health, now))
        };
        Ok(pool.units.iter().zip(&verdicts).map(of).collect())
    }
}

/// The units of an inventory that the policy leaves out.
pub(crate) fn left_out(inventory: &Inventory) -> Vec<LeftOut> {
    let left = inventory.left.iter().map(|(id, left)| LeftOut {
        id: id.clone(),
        resource: left.resource.clone(),
        backing: left.backing.clone(),
        nodes: left.nodes.clone(),
        origin: left.origin.clone(),
    });
    left.collect()
}

/// The offered devices that nothing of an inventory has to do with. Blocks.
pub(crate) fn unused(grants: &Grants, inventory: &Inventory) -> Vec<DevicePath> {
    let units = inventory.units().map(|unit| (&unit.backing, &unit.nodes));
    let left = inventory.left.values().map(|left| (&left.backing, &left.nodes));
    let owners = |nodes: &[GrantedNode]| nodes.iter().filter_map(|node| node.owner.clone()).collect::<Vec<_>>();
    let mut used = BTreeSet::new();
    for (backing, nodes) in units.chain(left) {
        used.extend(backing.iter().cloned().chain(owners(nodes)));
    }
    for pool in inventory.pools.values() {
        used.extend(owners(&pool.shared_nodes));
    }
    // A device and its parts go together, whichever of them the policy and the component name.
    let is_used = |device: &DevicePath| {
        used.contains(device)
            || used
                .iter()
                .any(|part| part.is_beneath(device) || device.is_beneath(part))
    };
    // That the tree cannot be read has been said.
    let matches = grants.matches().unwrap_or_default();
    let offered = matches.into_iter().filter(|found| found.usage == Use::Offer);
    let offered: BTreeSet<_> = offered.map(|found| found.device).collect();
    offered.into_iter().filter(|device| !is_used(device)).collect()
}
