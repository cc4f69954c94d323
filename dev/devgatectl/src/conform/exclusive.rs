//! That no hardware is in two units.

use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Subject, named};

const UNITS: Rule = Rule {
    id: "exclusive.units",
    title: "No two units have the same hardware",
    expected: "no device, exclusive node or id is claimed by two units, unless the policy says shares-hardware",
    remedy: "the later one would never be given away: list one unit for what belongs together, or nodes that are truly apart",
};
const NODES: Rule = Rule {
    id: "exclusive.nodes",
    title: "No unit has another one's nodes",
    expected: "each exclusive node of a unit belongs to a device that the unit is made of, or to none that another unit is made of",
    remedy: "ask the unit's own device for its nodes (`device.nodes()`), and name all that it is made of in its backing",
};
pub(super) const RULES: &[&Rule] = &[&UNITS, &NODES];

pub(super) fn run(subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> Option<String> {
    if subject.policy.shares_hardware {
        return Some("the policy says shares-hardware".to_owned());
    }
    let count = baseline.units().count();
    if count == 0 {
        return None;
    }
    sheet.check(&UNITS, || {
        let contested = baseline.listed.contested.iter().map(|(id, why)| format!("{id}: {why}"));
        Outcome::of(format!("{count} units"), contested.collect())
    });
    sheet.check(&NODES, || {
        let mut failures = Vec::new();
        let mut nodes = 0;
        for (_, unit) in baseline.units() {
            for node in unit.nodes().iter().filter(|node| !node.grant.shared) {
                nodes += 1;
                let Some(owner) = &node.owner else { continue };
                let is_of = |device: &devgate_node::DevicePath| owner == device || owner.is_beneath(device);
                if unit.backing().iter().any(is_of) {
                    continue;
                }
                let whose = baseline
                    .units()
                    .find(|(_, other)| other.id() != unit.id() && other.backing().iter().any(is_of));
                failures.extend(whose.map(|(_, other)| {
                    format!(
                        "{} has node {}, which is of {}",
                        named(unit),
                        node.node.path,
                        named(other)
                    )
                }));
            }
        }
        Outcome::of(format!("{nodes} nodes of {count} units"), failures)
    });
    None
}
