//! What a file is, without a policy and without compiling any of it.

use super::error::Refusal;
use super::imports::{self, Need};
use super::scan::{Counts, Scan};
use super::{check_file, digest};
use devgate_types::component::Profile;
use devgate_types::{Grant, GuestText, Limits};

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Its SHA-256 digest.
    pub sha256: [u8; 32],
    /// What it is made of, or why it is nothing that this host could run.
    pub contents: Result<Contents, Refusal>,
}

/// What a component is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// What it imports, in its own order.
    pub imports: Vec<Import>,
    /// The names of what it exports, in its own order.
    pub exports: Vec<GuestText>,
    /// The version of the contract that it was built against, as its names say; nothing where it names none.
    pub contract: Option<GuestText>,
    /// What the host will do with it, or what is missing among its exports.
    pub profile: Result<Profile, Refusal>,
    /// How much of what it has.
    pub counts: Counts,
}

/// One import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// Its name, such as `devgate:plugin/hardware@0.1.0`.
    pub name: GuestText,
    /// What the component needs to get it.
    pub need: Need,
}

/// Looks at a file as [`super::load`] does before it compiles, but goes on where that would refuse for a lack of grants.
///
/// `most` bounds what is looked at, and so the time that it takes: what is larger is not counted any further. `grants` answers
/// as [`super::LoadRequest::grants`] does.
#[must_use]
pub fn inspect(bytes: &[u8], most: &Limits, grants: &dyn Fn(&str) -> Grant) -> Inspection {
    let scan = check_file(bytes, most, None).and_then(|()| Scan::of(bytes, most));
    Inspection {
        sha256: digest(bytes),
        contents: scan.map(|scan| contents(scan, grants)),
    }
}

fn contents(scan: Scan, grants: &dyn Fn(&str) -> Grant) -> Contents {
    let import = |name: &String| Import {
        name: GuestText::new(name),
        need: imports::need_in(&scan, name, grants),
    };
    Contents {
        imports: scan.imports.iter().map(import).collect(),
        exports: scan.exports.iter().map(|name| GuestText::new(name)).collect(),
        contract: imports::contract_of(&scan).map(GuestText::new),
        profile: imports::profile(&scan),
        counts: scan.counts,
    }
}
