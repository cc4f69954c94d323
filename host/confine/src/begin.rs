//! What a child does first, right after it was started.

use crate::{Error, Limits};
use rustix::process::{
    DumpableBehavior, Pid, Signal, getppid, nice, set_dumpable_behavior, set_parent_process_death_signal,
};
use rustix::thread::{set_name, set_no_new_privs};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::CStr;
use std::fs;

/// Whether the kernel ends all processes of the container together where memory is short, as kubelets from 1.28 on have it.
const KILLED_TOGETHER: &str = "/sys/fs/cgroup/memory.oom.group";

/// Before the child reads a byte from others: it ends with `parent`, gains no right, no process looks into it, and it is the first to go
/// where memory or the processor is short. Fails where the parent has ended, or the kernel was not let do what is asked of it.
pub fn begin(parent: u32, name: &CStr, limits: &Limits) -> Result<(), Error> {
    // The only files it opens; non-dumpable, its files in /proc are root's, and with no descriptor left it could not.
    offer_to_the_kernel();
    end_with(parent)?;
    // As the admin sees it in `top` and in the kernel's log.
    let _ = set_name(name);
    set_no_new_privs(true).map_err(Error::forbidden("prctl(PR_SET_NO_NEW_PRIVS)"))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Error::forbidden("prctl(PR_SET_DUMPABLE)"))?;
    // Where a filter forbids it the child competes with its parent, and no more.
    let _ = nice(limits.nice);
    // Where clocks are in memory is found at the first look, with calls that are forbidden later; the standard library knows it from its
    // start, other libraries ask rustix.
    let _ = clock_gettime(ClockId::Monotonic);
    limits.apply()
}

/// Has the kernel end this child before others where memory is short. In a cgroup that is killed as a whole it would draw its parent
/// along, and where a filter forbids it the child competes with its parent.
fn offer_to_the_kernel() {
    if !fs::read_to_string(KILLED_TOGETHER).is_ok_and(|is| is.trim() == "1") {
        let _ = fs::write("/proc/self/oom_score_adj", "1000");
    }
}

/// Has the kernel kill this child when its parent ends, also where it ended before the kernel was asked.
fn end_with(parent: u32) -> Result<(), Error> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(Error::forbidden("prctl(PR_SET_PDEATHSIG)"))?;
    let is = getppid().map(Pid::as_raw_nonzero);
    match is.is_some_and(|pid| u32::try_from(pid.get()) == Ok(parent)) {
        true => Ok(()),
        false => Err(Error::Unable(format!(
            "parent {parent}: has ended before its child was confined; nothing is to be done, the next host starts \
             its own"
        ))),
    }
}
