//! Wholes and their parts, as schedulers count them: both are published, and never had together.

use crate::inventory::Listed;
use devgate_agent_protocol::{Counters, Takes};
use devgate_cdi::device_name;
use devgate_core::offer::Facts;
use std::collections::{BTreeMap, HashMap};

/// What there is of a whole's counter, all of which it takes itself; each part takes one. A device has no more parts.
const WHOLE: u64 = 64;
/// The most counters of a set.
const MAX_COUNTERS: usize = 32;

/// A device that is published.
pub(crate) struct Counted<'a> {
    pub(crate) device: &'a Listed,
    pub(crate) facts: &'a Facts,
    pub(crate) takes: Option<Takes>,
}

/// What each takes, and what there is. Without counters, or with more than a set has, the first in their order are published alone.
pub(crate) fn count<'a>(
    devices: impl Iterator<Item = (&'a Listed, &'a Facts)>,
    are_kept: bool,
) -> (Counters, Vec<Counted<'a>>) {
    let devices: Vec<_> = devices.collect();
    let groups = Groups::of(&devices);
    let amounts = |device: &'a Listed, facts: &'a Facts| {
        facts.wholes.iter().map(|whole| (whole.as_str(), if *whole == device.id { WHOLE } else { 1 }))
    };
    let is_counted = |facts: &'a Facts| {
        let group = facts.wholes.first().map(|whole| groups.find(whole))?;
        (are_kept && groups.sizes.get(group).is_some_and(|size| *size <= MAX_COUNTERS)).then_some(group)
    };
    let (mut counters, mut taken) = (Counters::new(), HashMap::<&str, u64>::new());
    let mut counted = Vec::with_capacity(devices.len());
    // What claims have stays published.
    for (device, facts) in devices.iter().filter(|(_, facts)| facts.is_claimed) {
        amounts(device, facts).for_each(|(whole, amount)| *taken.entry(whole).or_default() += amount);
    }
    for (device, facts) in devices {
        let takes = is_counted(facts).map(|group| {
            let set = counters.entry(device_name(group)).or_default();
            set.extend(facts.wholes.iter().map(|whole| (device_name(whole), WHOLE)));
            let amounts = amounts(device, facts).map(|(whole, amount)| (device_name(whole), amount)).collect();
            Takes { set: device_name(group), amounts }
        });
        if takes.is_none() && !facts.is_claimed {
            let is_over = |(whole, amount)| taken.get(whole).is_some_and(|taken: &u64| taken + amount > WHOLE);
            if amounts(device, facts).any(is_over) {
                continue;
            }
            amounts(device, facts).for_each(|(whole, amount)| *taken.entry(whole).or_default() += amount);
        }
        counted.push(Counted { device, facts, takes });
    }
    (counters, counted)
}

/// Wholes that parts have in common, each group with the name of one of them.
struct Groups<'a> {
    /// To another of the group; one leads to itself.
    next: BTreeMap<&'a str, &'a str>,
    sizes: HashMap<&'a str, usize>,
}

impl<'a> Groups<'a> {
    fn of(devices: &[(&'a Listed, &'a Facts)]) -> Self {
        let mut groups = Self { next: BTreeMap::new(), sizes: HashMap::new() };
        for (_, facts) in devices {
            let Some(first) = facts.wholes.first() else { continue };
            for whole in &facts.wholes {
                groups.next.entry(whole).or_insert(whole);
                let (one, two) = (groups.find(first), groups.find(whole));
                let root = one.min(two);
                // The next look at either is a short one.
                for of in [one, two, first.as_str(), whole.as_str()] {
                    groups.next.insert(of, root);
                }
            }
        }
        for whole in groups.next.keys() {
            *groups.sizes.entry(groups.find(whole)).or_default() += 1;
        }
        groups
    }

    fn find(&self, whole: &'a str) -> &'a str {
        let mut at = whole;
        while let Some(next) = self.next.get(at).filter(|next| **next != at) {
            at = next;
        }
        at
    }
}

#[cfg(test)]
mod tests;
