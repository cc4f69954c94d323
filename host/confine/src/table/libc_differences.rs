//! What one C library asks for and another does not: the shipped programs have musl, a build for a test may have glibc.

use super::Line;

#[cfg(target_env = "musl")]
mod musl {
    use super::Line;
    use crate::table::Argument::{Foreign, Own};
    use crate::table::{line, refused};

    #[rustfmt::skip] // A call is a line.
    pub(in crate::table) const RUNNING: &[Line] = &[
        line("tkill", libc::SYS_tkill, &[Own(0)], "abort, on the main thread, is SIGABRT and not SIGSYS"),
        refused("tkill", libc::SYS_tkill, &[Foreign(0)], "abort, on other threads, then ends the process with SIGSEGV"),
    ];
    pub(in crate::table) const LOADING: &[Line] = &[];
}

#[cfg(not(target_env = "musl"))]
mod glibc {
    use super::Line;
    use crate::table::{line, refused};

    #[rustfmt::skip] // A call is a line.
    pub(in crate::table) const RUNNING: &[Line] = &[
        refused("openat", libc::SYS_openat, &[], "free() of a thread looks once for /proc/sys/vm/overcommit_memory"),
    ];
    #[rustfmt::skip] // A call is a line.
    pub(in crate::table) const LOADING: &[Line] = &[
        refused("clone3", libc::SYS_clone3, &[], "its flags are in memory, where a filter cannot look; clone comes instead"),
        line("rseq", libc::SYS_rseq, &[], "a thread starts"),
        line("set_robust_list", libc::SYS_set_robust_list, &[], "a thread starts"),
        line("sched_getaffinity", libc::SYS_sched_getaffinity, &[], "a thread starts, and asks where its stack is"),
    ];
}

#[cfg(not(target_env = "musl"))]
pub(super) use glibc::{LOADING, RUNNING};
#[cfg(target_env = "musl")]
pub(super) use musl::{LOADING, RUNNING};
