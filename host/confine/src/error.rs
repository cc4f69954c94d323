//! What may keep a child from confining itself.

use std::io;

/// Why a child is not confined, and must not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The host that started this child has ended.
    #[error(
        "parent {parent}: has ended before its child was confined; nothing is to be done, the next host starts its own"
    )]
    Orphaned {
        /// The process that started this child.
        parent: u32,
    },
    /// The kernel knows the call and yet did not do it.
    #[error("{call}: {source}: forbidden by this container's or unit's filter; allow it there")]
    Forbidden {
        /// The system call, with what it was to do.
        call: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The child has as many descriptors as it may have, and Landlock needs one while it is set up.
    #[error(
        "landlock_create_ruleset: no descriptor is left for the ruleset: a caller left files open to devgate, which a kernel before 5.11 hands on; close them first (in a shell: 3>&-)"
    )]
    NoDescriptor,
    /// The kernel took the ruleset and did not enforce it.
    #[error("landlock: is there and not enforced; report this kernel to devgate")]
    NotEnforced,
    /// The kernel has no filters of system calls for all threads of a process.
    #[error("seccomp: {source}: this kernel was built without it; run one with CONFIG_SECCOMP_FILTER, 4.14 or later")]
    NoFilters {
        /// What the kernel answered.
        source: io::Error,
    },
    /// A thread has a filter that the thread that called does not have.
    #[error("thread {thread}: has a filter of its own; set filters for all threads only")]
    Thread {
        /// The number that the kernel gave the thread.
        thread: i64,
    },
    /// The table does not make a filter.
    #[error("filter of system calls: {0}; report this to devgate")]
    Table(#[from] seccompiler::BackendError),
}

impl Error {
    pub(crate) fn forbidden(call: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::Forbidden { call, source: errno.into() }
    }
}
