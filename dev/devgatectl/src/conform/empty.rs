//! A node without the hardware: that of most machines of a fleet, and of every machine once its driver is unloaded.

use super::harness::{Call, Called, Harness, broke, listed_units, named, unplug};
use super::scorecard::{Outcome, Scorecard};
use crate::fault_injector::Script;
use devgate_fake_node::{Change, RecordedNode};
use devgate_node::Node;
use devgate_policy::Use;

/// A kernel without any bus or class is none.
const EMPTY: &str = "P: /devices/virtual/mem/null\nN: null\nE: SUBSYSTEM=mem\nE: DEVNAME=/dev/null\nE: MAJOR=1\nE: MINOR=3\nA: dev=1:3\\n\n";

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    card.check("empty.node", || {
        let node = RecordedNode::parse("empty", EMPTY)?;
        let failures = still_listed(harness, &node, |_| true)?;
        Ok(Outcome::of("enumerate on an empty node", failures))
    })?;
    let node = harness.node.copy();
    let removed = remove_all(harness, &node);
    if removed == 0 {
        return Ok(None);
    }
    card.check("empty.unplugged", || {
        let failures = still_listed(harness, &node, |id| {
            let unit = harness.units().find(|(_, unit)| unit.id.as_str() == id);
            unit.is_none_or(|(_, unit)| !unit.backing.is_empty())
        })?;
        Ok(Outcome::of(format!("{removed} devices taken away"), failures))
    })?;
    let calls = calls_of_gone(harness)?;
    let failures = calls.iter().filter_map(|(call, called)| Some(format!("{call} {}", broke(called)?)));
    if !calls.is_empty() {
        let tried = format!("{} calls about units that are gone", calls.len());
        card.record("empty.after", Outcome::of(tried, failures));
    }
    Ok(None)
}

/// All calls about units, where everything has been taken away.
pub(super) fn calls_of_gone(harness: &Harness) -> anyhow::Result<Vec<(Call, Called)>> {
    let node = harness.node.copy();
    let removed = remove_all(harness, &node);
    let bench = harness.bench_on(&node)?;
    let calls = harness.calls.iter().skip(1).filter(|_| removed > 0);
    let calls = calls.map(|(call, ..)| (*call, harness.call(&bench, *call, Script::default()).0));
    Ok(calls.collect())
}

/// Takes away every device that a selector matches, and every node of a unit that is made of none; how many there were.
fn remove_all(harness: &Harness, node: &RecordedNode) -> usize {
    let grants = devgate_core::Grants::new(node.node().clone(), harness.policy.clone());
    let mut removed = 0;
    for found in grants.matches().unwrap_or_default() {
        let gone = node.apply(Change::RemoveDevice(found.device.location().to_owned()));
        removed += usize::from(gone.is_ok() && found.usage == Use::Offer);
    }
    let units = harness.units().filter(|(_, unit)| unit.backing.is_empty());
    removed + units.filter(|(_, unit)| unplug(node, unit)).count()
}

/// The units that should not be listed on a node, by their ids.
fn still_listed(harness: &Harness, node: &Node, unwanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<String>> {
    Ok(match harness.bench_on(node)?.enumerate() {
        Err(error) => vec![format!("enumerate {error}")],
        Ok(listed) => {
            let units = listed_units(&listed).filter(|unit| unwanted(unit.id.as_str()));
            units.map(|unit| format!("enumerate lists {}", named(unit))).collect()
        }
    })
}
