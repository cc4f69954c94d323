//! System calls, by seccomp: the first fence.

use crate::{Error, program};
use rustix::io::Errno;
use seccompiler::{Error as Refused, apply_filter_all_threads};

/// What a process may still ask of the kernel; anything else ends the whole process with SIGSYS, or fails with EPERM in the host and the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// While compiled code is loaded and threads are started: the calls of `Running`, threads, and memory that is executable.
    Loading,
    /// While code of vendors runs or is compiled: memory, waiting, clocks, and the descriptors that the process has.
    Running,
    /// While something is fetched from a registry: the calls of `Running`, and sockets of the internet that connect and never listen.
    Pulling,
    /// While the agent speaks to the API server: the calls of `Running` and `Pulling`, files that are read, threads, and the socket that it
    /// listens on by then.
    Agent,
    /// While the host serves: what it needs itself and what its children need until they have filters of their own.
    Host,
}

/// Has the kernel end this process at the first system call that is not in the [table](crate::lines), on each of its threads.
///
/// A thread that was started and does not run yet may still need calls of `Loading`: each says that it is there before `Running` is set.
///
/// A second filter only takes from what the first one left. Fails where the kernel has no filters, or was not let set one. The process is
/// not confined then and must end.
pub fn forbid(filter: Filter) -> Result<(), Error> {
    // What is answered comes first: the other may forbid setting filters.
    for program in [program::refuse(filter)?, program::end(filter)?] {
        apply_filter_all_threads(&program).map_err(name)?;
    }
    Ok(())
}

fn name(refused: Refused) -> Error {
    let no_filters = |source: &dyn std::error::Error| {
        Error::Unable(format!(
            "seccomp: {source}: this kernel was built without it; run one with CONFIG_SECCOMP_FILTER, 4.14 or later"
        ))
    };
    match refused {
        Refused::Backend(error) => Error::Table(error),
        Refused::ThreadSync(thread) => {
            Error::Unable(format!("thread {thread}: has a filter of its own; set filters for all threads only"))
        }
        Refused::Prctl(source) => Error::Forbidden { call: "prctl(PR_SET_NO_NEW_PRIVS)", source },
        Refused::Seccomp(source) => match source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOSYS | Errno::INVAL) => no_filters(&source),
            _ => Error::Forbidden { call: "seccomp(SECCOMP_SET_MODE_FILTER)", source },
        },
        // An empty program, which is never made.
        other => no_filters(&other),
    }
}
