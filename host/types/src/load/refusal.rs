//! Why a component was not loaded, in words for the admin who has to do something about it.

use crate::{Digest, GuestText, escape};
use std::fmt::Write;

/// A component that was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin {plugin}: {refusal}")]
pub struct LoadError {
    /// The plugin's name.
    pub plugin: String,
    /// Why.
    pub refusal: Refusal,
}

/// Why a component was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is larger than the policy lets a component be.
    #[error("{what}, more than {most}{}", key.map(|key| format!(" ({key})")).unwrap_or_default())]
    Limit {
        /// What is too large, and how large it is.
        what: String,
        /// The limit.
        most: String,
        /// The policy's key for it, or nothing where it is fixed.
        key: Option<&'static str>,
    },
    /// It is not the file that the policy pins.
    #[error(
        "component's sha256 is {}, the policy pins {}: update the pin if this file is meant, else do not trust it",
        Digest(*found).hex(),
        Digest(*pinned).hex()
    )]
    Digest {
        /// What the policy says.
        pinned: [u8; 32],
        /// What the file has.
        found: [u8; 32],
    },
    /// It is another kind of file.
    #[error("component {0}")]
    Kind(&'static str),
    /// It is damaged, or uses a feature of WebAssembly that is off.
    #[error("component is not valid: {0}")]
    Invalid(GuestText),
    /// It asks for what it is not granted; all of it.
    #[error("component asks for what it does not get:{}", table(.0))]
    Imports(Vec<RefusedImport>),
    /// It does not export what a component must, or in another version.
    #[error("component {0}")]
    Export(String),
    /// A function of an interface is missing on this host or has another type.
    #[error("component does not fit this host: {0}")]
    Mismatch(GuestText),
    /// What was compiled cannot be run here.
    #[error("host fault: machine code cannot be run: {0}")]
    Code(String),
    /// The host failed; the component is not to blame.
    #[error("host fault: {0}")]
    Host(String),
}

/// One import that a component does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedImport {
    /// The import's name, such as `devgate:plugin/hardware@0.1.0`.
    pub name: GuestText,
    /// Completes a sentence that starts with the name: what would grant it, or why nothing would.
    pub reason: String,
}

/// At most this many imports are listed.
const LISTED: usize = 40;

fn table(refused: &[RefusedImport]) -> String {
    let width = refused.iter().map(|import| import.name.as_str().chars().count()).max().unwrap_or(0).min(60);
    let mut text = String::new();
    for import in refused.iter().take(LISTED) {
        let _ = write!(text, "\n  {:width$}  {}", escape(import.name.as_str(), GuestText::MAX_CHARS), import.reason);
    }
    if let Some(more @ 1..) = refused.len().checked_sub(LISTED) {
        let _ = write!(text, "\n  and {more} more");
    }
    text
}
