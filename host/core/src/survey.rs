//! One look at a whole policy on a node: what every plugin would offer if it were started here now, and why not the rest.
//!
//! The same steps as a running plugin's, through the same gate and the same ledger, once and in the policy's order. Nothing is
//! remembered, handed out or told to anybody.

use crate::allocations::Allocations;
use crate::call::CallHost;
use crate::grants::{Grants, Line, LogCapture};
use crate::health_store::HealthStore;
use crate::inventory::Inventory;
use crate::ledger::{Ledger, PluginIndex};
use crate::loader::{LoadFailure, Loader};
use crate::look::{FailedLook, Findings, Found, findings, matched};
use crate::plugin_services::PluginServices;
use crate::replica::replica_ids;
use crate::resource::by_policy;
use crate::state::Dir;
use crate::unit_table::{OutsideCauses, UnitTable};
use crate::units::{Cause, Causes, GrantedNode, LeftOut, Lost, Rejection, UnitRecord};
use devgate_node::{DevicePath, Node};
use devgate_policy::{Derived, Facts, PluginPolicy, Policy, Use};
use devgate_types::component::CallKind;
use devgate_types::{Condition, PluginName, ResourceName, UnitId};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

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
    /// What a host goes on from, where the plugin answered and does not run: see [`crate::Plugins::start_from`].
    pub found: Option<Found>,
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
    /// How many devices the kubelet is told of: one for each replica.
    pub devices: usize,
    /// The unit itself.
    pub record: Arc<UnitRecord>,
    /// The nodes that an allocation of it hands out besides its own: those of its pool.
    pub shared_nodes: Vec<GrantedNode>,
    /// All that speaks against it; escaped.
    pub causes: Causes,
    /// What its policy has schedulers know of it, where it is given by claims.
    pub facts: Option<Facts>,
    /// What is not as it should be although it works, as far as its policy names it.
    pub conditions: Arc<[Condition]>,
}

impl SurveyedUnit {
    /// The nodes that an allocation of it hands out.
    pub fn nodes(&self) -> impl Iterator<Item = &GrantedNode> {
        self.record.nodes.iter().chain(&self.shared_nodes)
    }
}

impl Outcome {
    /// In a word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Answered => "works",
            Self::Idle => "idle",
            Self::NotLoaded(_) => "not-loaded",
            Self::Blind(_) | Self::Failed(_) => "failed",
        }
    }

    /// What went wrong, if anything did.
    #[must_use]
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Answered | Self::Idle => None,
            Self::NotLoaded(failure) => Some(failure.to_string()),
            Self::Blind(why) | Self::Failed(why) => Some(why.clone()),
        }
    }
}

impl Surveyed {
    /// What a plugin's table of units shows.
    pub(crate) fn of(policy: &PluginPolicy, outcome: Outcome, table: &UnitTable, others: &OutsideCauses) -> Self {
        let inventory = table.inventory();
        let units = inventory.all().map(|(resource, pool, unit)| SurveyedUnit {
            resource: resource.clone(),
            devices: replica_ids(&unit.id, policy.replicas).count(),
            record: Arc::clone(unit),
            shared_nodes: pool.shared_nodes.clone(),
            causes: table.causes(&unit.id, others),
            conditions: table.conditions(&unit.id),
            facts: policy.dra.as_ref().map(|dra| by_policy(dra, resource, pool, unit)),
        });
        Self {
            name: policy.name.clone(),
            outcome,
            rejected: Vec::new(),
            units: units.collect(),
            left: inventory.left.values().cloned().collect(),
            unread: inventory.unread.clone(),
            unused: Vec::new(),
            labels: table.labels(policy, others),
            lines: Vec::new(),
            found: None,
        }
    }
}

/// Looks at every plugin of a policy; with a state directory as a host that starts in it would find it: components have what they
/// stored there. Blocks as long as loading and calls take, each within its limits; a read that the kernel never answers is waited for.
#[must_use]
pub fn survey(policy: &Policy, node: &Node, loader: &dyn Loader, state: Option<&Dir>) -> Vec<Surveyed> {
    let ledger = Ledger::new(policy.plugins.keys().map(ToString::to_string));
    let plugins = policy.plugins.values().enumerate();
    let looks: Vec<_> = plugins
        .map(|(index, policy)| {
            let look = Look::at(policy, node, loader, state);
            let footprints = look.units.inventory().footprints(policy, &Allocations::forgetful());
            ledger.report(PluginIndex(index), footprints);
            look
        })
        .collect();
    let indexes = looks.into_iter().enumerate();
    indexes.map(|(index, look)| look.judge(ledger.lost(PluginIndex(index)))).collect()
}

/// One plugin, while it is looked at.
struct Look {
    grants: Arc<Grants>,
    log_capture: LogCapture,
    outcome: Outcome,
    units: UnitTable,
    rejected: BTreeSet<Rejection>,
    findings: Findings,
}

impl Look {
    /// Up to what it claims.
    fn at(policy: &PluginPolicy, node: &Node, loader: &dyn Loader, state: Option<&Dir>) -> Self {
        let log_capture = LogCapture::default();
        let mut grants = Grants::new(node.clone(), Arc::new(policy.clone()));
        grants.log_capture = Some(log_capture.clone());
        let mut look = Self {
            grants: Arc::new(grants),
            log_capture,
            outcome: Outcome::Answered,
            units: UnitTable::default(),
            rejected: BTreeSet::new(),
            findings: Findings::new(),
        };
        if let Err(outcome) = look.ask(loader, state) {
            // It offers nothing, and so keeps nothing from those after it.
            let mut inventory = look.units.inventory().clone();
            inventory.pools.clear();
            look.units.replace(inventory);
            look.outcome = outcome;
        }
        look
    }

    /// What its component lists, what the host sees of every unit, and what the component says of their health.
    fn ask(&mut self, loader: &dyn Loader, state: Option<&Dir>) -> Result<(), Outcome> {
        let policy = Arc::clone(&self.grants.policy);
        let devices = matched(&self.grants).map_err(|fault| Outcome::Blind(fault.to_string()))?;
        if devices == 0 && !policy.hardware.is_empty() {
            return Err(Outcome::Idle);
        }
        let component = loader.load(&policy).map_err(Outcome::NotLoaded)?;
        let limits = Arc::new(policy.limits.for_devices(devices));
        let host = || {
            let services = Arc::new(PluginServices::none(&policy, state));
            CallHost::new(Arc::clone(&self.grants), services, Arc::clone(&limits))
        };
        let failed =
            |FailedLook { call, error }| Outcome::Failed(format!("plugin {}: {} {error}", policy.name, call.as_str()));
        let answer = Inventory::ask(component.as_ref(), &mut host());
        let (inventory, rejected) = answer.map_err(|error| failed(FailedLook { call: CallKind::Enumerate, error }))?;
        self.units.replace(inventory);
        self.rejected = rejected.into_iter().collect();
        let pools = self.units.inventory().stocked();
        let problems = pools.values().flat_map(|pool| pool.problems(&self.grants.node));
        self.units.set(Cause::HardwareGone, &problems.collect());
        self.findings = findings(component.as_ref(), &host, &pools).map_err(failed)?;
        let unkept = HealthStore::open(None, None);
        for (units, findings) in &self.findings {
            self.units.apply(units, findings, &policy, &unkept);
        }
        Ok(())
    }

    /// What becomes of its units, of which it has `lost` these to others.
    fn judge(self, lost: HashMap<UnitId, Lost>) -> Surveyed {
        let others = OutsideCauses { lost, ..OutsideCauses::default() };
        let inventory = self.units.inventory();
        let is_answered = self.outcome == Outcome::Answered;
        let found =
            || Found { inventory: inventory.clone(), rejected: self.rejected.clone(), findings: self.findings.clone() };
        Surveyed {
            found: is_answered.then(found),
            // Nothing is unused where nothing is offered at all, which the outcome explains.
            unused: if is_answered { unused(&self.grants, inventory) } else { Vec::new() },
            rejected: self.rejected.iter().cloned().collect(),
            lines: self.log_capture.lines(),
            ..Surveyed::of(&self.grants.policy, self.outcome, &self.units, &others)
        }
    }
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
    let is_used = |device: &DevicePath| used.contains(device) || used.iter().any(|part| part.touches(device));
    // That the tree cannot be read has been said.
    let matches = grants.matches().unwrap_or_default();
    let offered = matches.into_iter().filter(|found| found.usage == Use::Offer);
    let offered: BTreeSet<_> = offered.map(|found| found.device).collect();
    offered.into_iter().filter(|device| !is_used(device)).collect()
}
