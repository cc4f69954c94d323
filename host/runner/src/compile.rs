//! Compiling in a child: this program itself, called `devgate-compile`, with a limit of processor time and one of memory that grow with
//! the component. What makes a compiler run or grow without end costs that child, and is refused by the limit's name.

mod child;

pub use child::called;

use crate::kept::Kept;
use devgate_sandbox::{Compiler, Refusal, Source};
use devgate_types::{ByteSize, GuestText};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::Signal;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What this program is called as a child, as its first argument.
const NAME: &str = "devgate-compile";
/// This program, also where its file is another one by now.
const PROGRAM: &str = "/proc/self/exe";
/// What begins the answer of a child that has compiled, and of one that says what is wrong with the component.
const DONE: u8 = 0;
const WRONG: u8 = 1;
/// The most machine code of one component.
const MOST_CODE: ByteSize = ByteSize::mib(256);

/// What compiling one component may take. JavaScript's 3 s, Go's 6 and Python's 16 are less than half of it on a slow machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Allowance {
    /// Of the processor.
    seconds: u64,
    /// Address space. The shipped components take less than 64 MiB of it, and Python's some 20 times its size.
    memory: ByteSize,
}

impl Allowance {
    const fn of(size: u64) -> Self {
        Self {
            seconds: 20 + size / (128 << 10),
            memory: ByteSize::mib(128 + size.saturating_mul(64).div_ceil(1 << 20)),
        }
    }

    /// By the clock: others may use the processors as well.
    const fn patience(self) -> Duration {
        Duration::from_secs(self.seconds * 5)
    }
}

/// Compiles components in children, and keeps what comes of it.
#[derive(Debug, Default)]
pub struct ChildCompiler {
    /// Where; nothing is kept without.
    pub kept: Option<Kept>,
}

#[expect(unsafe_code, reason = "what is returned is run in this process")]
// SAFETY: the code is what `devgate_sandbox::compile` of this very program made of these bytes in a child that nothing else can
// write to or look into, or what such a child made before and a directory has kept that nobody but this user can write in, whole as
// it was written (its digest), under the digest of the component and the key of the engine.
unsafe impl Compiler for ChildCompiler {
    fn compile(&self, source: &Source<'_>, anew: bool) -> Result<Vec<u8>, Refusal> {
        let kept = self.kept.as_ref();
        let key = source.key()?;
        if let Some(code) = kept.filter(|_| !anew).and_then(|kept| kept.read(&source.sha256, &key)) {
            return Ok(code);
        }
        let code = in_child(source)?;
        if let Some(kept) = kept
            && let Err(error) = kept.write(&source.sha256, &key, &code)
        {
            tracing::warn!(
                family = "host",
                "machine code of a component could not be kept, and is made again at the next start: {error}"
            );
        }
        Ok(code)
    }
}

fn in_child(source: &Source<'_>) -> Result<Vec<u8>, Refusal> {
    let allowance = Allowance::of(u64::try_from(source.bytes.len()).unwrap_or(u64::MAX));
    let host = |error: io::Error| Refusal::Host(format!("cannot start a compiler ({PROGRAM}): {error}"));
    let mut child = command(source, allowance)
        .and_then(|mut command| command.spawn())
        .map_err(host)?;
    let answer = match child.stdout.take() {
        Some(stdout) => read(stdout, Instant::now() + allowance.patience()),
        None => Err(io::Error::other("it has no output")),
    };
    if answer.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(host)?;
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
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::null());
    Ok(command)
}

/// All that a child writes, until it has ended or its time has.
fn read(mut from: ChildStdout, until: Instant) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let left = until.saturating_duration_since(Instant::now()).try_into();
        match poll(&mut [PollFd::new(&from, PollFlags::IN)], left.ok().as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let read = from.read(&mut piece)?;
        answer.extend(piece.iter().take(read));
        if answer.len() > MOST_CODE.as_usize() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if read == 0 {
            return Ok(answer);
        }
    }
}

fn judge(answer: io::Result<Vec<u8>>, status: ExitStatus, allowance: Allowance) -> Result<Vec<u8>, Refusal> {
    let limit = |what: &str, most: String| Refusal::Limit {
        what: format!("component's compilation takes too {what}"),
        most,
        key: None,
    };
    let mut answer = match answer {
        Ok(answer) => answer,
        // It computes or has ended: others have the processors.
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            let (waited, seconds) = (allowance.patience().as_secs(), allowance.seconds);
            return Err(Refusal::Host(format!(
                "the compiler got less than {seconds} s of the processor within {waited} s: this node is too busy"
            )));
        }
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(Refusal::Limit {
                what: "component becomes too much machine code".to_owned(),
                most: MOST_CODE.to_string(),
                key: None,
            });
        }
        Err(error) => return Err(Refusal::Host(format!("the compiler's answer cannot be read: {error}"))),
    };
    match (status.success(), answer.first()) {
        (true, Some(&DONE)) => {
            answer.remove(0);
            return Ok(answer);
        }
        (true, Some(&WRONG)) => {
            let why = String::from_utf8_lossy(answer.get(1..).unwrap_or_default());
            return Err(Refusal::Invalid(GuestText::new(&why)));
        }
        _ => {}
    }
    Err(match status.signal().and_then(Signal::from_named_raw) {
        Some(Signal::XCPU) => limit("long", format!("{} s of the processor", allowance.seconds)),
        // An allocator that gets nothing ends its process.
        Some(Signal::ABORT) => limit("much memory", allowance.memory.to_string()),
        Some(Signal::KILL) => {
            Refusal::Host("the compiler was killed: the node or its own cgroup is short of memory".to_owned())
        }
        _ => Refusal::Host(format!(
            "the compiler ended without an answer ({status}): a fault of its own"
        )),
    })
}

#[cfg(test)]
mod tests;
