//! A component in a process of its own, as its host calls it.

mod collect;
mod host_calls;
mod lane;
mod prefetch;
mod process;

use crate::memory::{Reserved, RunnerMemory};
use crate::message::{self, wire};
use crate::program::{Program, Spawner};
pub(crate) use host_calls::Interfaces;
pub(crate) use lane::{Ended, Lane, Wanted};

use devgate_types::component::{Call, CallKind, Capabilities, Component, Cost, Output, Profile};
use devgate_types::load::Refusal;
use devgate_types::{CallError, GuestFault, GuestText, HostFault, Mutex, answer};
use process::Process;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a component's process may take to be ready: the first one, and another one, for which a call waits.
const FIRST: Duration = Duration::from_secs(30);
const ANEW: Duration = Duration::from_secs(5);

/// A component that runs in a process of its own, which is started anew where it has ended.
#[derive(Debug)]
pub struct Runner {
    plugin: String,
    profile: Profile,
    /// What it imports, and so may ask.
    interfaces: Interfaces,
    start: Start,
    process: Mutex<Option<Arc<Process>>>,
    restarts: AtomicU64,
    /// After the process, which has it until its end.
    _memory: Reserved,
}

/// All that starting its process takes.
#[derive(Debug)]
struct Start {
    program: Program,
    spawner: Spawner,
    code: File,
    load: wire::Load,
    memory: RunnerMemory,
}

impl Runner {
    /// Starts the process of a component that was compiled. The error says what of it does not fit this host, or that the process cannot be
    /// started.
    pub(crate) fn start(
        plugin: &str,
        (program, spawner): (Program, Spawner),
        code: &[u8],
        load: wire::Load,
        profile: Profile,
        mut reserved: Reserved,
    ) -> Result<Self, Refusal> {
        let limits = load.limits.unwrap_or_default().into();
        let memory = RunnerMemory::of(&limits, message::bytes(code.len()));
        reserved.resize(memory.used());
        let code = in_memory(code).map_err(|error| Refusal::Host(format!("machine code cannot be held: {error}")))?;
        let interfaces = Interfaces::of(&load.imports);
        let start = Start { program, spawner, code, load, memory };
        let process = start.process(FIRST)?;
        Ok(Self {
            plugin: plugin.to_owned(),
            profile,
            interfaces,
            start,
            process: Mutex::new(Some(Arc::new(process))),
            restarts: AtomicU64::new(0),
            _memory: reserved,
        })
    }

    /// Its process; restarted where it has ended.
    fn process(&self) -> Result<Arc<Process>, CallError> {
        let mut process = self.process.lock();
        if let Some(running) = process.as_ref().filter(|process| process.is_running()) {
            return Ok(Arc::clone(running));
        }
        *process = None;
        let started = self.start.process(ANEW).map_err(|refusal| match refusal {
            Refusal::Host(why) | Refusal::Code(why) => HostFault(why),
            refusal => HostFault(refusal.to_string()),
        });
        let started = Arc::new(started?);
        *process = Some(Arc::clone(&started));
        self.restarts.fetch_add(1, Ordering::Relaxed);
        Ok(started)
    }
}

/// Machine code in a file without a name, that cannot be changed any more.
fn in_memory(code: &[u8]) -> io::Result<File> {
    use rustix::fs::{SealFlags, fcntl_add_seals};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("devgate-code", flags)?);
    file.write_all(code)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

impl Component for Runner {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    /// On another process where the first ended meanwhile, maybe because of a call beside it. What may have changed something outside is
    /// not made twice.
    fn call(&self, call: &Call<'_>, host: &mut dyn Capabilities) -> Result<(Output, Cost), CallError> {
        let mut wanted = Wanted::new(call, self.interfaces.clone(), host);
        let until = Instant::now() + wanted.limits.deadline;
        let mut may_repeat = !matches!(call.kind, CallKind::Prepare | CallKind::Release);
        loop {
            let process = self.process()?;
            let end = |why: GuestFault| {
                let why = CallError::from(why);
                process.end(call.kind.as_str(), &why);
                Err(why)
            };
            let why = match process.call(&wanted, host) {
                Ok((output, cost)) => return Ok((answer::check(call, output)?, cost)),
                Err(Ended::Fault(fault)) => return Err(fault),
                Err(Ended::Late(limit)) => return end(GuestFault::Limit(limit)),
                Err(Ended::Broke(what)) => {
                    return end(GuestFault::Ended(GuestText::new(&format!("its host ended it: {what}"))));
                }
                Err(Ended::NotBegun) if Instant::now() < until => {
                    process.lost();
                    continue;
                }
                Err(Ended::NotBegun | Ended::Lost) => process.lost(),
            };
            if !may_repeat || Instant::now() >= until {
                return Err(why);
            }
            may_repeat = false;
            // A pod waits for both together.
            wanted.most = until.saturating_duration_since(Instant::now());
            tracing::warn!(
                plugin = self.plugin,
                family = "host",
                "plugin {}: the process of its component ended in the middle of {}, which is asked again: {why}",
                self.plugin,
                call.kind.as_str(),
            );
        }
    }
}
