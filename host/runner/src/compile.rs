//! Compiling in a child: this program itself, called `devgate-compile`, with a limit of processor time and one of memory that grow with
//! the component. What makes a compiler run or grow without end costs that child, and is refused by the limit's name, once.

mod allowance;
mod child;

pub use child::called;

use crate::kept::Kept;
use allowance::{Allowance, Budget};
use devgate_sandbox::{Compiler, Refusal, Source};
use devgate_types::{GuestText, Mutex};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What this program is called as a child, as its first argument.
const NAME: &str = "devgate-compile";
/// This program, also where its file is another one by now.
const PROGRAM: &str = "/proc/self/exe";
/// What begins the answer of a child: that it has compiled, what is wrong with the component, or what is wrong with the child.
const DONE: u8 = 0;
const WRONG: u8 = 1;
const FAULT: u8 = 2;
/// The exit status of a program of Rust that has panicked.
const PANICKED: i32 = 101;
/// How long a child that has said all may take to end.
const LAST: Duration = Duration::from_secs(5);
/// So many refusals are remembered.
const REMEMBERED: usize = 256;

/// Compiles components in children, and keeps what comes of it.
#[derive(Debug, Default)]
pub struct ChildCompiler {
    /// Where; nothing is kept without.
    kept: Option<Kept>,
    /// What is wrong with components that could not be compiled, by their digests: they are not tried again.
    refused: Mutex<BTreeMap<[u8; 32], Refusal>>,
    budget: Budget,
}

impl ChildCompiler {
    /// One that keeps what it makes there.
    #[must_use]
    pub fn keeping(kept: Option<Kept>) -> Self {
        Self {
            kept,
            ..Self::default()
        }
    }

    fn compile_anew(&self, source: &Source<'_>) -> Result<Vec<u8>, Refusal> {
        if let Some(refusal) = self.refused.lock().get(&source.sha256) {
            return Err(refusal.clone());
        }
        let allowance = self.budget.allow(u64::try_from(source.bytes.len()).unwrap_or(u64::MAX));
        let compiled = {
            let _share = self.budget.wait(allowance.memory);
            in_child(source, allowance)
        };
        compiled.inspect_err(|refusal| {
            // What the host is to blame for may be over the next time.
            if !matches!(refusal, Refusal::Host(_)) {
                let mut refused = self.refused.lock();
                if refused.len() >= REMEMBERED {
                    refused.clear();
                }
                refused.insert(source.sha256, refusal.clone());
            }
        })
    }
}

#[expect(unsafe_code, reason = "what is returned is run in this process")]
// SAFETY: the code is what `devgate_sandbox::compile` of this very program made of these bytes in a child that nothing else can
// write to or look into, or what such a child made before and a directory has kept that nobody but this user can write in, whole as
// it was written (its digest), under the digest of the component and the key of this version's engine.
unsafe impl Compiler for ChildCompiler {
    fn compile(&self, source: &Source<'_>, anew: bool) -> Result<Vec<u8>, Refusal> {
        let Some(kept) = &self.kept else {
            return self.compile_anew(source);
        };
        if !anew && let Some(code) = kept.read(&source.sha256, source.key) {
            return Ok(code);
        }
        let code = self.compile_anew(source)?;
        if let Err(error) = kept.write(&source.sha256, source.key, &code) {
            tracing::warn!(
                family = "host",
                "machine code of a component could not be kept, and is made again at the next start: {error}"
            );
        }
        Ok(code)
    }
}

fn in_child(source: &Source<'_>, allowance: Allowance) -> Result<Vec<u8>, Refusal> {
    let host = |error: io::Error| Refusal::Host(format!("cannot start a compiler ({PROGRAM}): {error}"));
    let mut child = command(source, allowance)
        .and_then(|mut command| command.spawn())
        .map_err(host)?;
    let answer = match child.stdout.take() {
        Some(stdout) => read(stdout, Instant::now() + allowance.patience(), allowance.code()),
        None => Err(io::Error::other("it has no output")),
    };
    if answer.is_err() {
        let _ = child.kill();
    }
    let status = end(&mut child).map_err(host)?;
    judge(answer, status, allowance)
}

fn command(source: &Source<'_>, allowance: Allowance) -> io::Result<Command> {
    let mut input = File::from(memfd_create(NAME, MemfdFlags::CLOEXEC)?);
    input.write_all(source.bytes)?;
    input.rewind()?;
    let mut command = Command::new(PROGRAM);
    command.arg0(NAME).env_clear().args([
        std::process::id().to_string(),
        source.memory.0.to_string(),
        allowance.seconds.to_string(),
        allowance.memory.0.to_string(),
    ]);
    // A terminal's Ctrl-C is its parent's.
    command.process_group(0);
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::null());
    Ok(command)
}

/// All that a child writes, until it has ended or its time has.
fn read(mut from: ChildStdout, until: Instant, most: usize) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let left = until.saturating_duration_since(Instant::now()).try_into();
        match poll(&mut [PollFd::new(&from, PollFlags::IN)], left.ok().as_ref()) {
            Ok(0) => return Err(ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let read = from.read(&mut piece)?;
        answer.extend(piece.iter().take(read));
        if answer.len() > most {
            return Err(ErrorKind::FileTooLarge.into());
        }
        if read == 0 {
            return Ok(answer);
        }
    }
}

/// Waits for a child that has said all. One that does not end is ended.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    let until = Instant::now() + LAST;
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(1));
    }
    child.kill()?;
    child.wait()
}

fn judge(answer: io::Result<Vec<u8>>, status: ExitStatus, allowance: Allowance) -> Result<Vec<u8>, Refusal> {
    let host = |why: String| Refusal::Host(format!("the compiler {why}"));
    let limit = |what: &str, most: String| Refusal::Limit {
        what: format!("component {what}"),
        most,
        key: None,
    };
    let answer = match answer {
        Ok(answer) => answer,
        // It computes or has ended: others have the processors.
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            let (waited, seconds) = (allowance.patience().as_secs(), allowance.seconds);
            return Err(host(format!(
                "got less than {seconds} s of the processor within {waited} s: this node is too busy"
            )));
        }
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            return Err(limit(
                "becomes too much machine code",
                format!("{} bytes", allowance.code()),
            ));
        }
        Err(error) => return Err(host(format!("has an answer that cannot be read: {error}"))),
    };
    let text = |bytes: &[u8]| GuestText::new(&String::from_utf8_lossy(bytes));
    match (status.success(), answer.split_first()) {
        (true, Some((&DONE, code))) => return Ok(code.to_vec()),
        (true, Some((&WRONG, why))) => return Err(Refusal::Invalid(text(why))),
        (true, Some((&FAULT, why))) => return Err(host(format!("failed: {}", text(why)))),
        _ => {}
    }
    Err(
        match (status.signal().and_then(Signal::from_named_raw), status.code()) {
            (Some(Signal::XCPU), _) => limit(
                "takes too long to compile",
                format!("{} s of the processor", allowance.seconds),
            ),
            // An allocator that gets nothing ends its process.
            (Some(Signal::ABORT), _) => limit("takes too much memory to compile", allowance.memory_in_words()),
            // Also where its stack could not grow.
            (Some(Signal::SEGV | Signal::BUS | Signal::ILL), _) | (_, Some(PANICKED)) => {
                Refusal::Invalid(GuestText::new("the compiler crashes on it"))
            }
            (Some(Signal::KILL), _) => host("was killed: the node or its own cgroup is short of memory".to_owned()),
            _ => host(format!("was ended, or ended without an answer ({status})")),
        },
    )
}

#[cfg(test)]
mod tests;
