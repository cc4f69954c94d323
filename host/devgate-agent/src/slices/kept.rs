//! Which fields of a slice the API server did not keep: those behind a gate that is off are dropped without a word.

use devgate_agent_protocol::{COUNTERS, SHARES, TAINTS};
use k8s_openapi::api::resource::v1::{Device, ResourceSliceSpec};

/// Names of fields that were sent and did not come back as they were; times of taints apart.
pub(crate) fn missing(sent: &ResourceSliceSpec, came: &ResourceSliceSpec) -> Vec<&'static str> {
    let mut missing = Vec::new();
    let none = Vec::new();
    let are_other_sets = sent.shared_counters != came.shared_counters;
    let (sent, came) = (sent.devices.as_ref().unwrap_or(&none), came.devices.as_ref().unwrap_or(&none));
    let same = sent.len() == came.len() && sent.iter().zip(came).all(|(sent, came)| sent.name == came.name);
    if !same {
        return vec!["devices"];
    }
    let pairs = || sent.iter().zip(came);
    let mut look = |name, differs: fn(&Device, &Device) -> bool| {
        if pairs().any(|(sent, came)| differs(sent, came)) {
            missing.push(name);
        }
    };
    look("attributes", |sent, came| sent.attributes != came.attributes);
    look("capacity", |sent, came| amounts(sent).ne(amounts(came)));
    look(TAINTS, |sent, came| taints(sent).ne(taints(came)));
    look(SHARES, |sent, came| sent.allow_multiple_allocations != came.allow_multiple_allocations);
    if are_other_sets || pairs().any(|(sent, came)| sent.consumes_counters != came.consumes_counters) {
        missing.push(COUNTERS);
    }
    missing
}

/// Names of fields that were sent and came back, where these did not.
pub(crate) fn kept(sent: &ResourceSliceSpec, missing: &[&'static str]) -> Vec<&'static str> {
    let mut kept = Vec::new();
    let is_lost = |name| missing.contains(&name) || missing.contains(&"devices");
    let mut look = |name, has: fn(&Device) -> bool| {
        if !is_lost(name) && sent.devices.iter().flatten().any(has) {
            kept.push(name);
        }
    };
    look("devices", |_| true);
    look("attributes", |sent| sent.attributes.as_ref().is_some_and(|all| !all.is_empty()));
    look("capacity", |sent| sent.capacity.as_ref().is_some_and(|all| !all.is_empty()));
    look(TAINTS, |sent| sent.taints.as_ref().is_some_and(|all| !all.is_empty()));
    look(SHARES, |sent| sent.allow_multiple_allocations.is_some());
    look(COUNTERS, |sent| sent.consumes_counters.is_some());
    kept
}

fn amounts(device: &Device) -> impl Iterator<Item = (&str, &str)> {
    device.capacity.iter().flatten().map(|(name, of)| (name.as_str(), of.value.0.as_str()))
}

fn taints(device: &Device) -> impl Iterator<Item = (&str, &str, Option<&str>)> {
    let taints = device.taints.iter().flatten();
    taints.map(|taint| (taint.key.as_str(), taint.effect.as_str(), taint.value.as_deref()))
}
