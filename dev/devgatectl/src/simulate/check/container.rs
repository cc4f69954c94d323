//! What a container was started with, and whether it is what is expected.

use super::{Mismatch, ids, matches};
use crate::simulate::scenario::{MountExpect, NodeExpect, PodExpect};
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
    let Some(started) = started else {
        wrong.push(Mismatch {
            what: format!("pod {}", expected.name),
            expected: "a container that was started".to_owned(),
            found: "none; start one with \"pod\"".to_owned(),
        });
        return;
    };
    let name = format!("pod {}", expected.name);
    for (resource, amount) in &expected.devices {
        let held = started.devices.get(resource).cloned().unwrap_or_default();
        if !amount.holds(&held) {
            wrong.push(Mismatch {
                what: format!("{name} {resource}"),
                expected: amount.to_string(),
                found: ids(&held),
            });
        }
    }
    let options = &started.options;
    if let Some(nodes) = &expected.nodes {
        check_nodes(&name, nodes, options, wrong);
    }
    if let Some(mounts) = &expected.mounts {
        check_mounts(&name, mounts, options, wrong);
    }
    check_values(&format!("{name} env"), &expected.env, &options.envs, wrong);
    check_values(
        &format!("{name} annotation"),
        &expected.annotations,
        &options.annotations,
        wrong,
    );
    if let Some(cdi) = &expected.cdi
        && !super::covers(cdi, &options.cdi_devices)
    {
        wrong.push(Mismatch {
            what: format!("{name} cdi"),
            expected: list(cdi),
            found: list(&options.cdi_devices),
        });
    }
}

fn check_nodes(name: &str, expected: &[NodeExpect], options: &RunOptions, wrong: &mut Vec<Mismatch>) {
    let fits = |node: &NodeExpect, path: &str| {
        let Some(device) = options.devices.get(path) else {
            return false;
        };
        matches(&node.path, path)
            && node.host.as_ref().is_none_or(|host| matches(host, &device.host_path))
            && node
                .permissions
                .as_ref()
                .is_none_or(|permissions| *permissions == device.permissions)
    };
    let counted = |node: &NodeExpect| {
        let count = options.devices.keys().filter(|path| fits(node, path)).count();
        node.count.map_or(count > 0, |wanted| count == wanted)
    };
    let known = |path: &String| expected.iter().any(|node| fits(node, path));
    if expected.iter().all(counted) && options.devices.keys().all(known) {
        return;
    }
    let said = expected.iter().map(|node| {
        let mut text = node.path.clone();
        text.extend(node.permissions.iter().map(|permissions| format!(" {permissions}")));
        text.extend(node.host.iter().map(|host| format!(" from {host}")));
        text.extend(node.count.iter().map(|count| format!(" ({count} times)")));
        text
    });
    let there = options.devices.iter().map(|(path, device)| {
        let from = if device.host_path == *path {
            String::new()
        } else {
            format!(" from {}", device.host_path)
        };
        format!("{path} {}{from}", device.permissions)
    });
    wrong.push(Mismatch {
        what: format!("{name} nodes"),
        expected: list(said),
        found: list(there),
    });
}

fn check_mounts(name: &str, expected: &[MountExpect], options: &RunOptions, wrong: &mut Vec<Mismatch>) {
    let fits = |mount: &MountExpect, path: &str| {
        let Some(there) = options.mounts.get(path) else {
            return false;
        };
        matches(&mount.path, path)
            && mount.host.as_ref().is_none_or(|host| matches(host, &there.host_path))
            && mount.read_only.is_none_or(|read_only| read_only == there.read_only)
    };
    let there = |mount: &MountExpect| options.mounts.keys().any(|path| fits(mount, path));
    let known = |path: &String| expected.iter().any(|mount| fits(mount, path));
    if expected.iter().all(there) && options.mounts.keys().all(known) {
        return;
    }
    let mode = |read_only: bool| if read_only { " read-only" } else { " read-write" };
    let said = expected.iter().map(|mount| {
        let mut text = mount.path.clone();
        text.extend(mount.read_only.map(mode));
        text.extend(mount.host.iter().map(|host| format!(" from {host}")));
        text
    });
    let mounts = options.mounts.iter();
    let there = mounts.map(|(path, mount)| format!("{path}{} from {}", mode(mount.read_only), mount.host_path));
    wrong.push(Mismatch {
        what: format!("{name} mounts"),
        expected: list(said),
        found: list(there),
    });
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
            (None, None) => true,
            (Some(pattern), Some(value)) => matches(pattern, value),
            _ => false,
        };
        let text = |value: Option<&String>| value.map_or("nothing".to_owned(), |value| format!("\"{value}\""));
        if !holds {
            wrong.push(Mismatch {
                what: format!("{what} {key}"),
                expected: text(pattern.as_ref()),
                found: text(found),
            });
        }
    }
}

fn list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.as_ref().to_owned()).collect();
    if items.is_empty() {
        "none".to_owned()
    } else {
        items.join(", ")
    }
}
