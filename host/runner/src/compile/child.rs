//! The child's side.

use super::{DONE, NAME, WRONG};
use devgate_types::ByteSize;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, getppid, nice, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::set_no_new_privs;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;

/// Input and output are there already, and nothing else is opened.
const OPEN_FILES: u64 = 3;

/// Compiles, where this program was called to do that. `None` if it was called as what it is.
#[must_use]
pub fn called() -> Option<ExitCode> {
    let mut args = std::env::args_os();
    if args.next()? != NAME {
        return None;
    }
    Some(match compile(&args.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{NAME}: {error}");
            ExitCode::FAILURE
        }
    })
}

fn compile(args: &[OsString]) -> io::Result<()> {
    let number = |arg: &OsString| arg.to_str().and_then(|text| text.parse::<u64>().ok());
    let numbers: Option<Vec<_>> = args.iter().map(number).collect();
    let Some([parent, initial, seconds, memory]) = numbers.as_deref() else {
        return Err(io::Error::other("is devgate's own, and not called by people"));
    };
    confine(*parent, *seconds, *memory)?;
    let mut component = Vec::new();
    io::stdin().lock().read_to_end(&mut component)?;
    let mut out = io::stdout().lock();
    match devgate_sandbox::compile(&component, ByteSize(*initial)) {
        Ok(code) => {
            out.write_all(&[DONE])?;
            out.write_all(&code)?;
        }
        Err(why) => {
            out.write_all(&[WRONG])?;
            out.write_all(why.to_string().as_bytes())?;
        }
    }
    out.flush()
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
    set_no_new_privs(true)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Where a filter of the service or the container forbids either, it competes with its parent, and no more.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let _ = nice(19);
    for (what, most) in [
        (Resource::Cpu, seconds),
        (Resource::As, memory),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nofile, OPEN_FILES),
    ] {
        // A second after it was told to end it is killed.
        let hard = if what == Resource::Cpu {
            most.saturating_add(1)
        } else {
            most
        };
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(hard),
        };
        setrlimit(what, limit)?;
    }
    Ok(())
}
