//! What a host would offer less than the one that serves.

use crate::cli::TakeOver;
use devgate_core::{Outcome, Surveyed};
use devgate_types::escape;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What is read of the status of the host that serves, of whichever version.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Offered {
    plugins: Vec<OfferedPlugin>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OfferedPlugin {
    name: String,
    /// Why it fails, if it does.
    reason: Option<String>,
    resources: Vec<OfferedResource>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OfferedResource {
    name: String,
    replicas: usize,
    devices: Vec<OfferedDevice>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OfferedDevice {
    id: String,
    unhealthy: Option<String>,
    held: bool,
    unlisted: bool,
}

/// Why a plugin fails, if it does; in one line, for people.
pub(super) fn failure(plugin: &Surveyed) -> Option<String> {
    let why = plugin.outcome.why()?;
    let why = why.lines().map(str::trim).collect::<Vec<_>>().join(", ");
    // The others name it.
    Some(if matches!(plugin.outcome, Outcome::Blind(_)) { format!("plugin {}: {why}", plugin.name) } else { why })
}

/// Why a device that a pod has, and that is not listed, would be lost; nothing where its component may only not see it meanwhile.
fn held(now: Option<&Surveyed>, id: &str) -> Option<String> {
    let Some(plugin) = now else { return Some("which is held: its plugin is not in the policy".to_owned()) };
    if plugin.outcome == Outcome::Idle {
        return Some("which is held: nothing matches its plugin's selectors any more".to_owned());
    }
    if let Some(other) = plugin.units.iter().find(|unit| unit.record.id.as_str() == id) {
        return Some(format!("which is held, is offered as {}", other.resource));
    }
    let left = plugin.left.iter().find(|left| left.id.as_str() == id)?;
    Some(format!("which is held, is left out by {}", left.origin))
}

/// Plugins that work now and would fail, and devices that can be allocated now and could not be then, for people. What a pod has is kept by
/// what is recorded of it, whatever its component lists, but not against the policy.
pub(super) fn less(offered: &Offered, found: &[Surveyed], wanted: TakeOver) -> Vec<String> {
    let works = |plugin: &&Surveyed| {
        let mut all = offered.plugins.iter();
        all.all(|before| before.name != plugin.name.as_str() || before.reason.is_none())
    };
    let mut less: Vec<String> = found.iter().filter(works).filter_map(failure).collect();
    if wanted == TakeOver::Fewer {
        return less;
    }
    let units = found.iter().flat_map(|plugin| &plugin.units);
    let units: BTreeMap<_, _> = units.map(|unit| ((unit.resource.as_str(), unit.record.id.as_str()), unit)).collect();
    for plugin in &offered.plugins {
        let now = found.iter().find(|one| one.name.as_str() == plugin.name);
        if now.is_some_and(|now| failure(now).is_some()) {
            continue;
        }
        for resource in &plugin.resources {
            let is_offered = |device: &&OfferedDevice| device.unhealthy.is_none() && !device.unlisted;
            for device in resource.devices.iter().filter(is_offered) {
                let what = format!("{} {}", escape(&resource.name, 160), escape(&device.id, 80));
                match units.get(&(resource.name.as_str(), device.id.as_str())) {
                    None if device.held => less.extend(held(now, &device.id).map(|why| format!("{what}, {why}"))),
                    None => less.push(format!("{what} is not listed")),
                    Some(unit) if !unit.causes.is_empty() && !device.held => {
                        less.push(format!("{what}: {}", unit.causes.reason().map_or("", |reason| reason)));
                    }
                    Some(unit) if unit.devices < resource.replicas => {
                        less.push(format!("{what} has {} replicas of {}", unit.devices, resource.replicas));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    less
}
