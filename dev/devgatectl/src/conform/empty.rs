//! A node without the hardware: that of most machines of a fleet, and of every machine once its driver is unloaded.

use super::fault_injector::Script;
use super::harness::{Call, Function, Given, Harness, broke, listed_units, named, unplug};
use super::scorecard::{Outcome, Scorecard};
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
    if harness.units().next().is_some() {
        card.check("empty.after", || {
            let bench = harness.bench_on(&node)?;
            let failures = harness.calls.iter().skip(1).filter_map(|(call, ..)| {
                let (called, _) = harness.call(&bench, *call, Script::default());
                broke(&called).map(|how| format!("{call} {how}"))
            });
            let tried = format!("{} calls about units that are gone", harness.calls.len() - 1);
            Ok(Outcome::of(tried, failures))
        })?;
    }
    Ok(None)
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
    let enumerate = Call::of(Function::Enumerate, 0, 0);
    let (called, _) = harness.call(&harness.bench_on(node)?, enumerate, Script::default());
    Ok(match called {
        Err(error) => vec![format!("enumerate {error}")],
        Ok(Given::Listed(listed)) => {
            let units = listed_units(&listed).filter(|unit| unwanted(unit.id.as_str()));
            units.map(|unit| format!("enumerate lists {}", named(unit))).collect()
        }
        Ok(_) => Vec::new(),
    })
}
