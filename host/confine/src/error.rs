//! What may keep a child from confining itself.

use std::io;

/// Why a child is not confined, and must not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel knows the call and yet did not do it.
    #[error("{call}: {source}: forbidden by this container's or unit's filter; allow it there")]
    Forbidden {
        /// The system call, with what it was to do.
        call: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The table does not make a filter.
    #[error("filter of system calls: {0}; report this to devgate")]
    Table(#[from] seccompiler::BackendError),
    /// It does not come to that, or the kernel cannot do it: complete text.
    #[error("{0}")]
    Unable(String),
}

/// The kernel took the ruleset and did not enforce it.
pub(crate) const NOT_ENFORCED: &str = "landlock: is there and not enforced; report this kernel to devgate";

impl Error {
    pub(crate) fn forbidden(call: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::Forbidden { call, source: errno.into() }
    }

    pub(crate) fn unable(why: &str) -> Self {
        Self::Unable(why.to_owned())
    }
}
