//! Which units a query has to do with: those may change with its answer, all others may not.

use super::Harness;
use crate::fault_injector::Script;
use crate::query::{Kind, Query};
use devgate_core::workbench::{ListedUnit, Workbench};
use devgate_node::DevicePath;
use devgate_types::UnitId;
use std::collections::{BTreeSet, HashMap};

/// The most units of a pool whose health is asked for alone.
const MAX_ALONE: usize = 256;

#[derive(Default)]
pub(super) struct Relations(HashMap<UnitId, Related>);

/// What a unit has to do with, beyond what it is made of.
#[derive(Default)]
struct Related {
    /// Its id, the names of its devices, and what its properties say: a part of a device often names that.
    words: BTreeSet<String>,
    /// Devices, by location, and paths that its health is judged by, and not that of every unit.
    judged_by: BTreeSet<String>,
}

impl Relations {
    pub(super) fn of(harness: &Harness, bench: &Workbench) -> Self {
        let mut relations: HashMap<UnitId, Related> = HashMap::new();
        let mut judges: HashMap<String, usize> = HashMap::new();
        for pool in &harness.listed.pools {
            for unit in pool.units.iter().take(MAX_ALONE) {
                let (_, seen) = harness.injector.under(Script::default(), || {
                    let _verdict = bench.health(&pool.asked, std::slice::from_ref(unit));
                });
                let related = relations.entry(unit.id.clone()).or_default();
                related.judged_by = seen.asked.iter().map(|asked| asked.query.place().to_owned()).collect();
                for place in &related.judged_by {
                    *judges.entry(place.clone()).or_default() += 1;
                }
                let separates = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, ':' | '.' | '_' | '-');
                let values = unit.properties.iter().flat_map(|(_, value)| value.split(separates));
                let values = values.filter(|word| word.len() > 2).map(str::to_owned);
                let names = devices(unit).map(|device| device.name().to_owned());
                related.words = values.chain(names).chain([unit.id.to_string()]).collect();
            }
        }
        // What every verdict is made of says nothing about one of them: a component may look at the whole node for each.
        let all = relations.len();
        for related in relations.values_mut() {
            let of_some = |place: &String| judges.get(place).is_none_or(|units| *units < all);
            related.judged_by.retain(of_some);
        }
        Self(relations)
    }
}

impl Harness {
    /// Whether a query may have to do with a unit: it is about a device that the unit is made of, about one above or beneath it
    /// or that its properties name, about a path that names it, or decides about its health.
    pub(in crate::conform) fn is_related(&self, query: &Query, unit: &ListedUnit) -> bool {
        let related = self.relations.0.get(&unit.id);
        let named = |name: &str| related.is_some_and(|related| related.words.contains(name));
        if related.is_some_and(|related| related.judged_by.contains(query.place())) {
            return true;
        }
        if query.location.is_empty() {
            let is_node = unit.nodes.iter().any(|node| node.node.path == query.path);
            return is_node || query.path.split('/').any(named);
        }
        let is_above = |above: &str, beneath: &str| {
            let rest = beneath.strip_prefix(above);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let of = |device: &DevicePath| {
            is_above(&query.location, device.location()) || is_above(device.location(), &query.location)
        };
        devices(unit).any(of) || named(query.device())
    }

    /// Whether a query has to do with some units, and not with others.
    pub(super) fn is_related_to_some(&self, query: &Query) -> bool {
        let related = self.units().filter(|(_, unit)| self.is_related(query, unit)).count();
        related > 0 && related < self.units().count()
    }

    /// Whether a unit may go with another one: it has to do with what that is made of.
    pub(in crate::conform) fn goes_with(&self, unit: &ListedUnit, gone: &ListedUnit) -> bool {
        let about = |device: &DevicePath| Query {
            kind: Kind::Word,
            location: device.location().to_owned(),
            path: String::new(),
        };
        unit.id == gone.id || gone.backing.iter().any(|device| self.is_related(&about(device), unit))
    }
}

/// The devices that a unit is made of, and those that its nodes belong to.
fn devices(unit: &ListedUnit) -> impl Iterator<Item = &DevicePath> {
    let owners = unit.nodes.iter().filter_map(|node| node.owner.as_ref());
    unit.backing.iter().chain(owners)
}
