//! Mounts: files and directories of the node that a container may see.

use crate::dangerous::{dangerous_if_writable, dangerous_mount};
use crate::error::Problem;
use crate::fields::Item;
use crate::path::{self, beneath};
use crate::yaml::At;
use crate::{Origin, key};
use devgate_types::escape;
use indexmap::IndexMap;
use std::sync::Arc;

/// The most mounts of one plugin.
const MAX_MOUNTS: usize = 64;
/// The longest path, in bytes.
const MAX_PATH: usize = 1_024;

/// What a container has by itself: a mount in its place, or over all of it, hides it.
const OWN: &str = "bin boot dev dev/console dev/fd dev/mqueue dev/null dev/pts dev/ptmx dev/shm dev/termination-log etc \
    etc/hostname etc/hosts etc/resolv.conf home proc root run sbin sys sys/fs sys/fs/cgroup tmp usr usr/bin usr/local \
    usr/local/bin usr/local/lib usr/local/sbin usr/sbin usr/share var var/lib var/run var/tmp";
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

pub(crate) fn read(mounts: &Item<'_>, plugin: &str, dangerous: &[&str]) -> IndexMap<String, Arc<MountGrant>> {
    let entries = mounts.map(MAX_MOUNTS).into_iter();
    let read = entries.filter_map(|entry| one(&entry, plugin, dangerous));
    read.map(|mount| (mount.name.clone(), Arc::new(mount))).collect()
}

fn one(entry: &Item<'_>, plugin: &str, dangerous: &[&str]) -> Option<MountGrant> {
    let name = name(entry);
    let place = format!("mount \"{}\" of {plugin}", escape(entry.key, 80));
    let fields = entry.open(&place, &key::MOUNT)?;
    let source = fields.need("source");
    let target = fields.need("target");
    let (writable, unchecked) = (fields.flag("writable"), fields.flag("unchecked"));
    let source = source.and_then(|item| {
        let path = plain(&item)?;
        let danger = dangerous_mount(path).or_else(|| dangerous_if_writable(path).filter(|_| writable));
        if let Some(why) = danger.and_then(|danger| danger.refused(dangerous)) {
            item.error(Problem::which(path, why));
        }
        Some(path)
    });
    let target = target.and_then(|item| {
        let path = plain(&item)?;
        if let Some(problem) = problem_of_target(path) {
            item.error(Problem::which(path, problem));
        }
        Some(path)
    });
    Some(MountGrant {
        name: name?.to_owned(),
        source: source?.to_owned(),
        target: target?.to_owned(),
        writable,
        unchecked,
        origin: entry.report.origin(entry.key_at),
        at: entry.key_at,
    })
}

fn name<'a>(entry: &Item<'a>) -> Option<&'a str> {
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if (1..=63).contains(&entry.key.len()) && entry.key.bytes().all(ok) {
        return Some(entry.key);
    }
    let shown = escape(entry.key, 80);
    entry.error_at_key(format!(
        "the name of a mount must be 1 to 63 letters, digits, \"-\", \"_\" or \".\", not \"{shown}\""
    ));
    None
}

fn plain<'a>(item: &Item<'a>) -> Option<&'a str> {
    item.parse(|text| match path::problem(text) {
        _ if text.len() > MAX_PATH => Err(Problem(format!("must have at most {MAX_PATH} bytes"))),
        // The root is a plain path; what may be done with it is another question.
        Some(problem) if text != "/" => Err(Problem::which(text, problem)),
        _ => Ok(text),
    })
}

fn problem_of_target(target: &str) -> Option<&'static str> {
    if CLOSED.iter().any(|closed| beneath(target, closed)) {
        return Some("is where no container gets a mount from a plugin");
    }
    let rest = target.trim_start_matches('/');
    let library = |name: &str| name.starts_with("lib") && !name.contains('/');
    let own = rest.is_empty()
        || OWN.split(' ').any(|own| own == rest)
        || library(rest)
        || rest.strip_prefix("usr/").is_some_and(library)
        || CLOSED.iter().any(|closed| beneath(closed, target));
    own.then_some("every container has by itself; a path beneath it may be a target")
}
