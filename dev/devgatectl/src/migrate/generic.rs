//! The generic device plugin's devices, for the component `generic`.

mod by_id;
mod device;
mod kernel;

use super::draft::Draft;
use super::find::Found;
use super::yaml::list;
use device::Device;
pub(super) use device::{Entry, access};
pub(super) use kernel::{Kernel, of as kernel_of, single_nodes};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What resources are called before the `/` where nothing else is said.
const DOMAIN: &str = "squat.ai";
/// The most resources of one plugin of a policy.
const MAX_RESOURCES: usize = 16;

/// Takes flags or a file over.
pub(super) fn take_over(found: &Found, draft: &mut Draft) {
    let domain = found.value.get("domain").and_then(Value::as_str).unwrap_or(DOMAIN);
    let list = |key: &str| found.value.get(key).and_then(Value::as_array);
    let mut resources = Vec::new();
    for (n, theirs) in list("devices").or_else(|| list("device")).into_iter().flatten().enumerate() {
        let at = format!("{}: device[{n}]", found.at);
        match Device::deserialize(theirs) {
            Ok(device) => resources.push(device.entries(domain, &at, draft)),
            Err(why) => draft.lose(at, why),
        }
    }
    offer(&found.at, resources, draft);
}

/// Adds the plugins for resources: how often each is offered, and what is.
pub(super) fn offer(at: &str, resources: Vec<(u32, Vec<Entry>)>, draft: &mut Draft) {
    // A plugin for each number of replicas: what holds for a plugin holds for all of its resources.
    let mut plugins: BTreeMap<u32, Vec<Vec<Entry>>> = BTreeMap::new();
    for (replicas, entries) in resources.into_iter().filter(|(_, entries)| !entries.is_empty()) {
        plugins.entry(replicas).or_default().push(entries);
    }
    lose_twice(&plugins.values().flatten().flatten().collect::<Vec<_>>(), at, draft);
    for (replicas, resources) in &plugins {
        let name = if *replicas == 1 { "generic".to_owned() } else { format!("generic-x{replicas}") };
        resources.chunks(MAX_RESOURCES).for_each(|some| draft.plugin(&name, &plugin(*replicas, &some.concat())));
    }
}

/// Names what several units would have, as only one of them has it at a time here.
fn lose_twice(entries: &[&Entry], at: &str, draft: &mut Draft) {
    for (n, entry) in entries.iter().enumerate() {
        if let Some((other, what)) = entries.iter().take(n).find_map(|other| Some((other, other.meets(entry)?))) {
            let why = "is given to one of them at a time; `shared: true` where they may have it at once";
            draft.lose(format!("{at}: {what} of {} and {}", other.named(), entry.named()), why);
        }
    }
}

/// The plugin's keys.
pub(super) fn plugin(replicas: u32, entries: &[Entry]) -> String {
    let each = |of: fn(&Entry) -> Vec<String>| {
        let mut once: Vec<String> = Vec::new();
        entries.iter().flat_map(of).for_each(|one| {
            if !once.contains(&one) {
                once.push(one)
            }
        });
        once
    };
    let mut text = format!("    component: {{file: generic.wasm}}\n    resources: {}\n", list(&each(Entry::resource)));
    let hardware = each(Entry::hardware);
    text += "    hardware:\n";
    if hardware.is_empty() {
        text += "      # To look at alone: the component is loaded only where `hardware` is granted.\n      - {subsystem: misc, name: fuse}\n";
    }
    hardware.iter().for_each(|line| text += &format!("      - {line}\n"));
    if entries.iter().any(Entry::is_by_path) {
        text += &format!(
            "    # By path, as it is not known what they are to the kernel.\n    host-nodes: {{exclusive: {}}}\n",
            list(&each(Entry::paths))
        );
    }
    let dangerous = each(Entry::dangers);
    if !dangerous.is_empty() {
        text += &format!(
            "    # They reach beyond one device; docs/policy.md says how far.\n    dangerous: {}\n",
            list(&dangerous)
        );
    }
    if replicas > 1 {
        text += &format!("    replicas: {replicas}\n");
    }
    text += "    config:\n      devices:\n";
    each(Entry::config).iter().for_each(|line| text += &format!("        - {line}\n"));
    text
}

#[cfg(test)]
mod tests;
