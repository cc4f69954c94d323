//! The child's side.

use super::{DONE, FAULT, NAME, WRONG};
use devgate_sandbox::Refusal;
use devgate_types::ByteSize;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, getppid, getrlimit, nice, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{set_name, set_no_new_privs};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;

/// Whether the kernel ends all processes of the container together where memory is short, as kubelets from 1.28 on have it.
const KILLED_TOGETHER: &str = "/sys/fs/cgroup/memory.oom.group";
/// Input and output are there already, and nothing else is opened.
const OPEN_FILES: u64 = 3;

/// Compiles, where this program was called to do that. `None` if it was called as what it is.
#[must_use]
pub fn called() -> Option<ExitCode> {
    let mut args = std::env::args_os();
    if args.next()? != NAME {
        return None;
    }
    let (begin, rest) = match compile(&args.collect::<Vec<_>>()) {
        Ok(Ok(code)) => (DONE, code),
        Ok(Err(Refusal::Invalid(why))) => (WRONG, why.as_str().as_bytes().to_vec()),
        Ok(Err(why)) => (FAULT, why.to_string().into_bytes()),
        Err(why) => (FAULT, why.to_string().into_bytes()),
    };
    let mut out = io::stdout().lock();
    let written = out.write_all(&[begin]).and_then(|()| out.write_all(&rest));
    Some(match written.and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

fn compile(args: &[OsString]) -> io::Result<Result<Vec<u8>, Refusal>> {
    let number = |arg: &OsString| arg.to_str().and_then(|text| text.parse::<u64>().ok());
    let numbers: Option<Vec<_>> = args.iter().map(number).collect();
    let Some([parent, initial, seconds, memory]) = numbers.as_deref() else {
        return Err(io::Error::other("is devgate's own, and not called by people"));
    };
    confine(*parent, *seconds, *memory)?;
    let mut component = Vec::new();
    io::stdin().lock().read_to_end(&mut component)?;
    Ok(devgate_sandbox::compile(&component, ByteSize(*initial)))
}

/// Before it reads a byte of a component: no right is gained, nothing is opened or written but the answer, nobody looks into it, it ends
/// with its parent, and it is the first to go where memory or the processor is short.
fn confine(parent: u64, seconds: u64, memory: u64) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let is_there = getppid()
        .map(Pid::as_raw_nonzero)
        .is_some_and(|pid| u64::try_from(pid.get()) == Ok(parent));
    if !is_there {
        return Err(io::Error::other("its parent has ended"));
    }
    // As it is seen in `top` and in the kernel's log.
    let _ = set_name(c"devgate-compile");
    set_no_new_privs(true)?;
    // Where a filter of the service or the container forbids either, it competes with its parent, and no more. In a cgroup that is
    // killed as a whole it would draw its parent along.
    if !std::fs::read_to_string(KILLED_TOGETHER).is_ok_and(|is| is.trim() == "1") {
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    }
    let _ = nice(19);
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    for (what, most) in [
        (Resource::Cpu, seconds),
        (Resource::As, memory),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nofile, OPEN_FILES),
    ] {
        // A second after it was told to end it is killed. What it was started with may be less, and cannot be raised.
        let hard = if what == Resource::Cpu {
            most.saturating_add(1)
        } else {
            most
        };
        let hard = getrlimit(what).maximum.map_or(hard, |inherited| inherited.min(hard));
        let limit = Rlimit {
            current: Some(most.min(hard)),
            maximum: Some(hard),
        };
        setrlimit(what, limit).map_err(|error| {
            io::Error::other(format!(
                "limits itself: {error}; a filter of this container or service may forbid it"
            ))
        })?;
    }
    Ok(())
}
