//! What is known of a component before it runs, and why one does not: what a look at its file finds, and what of it the policy must grant.

mod file;
mod imports;
mod inspection;
mod optional;
mod refusal;
mod scan;

pub use file::check_file;
pub use imports::{Admitted, CONTRACT, GRANTED_WASI, Interface, Need, WASI, check_imports, profile};
pub use inspection::{Contents, Import, Inspection};
pub use optional::{NOT_GRANTED, OPTIONAL_SECTION, optional};
pub use refusal::{LoadError, Refusal, RefusedImport};
pub use scan::{Counts, Scan};

use crate::{Grant, Limits};

/// What is to be loaded, and what it may have.
pub struct LoadRequest<'a> {
    /// The plugin's name, for messages.
    pub plugin: &'a str,
    /// The component's file.
    pub bytes: &'a [u8],
    /// The digest that the policy pins, if it does.
    pub sha256: Option<[u8; 32]>,
    /// What a component may be. What each of its calls may use comes with the call.
    pub limits: Limits,
    /// Whether an interface is granted: as for [`check_imports`].
    pub grants: &'a dyn Fn(&str) -> Grant,
}
