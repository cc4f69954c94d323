//! What is asked for besides while code is loaded, with any C library.

use super::Argument::{OneOf, With, Without};
use super::{Line, NAMESPACES, bits, line};

const THREAD: u32 = bits(libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_THREAD);

#[rustfmt::skip] // A call is a line.
pub(super) const LINES: &[Line] = &[
    line("mmap", libc::SYS_mmap, &[], "compiled code and the images of memories, from the descriptor that holds them"),
    line("mprotect", libc::SYS_mprotect, &[], "compiled code becomes executable"),
    line("clone", libc::SYS_clone, &[With(0, THREAD), Without(0, NAMESPACES)], "a thread, and no process"),
    line("prctl", libc::SYS_prctl, &[OneOf(0, &[bits(libc::PR_SET_NAME)], 0)], "a thread's name"),
    line("prctl", libc::SYS_prctl, &[OneOf(0, &[bits(libc::PR_SET_NO_NEW_PRIVS)], 0), OneOf(1, &[1], 0)], "is set before each filter, and cannot be unset"),
    line("seccomp", libc::SYS_seccomp, &[OneOf(0, &[libc::SECCOMP_SET_MODE_FILTER], 0), OneOf(1, &[TSYNC], 0)], "the next filter, for all threads"),
    line("memfd_create", libc::SYS_memfd_create, &[], "the image of a memory, where the code came as bytes"),
    line("fcntl", libc::SYS_fcntl, &[OneOf(1, &[bits(libc::F_ADD_SEALS)], 0)], "seals that image"),
];

/// `SECCOMP_FILTER_FLAG_TSYNC`, whose type differs between C libraries.
const TSYNC: u32 = 1;
