//! Which resources have fewer devices by a reload. That is no reason to refuse it, as hardware may be meant to go; but a mistake
//! in a selector looks the same, so it is said.

use devgate_policy::Policy;
use devgate_types::{PluginName, ResourceName};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How many devices there are of each resource, replicas not counted.
pub(super) type Counts = BTreeMap<ResourceName, usize>;

/// A resource that has fewer devices than before. Shown as one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fewer {
    /// Its name.
    pub resource: String,
    /// How many devices it had before, replicas not counted, from any plugin.
    pub before: usize,
    /// How many it has now.
    pub now: usize,
    /// Where to look, with the name of the plugin that had them.
    pub look: String,
}

impl fmt::Display for Fewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (devices, now) = match (self.before, self.now) {
            (1, 0) => ("device", "none".to_owned()),
            (_, 0) => ("devices", "none".to_owned()),
            (_, n) => ("devices", n.to_string()),
        };
        let Self { resource, before, look, .. } = self;
        write!(f, "resource {resource}: {before} {devices} before, {now} now ({look})")
    }
}

/// What the plugins that a reload touches had, and what they will have.
#[derive(Debug, Default)]
pub(super) struct Tally {
    before: BTreeMap<ResourceName, (PluginName, usize)>,
    after: Counts,
}

impl Tally {
    /// A plugin has these now.
    pub(super) fn before(&mut self, plugin: &PluginName, counts: Counts) {
        for (resource, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            let had = self.before.entry(resource);
            had.or_insert_with(|| (plugin.clone(), 0)).1 += count;
        }
    }

    /// A plugin will have these. One resource's devices may move from one plugin to another.
    pub(super) fn after(&mut self, counts: Counts) {
        for (resource, count) in counts {
            *self.after.entry(resource).or_default() += count;
        }
    }

    /// What there will be less of, under a policy in which the `idle` plugins have nothing to do here.
    pub(super) fn fewer(self, policy: &Policy, idle: &BTreeSet<PluginName>) -> Vec<Fewer> {
        let Self { before, after } = self;
        let fewer = before.into_iter().filter_map(|(resource, (plugin, before))| {
            let now = after.get(&resource).copied().unwrap_or_default();
            (now < before).then(|| Fewer {
                look: look(policy, idle, &plugin, &resource),
                resource: resource.to_string(),
                before,
                now,
            })
        });
        fewer.collect()
    }
}

fn look(policy: &Policy, idle: &BTreeSet<PluginName>, plugin: &PluginName, resource: &ResourceName) -> String {
    match policy.plugins.get(plugin) {
        None => format!("plugin {plugin} is not in the policy any more"),
        Some(now) if !now.grants_resource(resource) => {
            format!("plugin {plugin} does not name it in `resources` any more")
        }
        Some(_) if idle.contains(plugin) => {
            format!("check the selectors of plugin {plugin}: none of them matches a device of this node")
        }
        Some(_) => format!(
            "check the selectors, the filters and the config of plugin {plugin}; `devgate explain` says what becomes of a device"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{POLICY, parse};

    fn resource(name: &str) -> ResourceName {
        ResourceName::try_new(name).unwrap()
    }

    fn counts(of: &[(&str, usize)]) -> Counts {
        of.iter().map(|(name, count)| (resource(name), *count)).collect()
    }

    fn plugin(name: &str) -> PluginName {
        PluginName::try_new(name).unwrap()
    }

    fn lines(tally: Tally, idle: &[&str]) -> String {
        let idle = idle.iter().map(|name| plugin(name)).collect();
        let fewer = tally.fewer(&parse(POLICY), &idle);
        fewer.iter().map(|fewer| format!("{fewer}\n")).collect()
    }

    #[test]
    fn each_way_to_lose_devices_says_where_to_look() {
        let mut tally = Tally::default();
        tally.before(&plugin("gpus"), counts(&[("fake.com/gpu", 8), ("fake.com/gone", 1)]));
        tally.before(&plugin("other"), counts(&[("example.com/nic", 2)]));
        insta::assert_snapshot!(lines(tally, &["gpus"]), @r"
        resource example.com/nic: 2 devices before, none now (plugin other is not in the policy any more)
        resource fake.com/gone: 1 device before, none now (plugin gpus does not name it in `resources` any more)
        resource fake.com/gpu: 8 devices before, none now (check the selectors of plugin gpus: none of them matches a device of this node)
        ");
        let mut tally = Tally::default();
        tally.before(&plugin("gpus"), counts(&[("fake.com/gpu", 8)]));
        tally.after(counts(&[("fake.com/gpu", 6)]));
        insta::assert_snapshot!(lines(tally, &[]), @r"
        resource fake.com/gpu: 8 devices before, 6 now (check the selectors, the filters and the config of plugin gpus; `devgate explain` says what becomes of a device)
        ");
    }

    #[test]
    fn what_moves_grows_or_was_empty_is_not_lost() {
        let mut tally = Tally::default();
        tally.before(&plugin("gpus"), counts(&[("fake.com/gpu", 8), ("fake.com/empty", 0)]));
        tally.before(&plugin("old"), counts(&[("example.com/nic", 2)]));
        tally.after(counts(&[("fake.com/gpu", 9)]));
        tally.after(counts(&[("example.com/nic", 2)]));
        assert_eq!(lines(tally, &[]), "");
    }
}
