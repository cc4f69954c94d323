//! The table of system calls, from which both the filters and their description are made.

mod agent;
mod host;
mod libc_differences;
mod loading;
mod pulling;
mod running;

use crate::Filter;
use std::ffi::c_int;

/// A system call that does not end the process.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// What the kernel calls it.
    pub name: &'static str,
    /// Its number on this processor.
    pub number: i64,
    /// What each of these arguments must be.
    pub arguments: &'static [Argument],
    /// What becomes of it.
    pub answer: Answer,
    /// Why it is here.
    pub reason: &'static str,
}

/// What becomes of a call that is in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The kernel does it.
    Done,
    /// The kernel answers ENOSYS and does nothing, where a C library asks and can do without.
    Refused,
}

/// What an argument, counted from 0, must be. The lower 32 bits are looked at: the kernel takes no more of those that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// One of these, whatever the bits in the last field are.
    OneOf(u8, &'static [u32], u32),
    /// All of these bits are set.
    With(u8, u32),
    /// None of these bits is set.
    Without(u8, u32),
    /// The number of this process.
    Own(u8),
    /// Anything but the number of this process.
    Foreign(u8),
}

/// Calls that no filter sees, by name and number: kernels from 6.14 on let the code that they put at a probe of the admin's return by them,
/// and elsewhere fail them or end the process with SIGILL.
#[cfg(target_arch = "x86_64")]
pub const UNFILTERED: &[(&str, i64)] = &[("uretprobe", 335), ("uprobe", 336)];
/// Calls that no filter sees: there are none on this processor.
#[cfg(target_arch = "aarch64")]
pub const UNFILTERED: &[(&str, i64)] = &[];

/// The calls that do not end a process with this filter. A number may have several lines, of which one must fit.
pub fn lines(filter: Filter) -> impl Iterator<Item = &'static Line> {
    let all = match filter {
        Filter::Loading => [running::LINES, libc_differences::RUNNING, loading::LINES, libc_differences::LOADING],
        Filter::Running => [running::LINES, libc_differences::RUNNING, &[], &[]],
        Filter::Pulling => [running::LINES, libc_differences::RUNNING, pulling::LINES, &[]],
        Filter::Agent => [running::LINES, pulling::LINES, agent::LINES, agent::OLD],
        Filter::Host => [running::LINES, host::LINES, host::OLD, &[]],
    };
    all.into_iter().flatten()
}

const fn line(name: &'static str, number: i64, arguments: &'static [Argument], reason: &'static str) -> Line {
    Line { name, number, arguments, answer: Answer::Done, reason }
}

const fn refused(name: &'static str, number: i64, arguments: &'static [Argument], reason: &'static str) -> Line {
    Line { answer: Answer::Refused, ..line(name, number, arguments, reason) }
}

/// Namespaces of its own, and what comes of tracing, which neither a thread nor a child is started with.
const NAMESPACES: u32 = bits(
    libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_PTRACE
        | libc::CLONE_UNTRACED,
);

/// A constant of the C library as the kernel sees it.
const fn bits(of: c_int) -> u32 {
    of.cast_unsigned()
}
