//! What is wrong with a file, after the CNCF's library (`pkg/cdi/container-edits.go`, `pkg/parser/parser.go`, `specs-go/version.go`).

use super::{Edits, Hook, Spec};
use std::collections::BTreeSet;

/// The versions that there are, oldest first.
const VERSIONS: &[&str] = &["0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"];
/// What every reader that there is takes.
const LOWEST: &str = "0.3.0";
/// The moments of a container's life that a hook can have.
const HOOKS: &str = "prestart, createRuntime, createContainer, startContainer, poststart, poststop";

/// Why readers take a file for none: for people, unescaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSpec(pub(crate) String);

impl Edits {
    fn check(&self) -> Result<(), NoSpec> {
        for variable in self.env.iter().chain(self.hooks.iter().flat_map(|hook| &hook.env)) {
            let is_good = variable.split_once('=').is_some_and(|(name, _)| !name.is_empty());
            ensure(is_good, || format!("variable {variable:?} is not NAME=value"))?;
        }
        for node in &self.device_nodes {
            let path = &node.path;
            ensure(!path.is_empty(), || "a device node has no path".to_owned())?;
            let kind = node.r#type.as_deref().unwrap_or_default();
            let is_good = ["", "b", "c", "u", "p"].contains(&kind);
            ensure(is_good, || format!("node {path}: type {kind:?} is none of b, c, u, p"))?;
            let letters = node.permissions.as_deref().unwrap_or_default();
            let is_good = letters.chars().all(|letter| "rwm".contains(letter));
            ensure(is_good, || format!("node {path}: permissions {letters:?} are not of r, w, m"))?;
        }
        let (mut hosts, mut names) = (BTreeSet::new(), BTreeSet::new());
        for device in &self.net_devices {
            let (host, name) = (&device.host_interface_name, &device.name);
            let is_good = !host.is_empty() && !name.is_empty() && hosts.insert(host) && names.insert(name);
            ensure(is_good, || "net devices must each have two names of their own".to_owned())?;
        }
        for mount in &self.mounts {
            let is_good = !mount.host_path.is_empty() && !mount.container_path.is_empty();
            ensure(is_good, || "a mount has no hostPath or no containerPath".to_owned())?;
        }
        for Hook { hook_name, path, .. } in &self.hooks {
            let is_good = HOOKS.split(", ").any(|hook| hook == hook_name);
            ensure(is_good, || format!("hook {hook_name:?} is none of {HOOKS}"))?;
            ensure(!path.is_empty(), || format!("hook {hook_name} has no path"))?;
        }
        let id = self.intel_rdt.as_ref().map_or("", |rdt| rdt.clos_id.as_str());
        let is_path = id.len() >= 4096 || [".", ".."].contains(&id) || id.contains(['/', '\n']);
        ensure(!is_path || id == "/", || "intelRdt: closID is no name".to_owned())
    }

    /// The lowest version that has all of it.
    fn version(&self) -> &'static str {
        let rdt = self.intel_rdt.as_ref();
        if !self.net_devices.is_empty() || rdt.is_some_and(|rdt| rdt.schemata.is_some() || rdt.enable_monitoring) {
            "1.1.0"
        } else if rdt.is_some() || !self.additional_gids.is_empty() {
            "0.7.0"
        } else if self.device_nodes.iter().any(|node| node.host_path.is_some()) {
            "0.5.0"
        } else if self.mounts.iter().any(|mount| mount.r#type.is_some()) {
            "0.4.0"
        } else {
            LOWEST
        }
    }
}

impl Spec {
    /// The lowest version that has all of it.
    pub(crate) fn version(&self) -> &'static str {
        let edits = self.devices.iter().map(|device| &device.container_edits);
        let mut all: Vec<_> = edits.chain([&self.container_edits]).map(Edits::version).collect();
        let annotated = self.devices.iter().any(|device| !device.annotations.is_empty());
        let dotted = self.kind.split_once('/').is_some_and(|(_, class)| class.contains('.'));
        if annotated || !self.annotations.is_empty() || dotted {
            all.push("0.6.0");
        }
        let is_digit = |first: char| first.is_ascii_digit();
        if self.devices.iter().any(|device| device.name.starts_with(is_digit)) {
            all.push("0.5.0");
        }
        all.into_iter().max_by_key(|version| place(version)).unwrap_or(LOWEST)
    }

    /// Takes what the library would take.
    pub(crate) fn check(&self) -> Result<(), NoSpec> {
        let version = self.cdi_version.strip_prefix('v').unwrap_or(&self.cdi_version);
        let none = || format!("cdiVersion {:?} is none of {}", self.cdi_version, VERSIONS.join(", "));
        let has = place(version).ok_or_else(|| NoSpec(none()))?;
        problem_of_kind(&self.kind).map_or(Ok(()), |why| Err(NoSpec(why)))?;
        let needs = self.version();
        ensure(place(needs) <= Some(has), || format!("cdiVersion {version} has not all that is used, {needs} has"))?;
        ensure(!self.devices.is_empty(), || "it has no devices".to_owned())?;
        let mut names = BTreeSet::new();
        for device in &self.devices {
            let (name, edits) = (&device.name, &device.container_edits);
            ensure(is_device_name(name), || format!("device {name:?} cannot be called so"))?;
            ensure(names.insert(name), || format!("device {name} is in it twice"))?;
            ensure(!edits.is_empty(), || format!("device {name} gives nothing: its containerEdits are empty"))?;
            edits.check().map_err(|why| NoSpec(format!("device {name}: {why}")))?;
        }
        self.container_edits.check()
    }
}

fn ensure(is_good: bool, why: impl FnOnce() -> String) -> Result<(), NoSpec> {
    if is_good { Ok(()) } else { Err(NoSpec(why())) }
}

fn place(version: &str) -> Option<usize> {
    VERSIONS.iter().position(|known| *known == version)
}

/// Whether a text has letters, digits and these between, and a letter or digit at both ends.
pub(crate) fn is_name(text: &str, between: &str) -> bool {
    let is_end = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let is_inner = |c: char| c.is_ascii_alphanumeric() || between.contains(c);
    is_end(text.as_bytes().first()) && is_end(text.as_bytes().last()) && text.chars().all(is_inner)
}

/// Whether a device can be called so.
pub(crate) fn is_device_name(name: &str) -> bool {
    is_name(name, "_-.:")
}

/// Why a kind is none, if so. A vendor or class of one letter is one by the text, and ends every released library.
pub(crate) fn problem_of_kind(kind: &str) -> Option<String> {
    let Some((vendor, class)) = kind.split_once('/') else {
        return Some(format!("kind {kind:?} is not vendor/class"));
    };
    let part = |what: &str, part: &str| {
        if !is_name(part, "_-.") || part.starts_with(|first: char| first.is_ascii_digit()) {
            return Some(format!(
                "kind {kind:?}: the {what} must start with a letter, end with a letter or digit, and have only those, _, - and . between"
            ));
        }
        (part.len() == 1).then(|| format!("kind {kind:?}: a {what} of one letter ends every program that reads it"))
    };
    part("vendor", vendor).or_else(|| part("class", class))
}
