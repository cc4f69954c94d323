//! What a container was started with, and whether it is what is expected.

use super::{Mismatch, ids, list, matches};
use crate::simulate::scenario::{PathExpect, PodExpect, mount_mode};
use devgate_fake_kubelet::RunOptions;
use std::collections::{BTreeMap, BTreeSet};

/// A container that was started.
#[derive(Debug, Clone)]
pub(in crate::simulate) struct Started {
    pub(in crate::simulate) pod: String,
    pub(in crate::simulate) container: String,
    /// The devices that it holds, by resource.
    pub(in crate::simulate) devices: BTreeMap<String, BTreeSet<String>>,
    pub(in crate::simulate) options: RunOptions,
}

/// What is not as expected, of the container that was started last.
pub(super) fn look(expected: &PodExpect, started: &[Started], wrong: &mut Vec<Mismatch>) {
    let mut of_pod = started.iter().filter(|started| started.pod == expected.name);
    let started = match &expected.container {
        None => of_pod.next_back(),
        Some(name) => of_pod.rfind(|started| started.container == *name),
    };
    let name = format!("pod {}", expected.name);
    let Some(started) = started else {
        let found = "none; start one with \"pod\"";
        wrong.push(Mismatch::new(name, "a container that was started", found));
        return;
    };
    for (resource, amount) in &expected.devices {
        let held = started.devices.get(resource).cloned().unwrap_or_default();
        if !amount.holds(&held) {
            let what = format!("{name} {resource}");
            wrong.push(Mismatch::new(what, amount.to_string(), ids(&held)));
        }
    }
    let options = &started.options;
    let nodes = options.devices.iter();
    let nodes = nodes.map(|(path, node)| (path.as_str(), node.host_path.as_str(), node.permissions.clone()));
    check_paths(&format!("{name} nodes"), expected.nodes.as_deref(), nodes.collect(), wrong);
    let mounts = options.mounts.iter();
    let mounts = mounts.map(|(path, mount)| (path.as_str(), mount.host_path.as_str(), mount_mode(mount.read_only)));
    check_paths(&format!("{name} mounts"), expected.mounts.as_deref(), mounts.collect(), wrong);
    check_values(&format!("{name} env"), &expected.env, &options.envs, wrong);
    let annotation = format!("{name} annotation");
    check_values(&annotation, &expected.annotations, &options.annotations, wrong);
    if let Some(cdi) = &expected.cdi
        && !super::covers(cdi, &options.cdi_devices)
    {
        let found = list(&options.cdi_devices, ", ");
        wrong.push(Mismatch::new(format!("{name} cdi"), list(cdi, ", "), found));
    }
}

/// Nodes or mounts: path, path on the host, permissions or mode.
fn check_paths(
    what: &str,
    expected: Option<&[PathExpect]>,
    there: Vec<(&str, &str, String)>,
    wrong: &mut Vec<Mismatch>,
) {
    let Some(expected) = expected else { return };
    let fits = |one: &PathExpect, (path, host, mode): &(&str, &str, String)| {
        matches(&one.path, path)
            && one.host.as_ref().is_none_or(|pattern| matches(pattern, host))
            && one.mode.as_ref().is_none_or(|wanted| wanted == mode)
    };
    let counted = |one: &PathExpect| {
        let count = there.iter().filter(|path| fits(one, path)).count();
        one.count.map_or(count > 0, |wanted| count == wanted)
    };
    let known = |path: &(&str, &str, String)| expected.iter().any(|one| fits(one, path));
    if expected.iter().all(counted) && there.iter().all(known) {
        return;
    }
    let said = expected.iter().map(|one| {
        let mut text = one.path.clone();
        text.extend(one.mode.iter().map(|mode| format!(" {mode}")));
        text.extend(one.host.iter().map(|host| format!(" from {host}")));
        text.extend(one.count.iter().map(|count| format!(" ({count} times)")));
        text
    });
    let found = there.iter().map(|(path, host, mode)| match host == path {
        true => format!("{path} {mode}"),
        false => format!("{path} {mode} from {host}"),
    });
    wrong.push(Mismatch::new(what, list(said, ", "), list(found, ", ")));
}

fn check_values(
    what: &str,
    expected: &BTreeMap<String, Option<String>>,
    there: &BTreeMap<String, String>,
    wrong: &mut Vec<Mismatch>,
) {
    for (key, pattern) in expected {
        let found = there.get(key);
        let holds = match (pattern, found) {
            (Some(pattern), Some(value)) => matches(pattern, value),
            (pattern, value) => pattern.is_none() && value.is_none(),
        };
        let text = |value: Option<&String>| value.map_or("nothing".to_owned(), |value| format!("\"{value}\""));
        if !holds {
            let what = format!("{what} {key}");
            wrong.push(Mismatch::new(what, text(pattern.as_ref()), text(found)));
        }
    }
}
