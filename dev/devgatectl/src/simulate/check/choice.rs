//! Which devices a plugin prefers.

use super::{Mismatch, ids};
use crate::simulate::scenario::Choice;
use devgate_fake_kubelet::StandIn;
use std::collections::BTreeSet;

/// Asks the plugin, as the kubelet does before it admits a pod.
pub(super) async fn check(expected: &Choice, kubelet: &StandIn, wrong: &mut Vec<Mismatch>) {
    let Choice { resource, size, prefers, .. } = expected;
    let available: BTreeSet<String> = match &expected.available {
        Some(ids) => ids.iter().cloned().collect(),
        None => {
            let held = kubelet.allocated(resource);
            let devices = kubelet.devices(resource).into_iter();
            let free = devices.filter(|(id, (healthy, _))| *healthy && !held.contains(id));
            free.map(|(id, _)| id).collect()
        }
    };
    let must_include = expected.must_include.iter().cloned().collect();
    let found = match kubelet.preferred(resource, &available, &must_include, *size).await {
        Ok(Some(chosen)) => {
            let chosen: BTreeSet<String> = chosen.into_iter().collect();
            if prefers.holds(&chosen) {
                return;
            }
            ids(&chosen)
        }
        Ok(None) => "no preference: the plugin has none".to_owned(),
        Err(error) => error,
    };
    let what = format!("{resource} choice of {size}");
    wrong.push(Mismatch::new(what, prefers.to_string(), found));
}
