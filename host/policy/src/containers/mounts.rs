//! Mounts: files and directories of the node that a container may see.

use crate::dangerous::{Danger, dangerous_if_writable, dangerous_mount};
use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::path::{self, beneath};
use crate::yaml::At;
use crate::{Origin, key};
use devgate_types::escape;
use indexmap::IndexMap;
use std::sync::Arc;

/// The most mounts of one plugin.
const MOST: usize = 64;
/// The longest path, in bytes.
const MOST_PATH: usize = 1_024;

/// What a container has by itself: a mount in its place, or over all of it, hides it.
const OWN: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "dev/console",
    "dev/fd",
    "dev/mqueue",
    "dev/null",
    "dev/pts",
    "dev/ptmx",
    "dev/shm",
    "dev/termination-log",
    "etc",
    "etc/hostname",
    "etc/hosts",
    "etc/resolv.conf",
    "home",
    "proc",
    "root",
    "run",
    "sbin",
    "sys",
    "sys/fs",
    "sys/fs/cgroup",
    "tmp",
    "usr",
    "usr/bin",
    "usr/local",
    "usr/local/bin",
    "usr/local/lib",
    "usr/local/sbin",
    "usr/sbin",
    "usr/share",
    "var",
    "var/lib",
    "var/run",
    "var/tmp",
];
/// What nothing may be mounted beneath either: container runtimes refuse the first, the others hold a pod's identity.
const CLOSED: &[&str] = &["/proc", "/run/secrets", "/var/run/secrets"];

/// One mount that the policy grants: an entry of `containers.mounts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountGrant {
    /// The name that the component asks for.
    pub name: String,
    /// The path on the node: absolute and plain.
    pub source: String,
    /// The path in the container: absolute and plain, no other mount's.
    pub target: String,
    /// Whether the container may write to it.
    pub writable: bool,
    /// Whether the host hands it out without looking at the source.
    pub unchecked: bool,
    /// Where it is written.
    pub origin: Origin,
    pub(crate) at: At,
}

pub(crate) fn read(
    mounts: &Item<'_>,
    plugin: &str,
    accepted: &dyn Fn(&Danger) -> bool,
    report: &mut Report,
) -> IndexMap<String, Arc<MountGrant>> {
    let entries = mounts.map(report);
    if entries.len() > MOST {
        mounts.error(report, format!("must have at most {MOST} entries"));
    }
    let mut out = IndexMap::new();
    for entry in entries.iter().take(MOST) {
        if let Some(mount) = one(entry, plugin, accepted, report) {
            out.insert(mount.name.clone(), Arc::new(mount));
        }
    }
    out
}

fn one(entry: &Item<'_>, plugin: &str, accepted: &dyn Fn(&Danger) -> bool, report: &mut Report) -> Option<MountGrant> {
    let name = name(entry, report);
    let place = format!("mount \"{}\" of {plugin}", escape(entry.key, 80));
    let fields = Fields::open(entry.node, &place, &key::MOUNT, report)?;
    let source = fields.need("source", report);
    let target = fields.need("target", report);
    let (mut writable, mut unchecked) = (false, false);
    fields.flag("writable", &mut writable, report);
    fields.flag("unchecked", &mut unchecked, report);
    let source = source.and_then(|item| {
        let path = plain(&item, report)?;
        let danger = dangerous_mount(path).or_else(|| dangerous_if_writable(path).filter(|_| writable));
        if let Some(danger) = danger.filter(|danger| !accepted(danger)) {
            let problem = format!("has \"{}\", which {}", escape(path, 80), danger.why);
            item.error_with_hint(
                report,
                problem,
                format!("add \"dangerous: [{}]\" if that is meant", danger.key),
            );
        }
        Some(path)
    });
    let target = target.and_then(|item| {
        let path = plain(&item, report)?;
        if let Some(problem) = problem_of_target(path) {
            item.error(report, format!("has \"{}\", which {problem}", escape(path, 80)));
        }
        Some(path)
    });
    Some(MountGrant {
        name: name?.to_owned(),
        source: source?.to_owned(),
        target: target?.to_owned(),
        writable,
        unchecked,
        origin: Origin::new(report, entry.key_at),
        at: entry.key_at,
    })
}

fn name<'a>(entry: &Item<'a>, report: &mut Report) -> Option<&'a str> {
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if (1..=63).contains(&entry.key.len()) && entry.key.bytes().all(ok) {
        return Some(entry.key);
    }
    let shown = escape(entry.key, 80);
    let message =
        format!("the name of a mount must be 1 to 63 letters, digits, \"-\", \"_\" or \".\", not \"{shown}\"");
    report.error(entry.key_at, message);
    None
}

fn plain<'a>(item: &Item<'a>, report: &mut Report) -> Option<&'a str> {
    let text = item.text(report)?;
    if text.len() > MOST_PATH {
        item.error(report, format!("must have at most {MOST_PATH} bytes"));
        return None;
    }
    // The root is a plain path; what may be done with it is another question.
    if text != "/"
        && let Some(problem) = path::problem(text)
    {
        item.error(report, format!("has \"{}\", which {problem}", escape(text, 80)));
        return None;
    }
    Some(text)
}

fn problem_of_target(target: &str) -> Option<&'static str> {
    if CLOSED.iter().any(|closed| beneath(target, closed)) {
        return Some("is where no container gets a mount from a plugin");
    }
    let rest = target.trim_start_matches('/');
    let library = |name: &str| name.starts_with("lib") && !name.contains('/');
    let own = rest.is_empty()
        || OWN.contains(&rest)
        || library(rest)
        || rest.strip_prefix("usr/").is_some_and(library)
        || CLOSED.iter().any(|closed| beneath(closed, target));
    own.then_some("every container has by itself; a path beneath it may be a target")
}
