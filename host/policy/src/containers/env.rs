//! Environment variables.

use super::RuleEntry;
use super::entries::{is_one_resources, names};
use crate::fields::Item;
use crate::resources::ResourceGrant;
use devgate_types::escape;

/// The most environment variables of one plugin.
const MAX_VARIABLES: usize = 64;

pub(crate) fn read(env: &Item<'_>, resources: &[ResourceGrant]) -> Vec<RuleEntry> {
    let entries = env.map(MAX_VARIABLES).into_iter();
    entries.filter_map(|entry| one(&entry, resources)).collect()
}

fn one(entry: &Item<'_>, resources: &[ResourceGrant]) -> Option<RuleEntry> {
    let names = names(entry.key, resources);
    if !names.iter().all(|name| is_env_name(name)) {
        let shown = escape(entry.key, 80);
        let hint = "letters, digits and \"_\", not a digit first; {RESOURCE} stands for the resource's name";
        entry.error_at_key(format!("\"{shown}\" is not the name of an environment variable; {hint}"));
        return None;
    }
    if !is_one_resources(entry, resources) {
        return None;
    }
    let read = RuleEntry::read(entry)?;
    if names.iter().any(|name| is_loader_key(name)) && read.rule.is_free() {
        let hint = "write the value out, or a list of values";
        entry.error(format!("decides which code a container runs, so the component must not choose it; {hint}"));
        return None;
    }
    Some(read)
}

fn is_env_name(name: &str) -> bool {
    let ok = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=512).contains(&name.len()) && name.bytes().all(ok) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Variables with which the dynamic loader, the C library or a shell takes its code from elsewhere (ld.so(8), glibc's
/// `unsecvars.h`, bash(1)).
fn is_loader_key(name: &str) -> bool {
    name.starts_with("LD_") || matches!(name, "PATH" | "GCONV_PATH" | "LOCPATH" | "BASH_ENV" | "ENV")
}
