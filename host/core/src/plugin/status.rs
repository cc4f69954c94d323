//! Looks at all plugins, whatever they are doing.

use crate::registry::Cores;
use crate::resource::Core;
use crate::status::{
    CauseStatus, ComponentStatus, ConditionStatus, DeviceStatus, PluginStatus, ResourceStatus, State, When,
};
use crate::unit_table::{Published, Snapshot};
use crate::units::{Cause, UnitRecord};
use devgate_policy::ComponentSource;
use devgate_types::{Digest, ResourceName, UnitId, escape};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Looks at all plugins of a host. Cheap to clone; keeps no plugin alive.
#[derive(Clone)]
pub struct StatusReader(pub(crate) Cores);

impl StatusReader {
    /// What is known about every plugin now, in the policy's order.
    #[must_use]
    pub fn status(&self) -> Vec<PluginStatus> {
        let now = When::now();
        self.cores().iter().map(|core| of(core, now)).collect()
    }

    /// The plugins whose tasks have not come by when they should have, and by how much they are late: the host hangs.
    #[must_use]
    pub fn late(&self) -> Vec<(String, Duration)> {
        let now = Instant::now();
        let late = |core: &Arc<Core>| Some((core.name().to_owned(), core.recorder.late(now)?));
        self.cores().iter().filter_map(late).collect()
    }

    /// Those that were not told to leave: the others are not waited for.
    fn cores(&self) -> Vec<Arc<Core>> {
        let plugins = self.0.lock();
        let there = plugins.iter().filter_map(Weak::upgrade);
        there.filter(|core| !core.leaves.load(Ordering::Relaxed)).collect()
    }
}

fn of(core: &Core, now: When) -> PluginStatus {
    let calls = core.calls();
    let policy = &calls.grants.policy;
    let held = core.ledger.held(core.index);
    let component = calls.component();
    let (file, pinned) = match &policy.component {
        ComponentSource::File { path, sha256 } => (path.clone(), sha256.is_some()),
        ComponentSource::Oci(reference) => (reference.to_string(), true),
    };
    let noted = core.recorder.status(now);
    let stale = core.recorder.is_stale(policy.health.stale_after);
    let shown = core.shown.all();
    let units = shown.values().flat_map(|snapshot| &snapshot.pool.units);
    let resting = core.breaker.problems(units.map(|unit| &unit.id), Instant::now()).len();
    let resources = shown.iter().map(|(name, snapshot)| resource(core, name, snapshot, &held));
    PluginStatus {
        name: policy.name.to_string(),
        state: match noted.state {
            // Without a component there is nothing that could stand.
            State::Failing if stale || component.is_none() => State::Quarantined,
            state => state,
        },
        runner_restarts: component.as_ref().map_or(0, |component| component.restarts()),
        component: ComponentStatus {
            file,
            sha256: component.and_then(|component| Some(Digest(component.profile().sha256?).hex())),
            pinned,
        },
        resources: resources.collect(),
        resting: u64::try_from(resting).unwrap_or(u64::MAX),
        kernel_log: calls.services.matched_lines.status(),
        ..noted
    }
}

fn resource(core: &Core, name: &ResourceName, snapshot: &Snapshot, held: &BTreeSet<UnitId>) -> ResourceStatus {
    let taken = core.allocations.taken_by_others(name);
    let consumers = |id: &UnitId| {
        let by = taken.get(id.as_str()).into_iter().flatten();
        by.map(|by| escape(&by.who, 160)).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let device = |(unit, published): (&Arc<UnitRecord>, &Published)| DeviceStatus {
        id: unit.id.to_string(),
        unhealthy: published.causes.reason().map(ToString::to_string),
        causes: CauseStatus::of(&published.causes),
        conditions: published.conditions.iter().map(ConditionStatus::of).collect(),
        settling: published.settling,
        since: published.since,
        numa_nodes: unit.numa_nodes.clone(),
        held: held.contains(&unit.id),
        unlisted: published.causes.has(Cause::Unlisted),
        holders: Vec::new(),
        consumers: consumers(&unit.id),
    };
    let calls = core.calls();
    let policy = &calls.grants.policy;
    ResourceStatus {
        name: name.to_string(),
        driver: policy.dra.as_ref().map(|dra| dra.driver.clone()),
        replicas: policy.replicas,
        devices: snapshot.units().map(device).collect(),
    }
}
