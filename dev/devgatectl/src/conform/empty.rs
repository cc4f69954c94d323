//! A node without the hardware: that of most machines of a fleet, and of every machine once its driver is unloaded.

use super::meddler::Script;
use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Call, Given, Subject, unplug};
use devgate_fake_node::{Change, RecordedNode};
use devgate_node::Node;
use devgate_policy::Use;

const REMEDY: &str = "what is not there is no failure: `if_present()` turns not-found into nothing, and an empty list is an answer. \
An error means that nothing can be said, and lets the last list stand";
const NODE: Rule = Rule {
    id: "empty.node",
    title: "A node with nothing in it",
    expected: "enumerate answers, with no units",
    remedy: REMEDY,
};
const UNPLUGGED: Rule = Rule {
    id: "empty.unplugged",
    title: "Every granted device is taken away",
    expected: "enumerate answers, with no unit that was made of one of them; files and other devices are still there",
    remedy: REMEDY,
};
const AFTER: Rule = Rule {
    id: "empty.after",
    title: "All units are gone when they are asked about",
    expected: "health gives a verdict on each of them, and allocate gives an answer or an error",
    remedy: "a handle may be to something that is gone: `gone` and `not-found` are answers, not surprises",
};
pub(super) const RULES: &[&Rule] = &[&NODE, &UNPLUGGED, &AFTER];

pub(super) fn run(subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> anyhow::Result<()> {
    if sheet.wants(&NODE) {
        // A kernel without any bus or class is none.
        let node = RecordedNode::parse(
            "empty",
            "P: /devices/virtual/mem/null\nN: null\nE: SUBSYSTEM=mem\nE: DEVNAME=/dev/null\nE: MAJOR=1\nE: MINOR=3\nA: dev=1:3\\n\n",
        )?;
        let failures = listed(subject, &node, |_| true)?;
        sheet.check(&NODE, || Outcome::of("enumerate on an empty node", failures));
    }
    if !sheet.wants(&UNPLUGGED) && !sheet.wants(&AFTER) {
        return Ok(());
    }
    let node = subject.copy();
    let removed = remove_all(subject, baseline, &node);
    if removed == 0 {
        return Ok(());
    }
    let failures = listed(subject, &node, |id| {
        let unit = baseline.units().find(|(_, unit)| unit.id().as_str() == id);
        unit.is_none_or(|(_, unit)| !unit.backing().is_empty())
    })?;
    sheet.check(&UNPLUGGED, || {
        Outcome::of(format!("{removed} devices taken away"), failures)
    });
    if baseline.units().next().is_some() {
        let bench = subject.bench_on(&node)?;
        let calls = baseline
            .calls
            .iter()
            .map(|(call, ..)| call)
            .filter(|call| **call != Call::Enumerate);
        let failures = calls.filter_map(|call| {
            let (result, _) = subject.call(&bench, &baseline.listed.pools, call, Script::default());
            super::subject::broke(&result).map(|how| format!("{call} {how}"))
        });
        let failures = failures.collect();
        sheet.check(&AFTER, || {
            Outcome::of(
                format!("{} calls about units that are gone", baseline.calls.len() - 1),
                failures,
            )
        });
    }
    Ok(())
}

/// Takes away every device that a selector matches, and every node of a unit that is made of none; how many there were.
fn remove_all(subject: &Subject, baseline: &Baseline, node: &RecordedNode) -> usize {
    let grants = devgate_core::Grants::new(node.node().clone(), subject.policy.clone());
    let mut removed = 0;
    for found in grants.matches().unwrap_or_default() {
        let gone = node.apply(Change::RemoveDevice(found.device.location().to_owned()));
        removed += usize::from(gone.is_ok() && found.usage == Use::Offer);
    }
    for (_, unit) in baseline.units().filter(|(_, unit)| unit.backing().is_empty()) {
        removed += usize::from(unplug(node, unit));
    }
    removed
}

/// What is wrong with what is listed on a node on which there should be no unit like `unwanted`.
fn listed(subject: &Subject, node: &Node, unwanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<String>> {
    let bench = subject.bench_on(node)?;
    let (result, _) = subject.call(&bench, &[], &Call::Enumerate, Script::default());
    Ok(match result {
        Err(error) => vec![format!("enumerate {error}")],
        Ok(Given::Listed(listed)) => {
            let units = listed.pools.iter().flat_map(|pool| &pool.units);
            let units = units.filter(|unit| unwanted(unit.id().as_str()));
            units
                .map(|unit| format!("enumerate lists {}", super::subject::named(unit)))
                .collect()
        }
        Ok(_) => Vec::new(),
    })
}
