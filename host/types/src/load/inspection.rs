//! What a file is, as people are shown it.

use super::imports::{self, Need};
use super::refusal::Refusal;
use super::scan::{Counts, Scan};
use crate::component::Profile;
use crate::{Grant, GuestText};

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

impl Contents {
    /// What a look at the file found. `grants` as for [`super::check_imports`].
    #[must_use]
    pub fn new(scan: Scan, grants: &dyn Fn(&str) -> Grant) -> Self {
        let import = |name: &String| Import { name: GuestText::new(name), need: imports::need_in(&scan, name, grants) };
        Self {
            imports: scan.imports.iter().map(import).collect(),
            exports: scan.exports.iter().map(|name| GuestText::new(name)).collect(),
            contract: imports::contract_of(&scan).map(GuestText::new),
            profile: imports::profile(&scan),
            counts: scan.counts,
        }
    }
}
