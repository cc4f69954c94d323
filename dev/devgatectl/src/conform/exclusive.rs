//! That no hardware is in two units.

use super::harness::{Harness, named};
use super::scorecard::{Outcome, Scorecard};
use devgate_node::DevicePath;

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    if harness.policy.shares_hardware {
        return Ok(Some("the policy says shares-hardware".to_owned()));
    }
    let count = harness.units().count();
    if count == 0 {
        return Ok(None);
    }
    let contested = harness.listed.contested.iter().map(|(id, why)| format!("{id}: {why}"));
    card.record("exclusive.units", Outcome::of(format!("{count} units"), contested));
    let (mut failures, mut nodes) = (Vec::new(), 0);
    for (_, unit) in harness.units() {
        for node in unit.nodes.iter().filter(|node| !node.grant.shared) {
            nodes += 1;
            let Some(owner) = &node.owner else { continue };
            let is_of = |device: &DevicePath| owner == device || owner.is_beneath(device);
            if unit.backing.iter().any(is_of) {
                continue;
            }
            let mut others = harness.units().filter(|(_, other)| other.id != unit.id);
            let whose = others.find(|(_, other)| other.backing.iter().any(is_of));
            failures.extend(whose.map(|(_, other)| {
                let path = &node.node.path;
                format!("{} has node {path}, which is of {}", named(unit), named(other))
            }));
        }
    }
    card.record("exclusive.nodes", Outcome::of(format!("{nodes} nodes of {count} units"), failures));
    Ok(None)
}
