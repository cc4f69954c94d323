//! Confines itself as a child of the host does, and then tries what the tests tell it to.
//!
//! `try_calls PARENT UNTIL call NUMBER ARGUMENT...` makes one raw system call; `try_calls PARENT UNTIL WORK` does a piece of ordinary
//! work. `UNTIL` is how far it confines itself: `begin`, `files`, `loading`, `running`, `compiling` (without `loading` before), `pulling` or `agent`; or
//! `host:DIRECTORY`, as a host that may write and execute there, and make sockets in `DIRECTORY.sockets`.
//! `try_calls PARENT answered-ERRNO become PROGRAM ARGUMENT...` becomes another program, with a filter that answers so for Landlock.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::panic, reason = "a program of the tests")]

use devgate_confine::{
    Filter, HostFiles, Limits, Network, begin, drop_capabilities, drop_files, fence_host, forbid, hide,
};
use std::env::args;
use std::ffi::c_long;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread;

#[path = "try_calls/contain.rs"]
mod contain;
#[path = "try_calls/work.rs"]
mod work;

const LIMITS: Limits =
    Limits { address_space: 4 << 30, data: 4 << 30, file_size: 0, cpu_seconds: Some(60), open_files: 16, nice: 1 };

fn main() {
    let args: Vec<String> = args().collect();
    let [_, parent, until, what, rest @ ..] = &args[..] else { panic!("PARENT UNTIL WHAT") };
    if what == "become" {
        contain::answer(until);
        let [program, args @ ..] = rest else { panic!("a program") };
        panic!("{}", std::process::Command::new(program).args(args).exec());
    }
    let limits = Limits {
        // A host has no such limit.
        file_size: if until.starts_with("host:") { 1 << 20 } else { LIMITS.file_size },
        ..LIMITS
    };
    begin(parent.parse().expect("a number"), c"try-calls", &limits).unwrap_or_else(|error| panic!("{error}"));
    let work = work::prepare(what, rest);
    if until == "begin" {
        return work();
    }
    if let Some(directory) = until.strip_prefix("host:") {
        return as_host(directory.into(), work);
    }
    contain::answer(until);
    if until != "filters" {
        let network = match until == "pulling" {
            true => Network::Kept,
            false => Network::Refused,
        };
        println!("{:?}", drop_files(network).unwrap_or_else(|error| panic!("{error}")));
    }
    if until == "files" || until.contains("answered") {
        return work();
    }
    let on_thread = what == "thread" || what.ends_with("-on-thread");
    let other = (on_thread && until != "loading").then(lane);
    if !["compiling", "pulling", "agent"].contains(&until.as_str()) {
        forbid(Filter::Loading).unwrap_or_else(|error| panic!("{error}"));
    }
    let other = other.or_else(|| on_thread.then(lane));
    if until == "pulling" {
        forbid(Filter::Pulling).unwrap_or_else(|error| panic!("{error}"));
    } else if until == "agent" {
        forbid(Filter::Agent).unwrap_or_else(|error| panic!("{error}"));
    } else if until != "loading" {
        forbid(Filter::Running).unwrap_or_else(|error| panic!("{error}"));
    }
    match other {
        None => work(),
        Some((send, lane)) => {
            send.send(work).expect("the thread waits");
            lane.join().expect("the thread ends");
        }
    }
}

/// What the host does, where it is given this directory alone.
fn as_host(directory: PathBuf, work: Work) {
    let fenced = |error| panic!("{error}");
    hide().unwrap_or_else(fenced);
    drop_capabilities().unwrap_or_else(fenced);
    let files = HostFiles {
        directories: vec![directory.clone()],
        sockets: vec![directory.with_extension("sockets")],
        files: vec!["/dev/null".into()],
        programs: vec![directory, "/lib".into(), "/lib64".into(), "/usr/lib".into()],
    };
    println!("{:?}", fence_host(&files).unwrap_or_else(|error| panic!("{error}")));
    forbid(Filter::Host).unwrap_or_else(fenced);
    work();
}

type Work = Box<dyn FnOnce() + Send>;

/// A thread that does what it is sent.
fn lane() -> (Sender<Work>, thread::JoinHandle<()>) {
    let (send, receive) = channel::<Work>();
    let (here, is_here) = channel();
    let lane = thread::Builder::new().name("lane".to_owned());
    let lane = lane.spawn(move || {
        here.send(()).expect("the main thread waits");
        receive.recv().expect("work comes")();
    });
    let lane = lane.expect("a thread");
    is_here.recv().expect("it comes");
    (send, lane)
}

/// One system call with arguments from the command line.
#[expect(unsafe_code, reason = "the calls that the filters forbid have no safe form")]
fn call(number: c_long, arguments: [c_long; 6]) -> c_long {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: not safe for the process, which is made for it: it does nothing else, and the filters under test end it.
    unsafe { libc::syscall(number, a, b, c, d, e, f) }
}

/// A system call by the numbers of 32 bits.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "there is no safe form")]
fn call_32() {
    // SAFETY: getpid of 32 bits; the kernel changes no register but the one for its answer.
    unsafe { core::arch::asm!("int 0x80", inout("eax") 20 => _) }
}
