//! What a host notes of handing over: who it is, to whom it handed over, how often, and the policy that was in force.

use crate::cli::RunArgs;
use crate::confinement::Fence;
use crate::policy::{self, Texts};
use anyhow::Context as _;
use devgate_core::StateDirLock;
use devgate_policy::Policy;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

/// The file beside the status socket, which a container that is started anew has still, and another pod has not.
const FILE: &str = "handover.json";
/// Where the kernel says what nobody has said before.
const UUID: &str = "/proc/sys/kernel/random/uuid";
/// And which boot this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// What is noted of handing over, by the host of one pod.
#[derive(Debug, Clone)]
pub(crate) struct HandedOver {
    file: PathBuf,
    state_dir: PathBuf,
    note: Note,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Note {
    /// Which host it is, to those that it asks; made when it asks first.
    id: Option<String>,
    /// To which it handed over last.
    to: Option<To>,
}

/// A host that was handed over to.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct To {
    id: String,
    times: u32,
    /// Which process handed over, and the fence that it had: after `execve` it is the same, and has it still.
    process: String,
    fence: Fence,
    /// When it had taken the state directory.
    taken: Option<SystemTime>,
    /// What was in force, until it comes back.
    policy: Option<Texts>,
}

impl HandedOver {
    /// What this host noted before.
    pub(crate) fn of(args: &RunArgs) -> Self {
        let file = args.monitoring.status_socket.with_file_name(FILE);
        let note = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self { file, state_dir: args.state_dir.clone(), note: note.unwrap_or_default() }
    }

    /// Whether it handed over.
    pub(crate) const fn is_so(&self) -> bool {
        self.note.to.is_some()
    }

    /// To whom it handed over last, and how often in a row, where it has not come back since.
    pub(super) fn to(&self) -> Option<(&str, u32)> {
        let to = self.note.to.as_ref().filter(|to| to.policy.is_some());
        to.map(|to| (to.id.as_str(), to.times))
    }

    /// The fence that this process has from before it handed over and began anew, if it did.
    pub(crate) fn fence(&self) -> Option<Fence> {
        let to = self.note.to.as_ref()?;
        (process()? == to.process).then(|| to.fence.clone())
    }

    /// Whether a host has taken the state directory since this one handed over, whatever became of that.
    pub(crate) fn is_taken(&self) -> bool {
        let before = self.note.to.as_ref().and_then(|to| to.taken);
        StateDirLock::last_taken(&self.state_dir) != before
    }

    /// Which host it is, to those that it asks: the same when its container is started anew.
    pub(super) fn id(&mut self) -> String {
        if self.note.id.is_none() {
            let id = fs::read_to_string(UUID).map(|text| text.trim().to_owned());
            self.note.id = Some(id.unwrap_or_else(|_| std::process::id().to_string()));
            if let Err(error) = self.write(&self.note) {
                tracing::warn!(family = "host", "{}: {error}", self.file.display());
            }
        }
        self.note.id.clone().unwrap_or_default()
    }

    /// The policy that it had in force then, until it has come back.
    pub(crate) fn policy(&self) -> Option<(Policy, Texts)> {
        policy::parse(self.note.to.as_ref()?.policy.clone()?).ok()
    }

    /// Notes that it hands over, with what is in force. Fails where that cannot be written.
    pub(super) fn note(&self, id: &str, in_force: &Texts, fence: &Fence) -> io::Result<()> {
        let before = self.note.to.as_ref().filter(|to| to.id == id).map_or(0, |to| to.times);
        let process = process().ok_or_else(|| io::Error::other("/proc does not say which process this is"))?;
        let (id, times, fence) = (id.to_owned(), before.saturating_add(1), fence.clone());
        let taken = StateDirLock::last_taken(&self.state_dir);
        let to = To { id, times, process, fence, taken, policy: Some(in_force.clone()) };
        self.write(&Note { to: Some(to), id: self.note.id.clone() })
    }

    /// Forgets the policy of then: a host that came back follows its files again. Fails where that cannot be written.
    pub(crate) fn forget_policy(&self) -> io::Result<()> {
        let Some(to) = self.note.to.clone().filter(|to| to.policy.is_some()) else { return Ok(()) };
        self.write(&Note { to: Some(To { policy: None, ..to }), id: self.note.id.clone() })
    }

    fn write(&self, note: &Note) -> io::Result<()> {
        let new = self.file.with_extension("new");
        fs::write(&new, serde_json::to_vec(note)?)?;
        fs::rename(new, &self.file)
    }

    /// Begins this process anew, as a standby. Returns only where that fails.
    pub(crate) fn begin_anew() -> anyhow::Error {
        let begin = |program| Command::new(program).args(std::env::args_os().skip(1)).exec();
        let program = std::env::current_exe().context("this program");
        program.map_or_else(|error| error, |program| begin(program).into()).context("begin anew, to stand by")
    }
}

/// Which process of which boot this is: its id and when it began, which `execve` changes neither of.
fn process() -> Option<String> {
    let boot = fs::read_to_string(BOOT_ID).ok()?;
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name may have spaces and brackets. What is behind it begins with the third field; the 22nd is wanted (proc_pid_stat(5)).
    let began = stat.rsplit_once(") ")?.1.split(' ').nth(19)?.to_owned();
    Some(format!("{} {} {began}", boot.trim(), std::process::id()))
}
