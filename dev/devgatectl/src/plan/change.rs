//! What becomes of a node's devices when one policy takes the place of another.

use super::nodes::KnownNode;
use super::offered::{Offered, OfferedPlugin, OfferedUnit};
use devgate_types::escape;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// All that changes on one recorded node; its names are those of the JSON form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NodePlan {
    pub(super) node: String,
    /// The recording.
    pub(super) file: String,
    /// Whether it is known what is held there, and why not all of it.
    pub(super) held_known: bool,
    pub(super) held_incomplete: Option<String>,
    pub(super) plugins: Vec<PluginChange>,
    /// Resources with another number of devices.
    pub(super) resources: Vec<ResourceChange>,
    pub(super) units: Vec<UnitChange>,
    /// What is held by a unit that the old policy does not offer on the recorded node.
    pub(super) held_elsewhere: Vec<String>,
}

/// What changes of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct PluginChange {
    pub(super) plugin: String,
    /// How far it gets: `works`, `idle`, `not-loaded`, `failed`, or `absent`.
    pub(super) before: &'static str,
    pub(super) after: &'static str,
    /// Why it fails by the new policy, and whether it did not by the old one.
    pub(super) why: Option<String>,
    pub(super) is_worse: bool,
    /// The keys of its entry under which the new policy says something else.
    pub(super) keys: Vec<String>,
    /// The component's digests, where they differ.
    pub(super) component: Option<[Option<String>; 2]>,
    /// What it may not touch any more, and what it may besides, a line each.
    pub(super) revoked: Vec<String>,
    pub(super) granted: Vec<String>,
    /// What it lists, the kubelet is not shown and was not kept from it before, with the reason.
    pub(super) rejected: Vec<String>,
}

/// How many devices the kubelet would be told of, and how many of them may be allocated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ResourceChange {
    pub(super) resource: String,
    pub(super) before: Devices,
    pub(super) after: Devices,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(super) struct Devices {
    pub(super) devices: usize,
    pub(super) healthy: usize,
}

/// What changes of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct UnitChange {
    pub(super) change: Kind,
    /// As the old policy offers it; as the new one does where it comes.
    pub(super) resource: String,
    pub(super) id: String,
    /// What it was and is, a line each, without what both have.
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
    /// Who has it.
    pub(super) held_by: Option<String>,
    /// Whether who has it would lose it.
    pub(super) lost: bool,
}

/// How a unit changes. The order is that in which changes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Goes,
    Renumbered,
    Renamed,
    OtherHardware,
    OtherPlugin,
    Regranted,
    Health,
    Replicas,
    Comes,
}

impl NodePlan {
    pub(crate) fn of(node: &KnownNode, old: &Offered, new: &Offered) -> Self {
        let names: BTreeSet<_> = old.plugins.keys().chain(new.plugins.keys()).collect();
        let plugins =
            names.into_iter().map(|name| PluginChange::of(name, old.plugins.get(name), new.plugins.get(name)));
        let held = node.held.as_ref();
        let offers = |(resource, id): &(String, String)| old.plugins.values().any(|plugin| plugin.lists(resource, id));
        let elsewhere = held.into_iter().flatten().filter(|(key, _)| !offers(key));
        let elsewhere =
            elsewhere.map(|((resource, id), consumer)| escape(&format!("{resource} {id} ({consumer})"), 512));
        let mut units = units(old, new);
        for (key @ (resource, id), consumer) in held.into_iter().flatten() {
            let holder = escape(consumer, 256);
            let Some(loss) = loss(key, old, new) else {
                let changes = units.iter_mut().filter(|unit| unit.is_of(key) && unit.change != Kind::Comes);
                changes.for_each(|unit| unit.held_by = Some(holder.clone()));
                continue;
            };
            let lost = UnitChange {
                held_by: Some(holder),
                lost: true,
                ..UnitChange::of(Kind::Goes, id, resource, Vec::new(), vec![loss.to_owned()])
            };
            match units.iter_mut().find(|unit| unit.is_of(key) && unit.change != Kind::Comes) {
                Some(unit) => (unit.held_by, unit.lost) = (lost.held_by, true),
                None => units.push(lost),
            }
        }
        Self {
            node: node.name.clone(),
            file: node.file.clone(),
            held_known: held.is_some() && node.incomplete.is_none(),
            held_incomplete: node.incomplete.clone(),
            plugins: plugins.filter(PluginChange::is_one).collect(),
            resources: resources(old, new),
            held_elsewhere: elsewhere.collect(),
            units,
        }
    }

    /// Whether anything changes.
    pub(crate) fn changes(&self) -> bool {
        !self.plugins.is_empty() || !self.resources.is_empty() || !self.units.is_empty()
    }

    /// Whether a device that is held would go, or a plugin fail that does not now.
    pub(super) fn costs(&self) -> bool {
        self.units.iter().any(|unit| unit.lost) || self.plugins.iter().any(|plugin| plugin.is_worse)
    }
}

impl OfferedPlugin {
    fn lists(&self, resource: &str, id: &str) -> bool {
        self.listed.contains_key(&(resource.to_owned(), id.to_owned()))
    }
}

impl PluginChange {
    fn of(name: &str, old: Option<&OfferedPlugin>, new: Option<&OfferedPlugin>) -> Self {
        let none = BTreeSet::new();
        let grants = |plugin: Option<&OfferedPlugin>| plugin.map_or(none.clone(), |plugin| plugin.grants.clone());
        let (had, has) = (grants(old), grants(new));
        let component = |plugin: Option<&OfferedPlugin>| plugin.and_then(|plugin| plugin.component.clone());
        let components = [component(old), component(new)];
        let was_absent = |what: &str| old.is_some_and(|plugin| plugin.absent.contains_key(what));
        let absent = new.into_iter().flat_map(|plugin| &plugin.absent);
        let rejected = absent.filter(|(what, _)| !was_absent(what)).map(|(what, why)| format!("{what}: {why}"));
        let why = new.and_then(|plugin| plugin.why.clone());
        let keys = old.zip(new).map(|(old, new)| new.policy.differing_keys(&old.policy));
        Self {
            plugin: name.to_owned(),
            before: old.map_or("absent", |plugin| plugin.outcome),
            after: new.map_or("absent", |plugin| plugin.outcome),
            is_worse: why.is_some() && old.is_none_or(|plugin| plugin.why.is_none()),
            keys: keys.unwrap_or_default(),
            why,
            component: (components[0] != components[1]).then_some(components),
            revoked: had.difference(&has).cloned().collect(),
            granted: has.difference(&had).cloned().collect(),
            rejected: rejected.collect(),
        }
    }

    /// Whether there is something in it.
    fn is_one(&self) -> bool {
        let touches = [&self.revoked, &self.granted, &self.rejected].into_iter().any(|lines| !lines.is_empty());
        self.before != self.after || self.why.is_some() || self.component.is_some() || touches || !self.keys.is_empty()
    }
}

/// Why a container that has a unit would lose it, as a reload judges: by what the unit's own plugin lists, whatever others claim.
fn loss(key: &(String, String), old: &Offered, new: &Offered) -> Option<&'static str> {
    let (name, before) = old.plugins.iter().find(|(_, plugin)| plugin.listed.contains_key(key))?;
    let Some(after) = new.plugins.get(name) else { return Some("its plugin is not in the policy any more") };
    let renumbered = before.replicas != after.replicas && (before.replicas == 1 || after.replicas < before.replicas);
    match after.listed.get(key) {
        None => Some("its plugin does not list it any more"),
        Some(hardware) if Some(hardware) != before.listed.get(key) => Some("it is other hardware"),
        Some(_) if renumbered => Some("it has another id (replicas)"),
        Some(_) => None,
    }
}

fn resources(old: &Offered, new: &Offered) -> Vec<ResourceChange> {
    let (before, after) = (devices(old), devices(new));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).copied().collect();
    let change = |name: &str| {
        let of = |side: &BTreeMap<&str, Devices>| side.get(name).copied().unwrap_or_default();
        ResourceChange { resource: name.to_owned(), before: of(&before), after: of(&after) }
    };
    names.into_iter().map(change).filter(|change| change.before != change.after).collect()
}

/// By resource.
fn devices(offered: &Offered) -> BTreeMap<&str, Devices> {
    let mut counts: BTreeMap<&str, Devices> = BTreeMap::new();
    for unit in offered.units.values() {
        let count = counts.entry(&unit.resource).or_default();
        count.devices += unit.devices;
        count.healthy += if unit.unhealthy.is_none() { unit.devices } else { 0 };
    }
    counts
}

/// A unit is known by its id; one that goes while another comes of the same hardware has another id.
fn units(old: &Offered, new: &Offered) -> Vec<UnitChange> {
    let mut coming: BTreeMap<_, _> = new.units.iter().filter(|(id, _)| !old.units.contains_key(*id)).collect();
    let mut changes = Vec::new();
    for (id, unit) in &old.units {
        match new.units.get(id) {
            Some(now) => changes.extend(differences(id, unit, now)),
            None => {
                let is_twin = |(_, other): &(&&String, &&OfferedUnit)| {
                    other.hardware == unit.hardware && !unit.hardware.is_empty()
                };
                let twin = coming.iter().find(is_twin).map(|(id, other)| (*id, named(id, &other.resource)));
                changes.push(match &twin {
                    Some((_, now)) => {
                        let (was, now) = (vec![named(id, &unit.resource)], vec![now.clone()]);
                        UnitChange::of(Kind::Renumbered, id, &unit.resource, was, now)
                    }
                    None => UnitChange::of(Kind::Goes, id, &unit.resource, Vec::new(), Vec::new()),
                });
                if let Some((twin, _)) = twin {
                    coming.remove(twin);
                }
            }
        }
    }
    for (id, unit) in coming {
        changes.push(UnitChange::of(Kind::Comes, id, &unit.resource, Vec::new(), unit.gives.iter().cloned().collect()));
    }
    changes.sort_by(|a, b| (a.change, &a.resource, &a.id).cmp(&(b.change, &b.resource, &b.id)));
    changes
}

fn named(id: &str, resource: &str) -> String {
    format!("{resource} {}", escape(id, 80))
}

/// All that changes of a unit that stays.
fn differences(id: &str, old: &OfferedUnit, new: &OfferedUnit) -> Vec<UnitChange> {
    let mut changes = Vec::new();
    let mut add = |kind, before: Vec<String>, after: Vec<String>| {
        if before != after {
            changes.push(UnitChange::of(kind, id, &old.resource, before, after));
        }
    };
    let without = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    let health = |unit: &OfferedUnit| vec![unit.unhealthy.clone().unwrap_or_else(|| "healthy".to_owned())];
    let times = |unit: &OfferedUnit| vec![format!("offered {} times", unit.devices)];
    add(Kind::Renamed, vec![old.resource.clone()], vec![new.resource.clone()]);
    add(Kind::OtherPlugin, vec![format!("plugin {}", old.plugin)], vec![format!("plugin {}", new.plugin)]);
    let (was, is) = (&old.hardware, &new.hardware);
    add(Kind::OtherHardware, without(was, is), without(is, was));
    add(Kind::Regranted, without(&old.gives, &new.gives), without(&new.gives, &old.gives));
    add(Kind::Health, health(old), health(new));
    add(Kind::Replicas, times(old), times(new));
    changes
}

impl UnitChange {
    fn of(change: Kind, id: &str, resource: &str, before: Vec<String>, after: Vec<String>) -> Self {
        let (resource, id) = (resource.to_owned(), id.to_owned());
        Self { change, resource, id, before, after, held_by: None, lost: false }
    }

    fn is_of(&self, (resource, id): &(String, String)) -> bool {
        (&self.resource, &self.id) == (resource, id)
    }
}

impl Kind {
    /// Whether what had its name and id is not offered by it any more.
    pub(super) const fn ends(self) -> bool {
        matches!(self, Self::Goes | Self::Renumbered | Self::Renamed | Self::OtherHardware)
    }
}

#[cfg(test)]
mod tests;
