//! What a component imports and exports, against what it may have, before anything is compiled.

use super::refusal::{Refusal, RefusedImport};
use super::scan::Scan;
use crate::component::Profile;
use crate::{Grant, GuestText};

/// The contract that this host serves.
pub const CONTRACT: &str = "0.1.0";

/// Interfaces of the contract that every component has.
const ALWAYS: [&str; 4] = ["types", "config", "log", "clock"];
/// Interfaces of the contract that the policy grants and this version serves.
const SERVED: [&str; 7] = ["hardware", "host-paths", "files", "kernel-log", "control", "state", "uevents"];

/// Interfaces of WASI 0.2 that are served with nothing behind them, so that components of any language start.
pub const WASI: [&str; 15] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
];

/// Interfaces of WASI 0.2 that the policy grants, and the package that it grants them by.
pub const GRANTED_WASI: [(&str, &str); 5] = [
    ("wasi:clocks/monotonic-clock", "wasi:clocks"),
    ("wasi:clocks/wall-clock", "wasi:clocks"),
    ("wasi:random/insecure", "wasi:random"),
    ("wasi:random/insecure-seed", "wasi:random"),
    ("wasi:random/random", "wasi:random"),
];

/// An interface's name, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface<'a> {
    /// `namespace:package`.
    pub package: &'a str,
    /// The interface's own name.
    pub name: &'a str,
    /// What stands behind the `@`, or nothing.
    pub version: &'a str,
}

impl<'a> Interface<'a> {
    /// Of `namespace:package/name@version`; nothing for a plain name.
    #[must_use]
    pub fn parse(name: &'a str) -> Option<Self> {
        let (package, rest) = name.split_once('/')?;
        let (name, version) = rest.split_once('@').unwrap_or((rest, ""));
        Some(Self { package, name, version })
    }

    /// Whether it is one of the contract's that not every component has.
    pub(super) fn is_granted(&self) -> bool {
        self.is_on_our_track() && !ALWAYS.contains(&self.name)
    }

    /// Whether a host of this contract's track answers it: semantic versions before 1.0 are compatible within `0.minor`,
    /// pre-releases only with themselves.
    fn is_on_our_track(&self) -> bool {
        self.package == "devgate:plugin" && on_track(self.version, "0.1.")
    }
}

fn on_track(version: &str, track: &str) -> bool {
    let patch = version.strip_prefix(track).unwrap_or_default();
    !patch.is_empty() && patch.bytes().all(|b| b.is_ascii_digit())
}

/// What becomes of the imports of a component that is let in, each by its whole name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admitted {
    /// What it gets.
    pub served: Vec<String>,
    /// What the policy does not grant and it can do without: each function of these fails, and asks nothing of the host.
    pub not_granted: Vec<String>,
}

/// Refuses all imports at once that the component does not get and cannot do without. `grants` says whether an interface of
/// `devgate:plugin`, by its name alone (`hardware`), or a package of WASI is granted.
pub fn check_imports(scan: &Scan, grants: &dyn Fn(&str) -> Grant) -> Result<Admitted, Refusal> {
    let (mut admitted, mut refused) = (Admitted::default(), Vec::new());
    for name in &scan.imports {
        match need_in(scan, name, grants) {
            Need::Optional(_) => admitted.not_granted.push(name.clone()),
            need => match reason_to_refuse(need) {
                None => admitted.served.push(name.clone()),
                Some(reason) => refused.push(RefusedImport { name: GuestText::new(name), reason }),
            },
        }
    }
    if refused.is_empty() {
        return Ok(admitted);
    }
    Err(Refusal::Imports(refused))
}

fn reason_to_refuse(need: Need) -> Option<String> {
    match need {
        Need::Nothing | Need::Granted | Need::Optional(_) => None,
        Need::Key(key) => Some(format!("needs \"{key}:\" in the policy")),
        Need::Never(reason) => Some(reason),
    }
}

/// What a component needs to get one of its imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Nothing: every component has it.
    Nothing,
    /// Nothing more: the policy grants it.
    Granted,
    /// A key in the policy, such as `hardware`.
    Key(&'static str),
    /// Nothing: it can do without. With this key in the policy it gets it.
    Optional(&'static str),
    /// Nothing helps. Completes a sentence that starts with the import's name.
    Never(String),
}

/// What a component needs to get one of its imports.
///
/// An interface of WASI of which it has the types alone (a file's times, without any clock) gives it nothing, whatever it is.
pub(super) fn need_in(scan: &Scan, name: &str, grants: &dyn Fn(&str) -> Grant) -> Need {
    let wasi = Interface::parse(name)
        .is_some_and(|interface| interface.package.starts_with("wasi:") && on_track(interface.version, "0.2."));
    if wasi && scan.types_alone.contains(name) {
        return Need::Nothing;
    }
    match need(name, grants) {
        Need::Key(key) if scan.optional.contains(name) => Need::Optional(key),
        need => need,
    }
}

/// What a component needs to get an import, where this is granted already.
fn need(name: &str, grants: &dyn Fn(&str) -> Grant) -> Need {
    let Some(interface) = Interface::parse(name) else {
        return Need::Never(
            "is not an interface: a component imports only devgate:plugin and parts of WASI 0.2".into(),
        );
    };
    if interface.package == "devgate:plugin" {
        return need_of_ours(interface, grants);
    }
    if interface.package.starts_with("wasi:") {
        return need_of_wasi(interface, grants);
    }
    Need::Never("is not part of the contract: a component imports only devgate:plugin and parts of WASI 0.2".into())
}

fn need_of_ours(interface: Interface<'_>, grants: &dyn Fn(&str) -> Grant) -> Need {
    if !interface.is_on_our_track() {
        return Need::Never(format!(
            "is another version of the contract; this host has {CONTRACT}: build it against that"
        ));
    }
    let grant = match interface.name {
        name if ALWAYS.contains(&name) => Grant::Always,
        name if SERVED.contains(&name) => grants(name),
        _ => Grant::Unknown,
    };
    need_of(grant, || format!("is not an interface of the contract {CONTRACT}"))
}

fn need_of(grant: Grant, unknown: impl FnOnce() -> String) -> Need {
    match grant {
        Grant::Always => Need::Nothing,
        Grant::Granted => Need::Granted,
        Grant::NotGranted { key } => Need::Key(key),
        Grant::Unknown => Need::Never(unknown()),
    }
}

fn need_of_wasi(interface: Interface<'_>, grants: &dyn Fn(&str) -> Grant) -> Need {
    if !on_track(interface.version, "0.2.") {
        return Need::Never("is another version of WASI; parts of 0.2 are served".into());
    }
    let Interface { package, name, .. } = interface;
    let is = |known: &str| known.strip_prefix(package).and_then(|rest| rest.strip_prefix('/')) == Some(name);
    if WASI.iter().any(|known| is(known)) {
        return Need::Nothing;
    }
    if let Some((_, granted_by)) = GRANTED_WASI.iter().find(|(known, _)| is(known)) {
        return need_of(grants(granted_by), || "is not granted here".into());
    }
    Need::Never(match package {
        "wasi:sockets" | "wasi:http" => "is never served: a component has no network".into(),
        _ => "is not served".into(),
    })
}

/// The newest version of the contract that the component names, in its exports before its imports: tools raise those of imports to
/// the newest that any part needs.
pub(super) fn contract_of(scan: &Scan) -> Option<&str> {
    newest(&scan.exports).or_else(|| newest(&scan.imports))
}

fn newest(names: &[String]) -> Option<&str> {
    let interfaces = names.iter().filter_map(|name| Interface::parse(name));
    let ours = interfaces.filter(|interface| interface.package == "devgate:plugin");
    ours.map(|interface| interface.version).max_by_key(|version| numbers(version))
}

/// A version's numbers, as they count.
fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|number| number.parse().unwrap_or_default()).collect()
}

/// What the component is, by the names of its imports and exports. Fails with [`Refusal::Export`] where it exports no `plugin`, or that of
/// another contract.
pub fn profile(scan: &Scan) -> Result<Profile, Refusal> {
    let exports = |name: &str| {
        let mut all = scan.exports.iter().filter_map(|export| Interface::parse(export));
        all.any(|export| export.name == name && export.is_on_our_track())
    };
    if !exports("plugin") {
        let other = scan.exports.iter().find(|export| export.starts_with("devgate:plugin/plugin"));
        return Err(Refusal::Export(match other {
            Some(other) => {
                let other = GuestText::new(other);
                format!("exports {other}; this host has devgate:plugin@{CONTRACT}")
            }
            None => {
                format!("does not export devgate:plugin/plugin@{CONTRACT}; build it for the world `component` of wit/")
            }
        }));
    }
    Ok(Profile {
        preference: exports("preference"),
        lifecycle: exports("lifecycle"),
        parameters: exports("parameters"),
        conditions: exports("conditions"),
        wasi: scan.imports.iter().any(|import| import.starts_with("wasi:")),
        sha256: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(name: &str, grant: Grant) -> Option<String> {
        reason_to_refuse(need(name, &|_| grant))
    }

    #[test]
    fn versions_on_our_track_are_served_and_no_others() {
        for (name, served) in [
            ("devgate:plugin/types@0.1.0", true),
            ("devgate:plugin/types@0.1.27", true),
            ("devgate:plugin/clock@0.1.1", true),
            ("devgate:plugin/types@0.2.0", false),
            ("devgate:plugin/types@1.1.0", false),
            ("devgate:plugin/types@0.1.0-rc.1", false),
            ("devgate:plugin/types@0.1.", false),
            ("devgate:plugin/types", false),
            ("wasi:io/streams@0.2.6", true),
            ("wasi:io/streams@0.3.0", false),
            ("wasi:i/o/streams@0.2.6", false),
        ] {
            assert_eq!(reason(name, Grant::Unknown).is_none(), served, "{name}");
        }
    }

    #[test]
    fn what_the_policy_can_grant_is_served_where_it_does() {
        for name in SERVED {
            let name = format!("devgate:plugin/{name}@0.1.0");
            assert_eq!(reason(&name, Grant::Granted), None, "{name}");
            let key = Grant::NotGranted { key: "key" };
            assert!(reason(&name, key).is_some(), "{name}");
        }
    }

    #[test]
    fn clocks_and_random_numbers_are_served_where_the_policy_says_so() {
        for (name, granted_by) in GRANTED_WASI {
            let name = format!("{name}@0.2.6");
            let grants = |asked: &str| match asked == granted_by {
                true => Grant::Granted,
                false => Grant::Unknown,
            };
            assert_eq!(need(&name, &grants), Need::Granted);
            let refused = reason(&name, Grant::NotGranted { key: "wasi" });
            assert_eq!(refused.as_deref(), Some("needs \"wasi:\" in the policy"));
        }
    }

    #[test]
    fn nothing_grants_what_is_not_served() {
        for name in [
            "wasi:http/types@0.2.0",
            "wasi:sockets/tcp@0.2.0",
            "wasi:clocks/timezone@0.2.0",
            "wasi:clocks/wall-clock@0.3.0",
            "x",
            "a:b/c",
        ] {
            assert!(reason(name, Grant::Granted).is_some(), "{name}");
        }
    }
}
