//! Runs the example, which confines itself; a test never does.

#![allow(dead_code, reason = "each test file uses some")]

use std::env;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio, id};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) const SIGABRT: i32 = 6;
pub(crate) const SIGSEGV: i32 = 11;
pub(crate) const SIGSYS: i32 = 31;

/// How a process ended, and what it had said.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) signal: Option<i32>,
    pub(crate) code: Option<i32>,
    /// It had not ended by itself.
    pub(crate) waits: bool,
    pub(crate) said: String,
    pub(crate) complained: String,
}

impl End {
    pub(crate) fn by_filter(&self) -> bool {
        self.signal == Some(SIGSYS)
    }
}

pub(crate) fn run(until: &str, what: &[&str]) -> End {
    run_for(&id().to_string(), until, what)
}

pub(crate) fn run_for(parent: &str, until: &str, what: &[&str]) -> End {
    let mut command = Command::new(example());
    command.env_clear().arg(parent).arg(until).args(what);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("cargo has built the example");
    let began = Instant::now();
    let mut waits = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > Duration::from_secs(if what[0] == "call" { 5 } else { 60 }) {
            waits = true;
            child.kill().unwrap();
        }
        sleep(Duration::from_millis(1));
    };
    let (mut said, mut complained) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut complained).unwrap();
    End { signal: status.signal().filter(|_| !waits), code: status.code(), waits, said, complained }
}

/// `target/.../deps/this-test` stands beside `target/.../examples`. Who names a test by `--test` names `--examples` too, or runs an old one.
fn example() -> PathBuf {
    let this = env::current_exe().unwrap();
    this.parent().unwrap().parent().unwrap().join("examples/try_calls")
}
