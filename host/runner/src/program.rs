//! The programs that devgate starts, and how.

use crate::message::join;
use prost::Message;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What the processes are called.
pub(crate) const RUNNER: &str = "devgate-runner";
pub(crate) const COMPILER: &str = "devgate-compile";
const PULLER: &str = "devgate-pull";

/// Why a program cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProgramError(String);

/// The programs that run and compile components, opened once: an upgrade while the host runs cannot mix versions.
#[derive(Debug, Clone)]
pub struct Programs {
    pub(crate) runner: Program,
    pub(crate) compiler: Program,
}

/// A program's file, and what its process is called.
#[derive(Debug, Clone)]
pub struct Program {
    file: Arc<File>,
    name: &'static str,
}

impl Programs {
    /// `devgate-runner` and `devgate-compile` from the directory that this program is in.
    pub fn beside() -> Result<Self, ProgramError> {
        Ok(Self { runner: Program::beside(RUNNER)?, compiler: Program::beside(COMPILER)? })
    }

    /// The programs beside this one, or this one itself, called as each of them, where they are not there: for one that may be a single
    /// file.
    pub fn beside_or_own() -> Result<Self, ProgramError> {
        Self::beside().or_else(|_| Self::own())
    }

    fn own() -> Result<Self, ProgramError> {
        Ok(Self { runner: Program::own(RUNNER)?, compiler: Program::own(COMPILER)? })
    }
}

impl Program {
    /// `devgate-pull`, which speaks to registries, from the directory that this program is in.
    pub fn puller() -> Result<Self, ProgramError> {
        Self::beside(PULLER)
    }

    /// The same, or this program itself where that is not there: for one that may be a single file.
    pub fn puller_or_own() -> Result<Self, ProgramError> {
        Self::puller().or_else(|_| Self::own(PULLER))
    }

    fn beside(name: &'static str) -> Result<Self, ProgramError> {
        let own = std::env::current_exe().map_err(no_own)?;
        Self::at(&own.with_file_name(name), name)
    }

    /// The program in this file, whose process is called so.
    pub fn at(path: &Path, name: &'static str) -> Result<Self, ProgramError> {
        match File::open(path) {
            Ok(file) => Ok(Self { file: Arc::new(file), name }),
            Err(error) => Err(ProgramError(format!(
                "{}: {error}; devgate needs it beside itself, from the same release",
                path.display()
            ))),
        }
    }

    fn own(name: &'static str) -> Result<Self, ProgramError> {
        // Also where the file is another one by now.
        let file = Arc::new(File::open("/proc/self/exe").map_err(no_own)?);
        Ok(Self { file, name })
    }

    /// What its process is called.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Starts it with an order and what comes with it as its input, in a file without a name. What it says is its output.
    pub fn start(&self, numbers: [u64; 2], order: &impl Message, rest: &[u8]) -> io::Result<Child> {
        let mut input = File::from(memfd_create(self.name, MemfdFlags::CLOEXEC)?);
        input.write_all(&join(order, rest))?;
        input.rewind()?;
        self.command(numbers).stdin(input).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
    }

    /// A command that starts it, with nothing of this process's environment. Its arguments are this process's number, and two that
    /// say what it may use.
    #[must_use]
    pub fn command(&self, numbers: [u64; 2]) -> Command {
        let mut command = Command::new(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        command.arg0(self.name).arg(std::process::id().to_string()).env_clear();
        command.args(numbers.map(|number| number.to_string()));
        // A terminal's Ctrl-C is its parent's.
        command.process_group(0);
        command
    }
}

fn no_own(error: io::Error) -> ProgramError {
    ProgramError(format!("this program's own file: {error}"))
}

/// How a process ends by itself, if it does within this time.
pub(crate) fn wait(child: &mut Child, most: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + most;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_micros(500)),
            Ok(None) | Err(_) => return None,
        }
    }
}

type Order = (Command, SyncSender<io::Result<Child>>);

/// The thread that starts processes which outlive a call. A process is killed when the thread that started it ends, so it is one that
/// lives as long as the runners' owner.
#[derive(Debug, Clone)]
pub(crate) struct Spawner(Arc<Mutex<Sender<Order>>>);

impl Spawner {
    pub(crate) fn start() -> Result<Self, ProgramError> {
        let (orders, taken) = channel::<Order>();
        let work = move || {
            for (mut command, answer) in taken {
                let started = command.spawn();
                // What it holds of the child's is closed before anyone waits for its end.
                drop(command);
                let _ = answer.send(started);
            }
        };
        let thread = thread::Builder::new().name("devgate-spawner".into()).spawn(work);
        thread.map_err(|error| ProgramError(format!("cannot start a thread: {error}")))?;
        Ok(Self(Arc::new(Mutex::new(orders))))
    }

    pub(crate) fn spawn(&self, command: Command) -> io::Result<Child> {
        let (answer, answered) = sync_channel(1);
        let sent = self.0.lock().unwrap_or_else(PoisonError::into_inner).send((command, answer));
        let ended = || io::Error::other("the thread that starts processes has ended");
        sent.map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())?
    }
}
