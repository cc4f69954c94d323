//! What is asked for besides while the API server is spoken to for the host, with any C library: files are read and none is written, sockets
//! of the internet connect, and the one that is there already listens.

use super::Argument::{OneOf, With, Without};
use super::{Line, NAMESPACES, bits, line, refused};

const THREAD: u32 = bits(libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_THREAD);
const WRITE: u32 = bits(libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC);
const READS: &str = "the token, authorities, where names are asked for";
const FILE: &str = "how long a file is";
const RUNTIME: &str = "what the runtime waits with";
const STARTS: &str = "a thread starts: names are asked for on one of its own";

#[rustfmt::skip] // A call is a line.
pub(super) const LINES: &[Line] = &[
    line("openat", libc::SYS_openat, &[Without(2, WRITE)], READS),
    line("fstat", libc::SYS_fstat, &[], FILE),
    line("newfstatat", libc::SYS_newfstatat, &[], FILE),
    line("statx", libc::SYS_statx, &[], FILE),
    line("lseek", libc::SYS_lseek, &[], FILE),
    line("unlinkat", libc::SYS_unlinkat, &[], "its socket, at its end"),
    line("accept4", libc::SYS_accept4, &[], "the host connects"),
    line("getsockopt", libc::SYS_getsockopt, &[OneOf(1, &[bits(libc::SOL_SOCKET)], 0), OneOf(2, &[bits(libc::SO_PEERCRED)], 0)], "who connects"),
    line("geteuid", libc::SYS_geteuid, &[], "whether it is this process's user"),
    line("recvmsg", libc::SYS_recvmsg, &[], "what servers of names answer"),
    line("sendmmsg", libc::SYS_sendmmsg, &[], "what they are asked"),
    line("epoll_create1", libc::SYS_epoll_create1, &[], RUNTIME),
    line("eventfd2", libc::SYS_eventfd2, &[], RUNTIME),
    line("socketpair", libc::SYS_socketpair, &[], RUNTIME),
    line("fcntl", libc::SYS_fcntl, &[OneOf(1, &[bits(libc::F_DUPFD_CLOEXEC), bits(libc::F_SETFD)], 0)], RUNTIME),
    line("clone", libc::SYS_clone, &[With(0, THREAD), Without(0, NAMESPACES)], STARTS),
    line("mprotect", libc::SYS_mprotect, &[OneOf(2, &[bits(libc::PROT_NONE)], 0)], "the end of a thread's stack"),
    refused("clone3", libc::SYS_clone3, &[], "its flags are in memory, where a filter cannot look; clone comes instead"),
    line("rseq", libc::SYS_rseq, &[], STARTS),
    line("set_robust_list", libc::SYS_set_robust_list, &[], STARTS),
    line("sched_getaffinity", libc::SYS_sched_getaffinity, &[], STARTS),
    line("prctl", libc::SYS_prctl, &[OneOf(0, &[bits(libc::PR_SET_NAME)], 0)], "a thread's name"),
];

/// Calls that a processor of this kind has from of old.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip] // A call is a line.
pub(super) const OLD: &[Line] = &[
    line("open", libc::SYS_open, &[Without(1, WRITE)], READS),
    line("stat", libc::SYS_stat, &[], FILE),
    line("unlink", libc::SYS_unlink, &[], "its socket, at its end"),
];
/// There are none on this processor.
#[cfg(target_arch = "aarch64")]
pub(super) const OLD: &[Line] = &[];
