//! One process of the host: `devgate run`, with its log counted.

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// How many lines of a log are kept.
const KEPT: usize = 80;
/// How long a host may take to listen for signals.
const STARTING: Duration = Duration::from_secs(3);
/// How long a host may take to end that was asked to: calls in flight have 10 s.
const LAST_PATIENCE: Duration = Duration::from_secs(60);

/// The host's log, of all its processes.
#[derive(Debug, Default)]
pub(super) struct Log {
    bytes: AtomicU64,
    last: Mutex<VecDeque<String>>,
    faults: Mutex<Vec<String>>,
}

impl Log {
    /// All bytes so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The newest lines.
    pub(super) fn last(&self) -> Vec<String> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Lines that no host should ever write: panics, bugs that it noticed itself, and what is no log at all. Forgotten then.
    pub(super) fn faults(&self) -> Vec<String> {
        std::mem::take(&mut *self.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self, line: &str) {
        self.bytes.fetch_add(line.len() as u64 + 1, Ordering::Relaxed);
        let json = serde_json::from_str::<serde_json::Value>(line).unwrap_or_default();
        if json.is_null() || line.contains("panicked") || line.contains("host fault") {
            self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == KEPT {
            last.pop_front();
        }
        last.push_back(line.to_owned());
    }
}

/// A running host.
pub(super) struct Program {
    child: Child,
    pub(super) pid: u32,
    /// Whether inotify is denied to it.
    pub(super) blind: bool,
    pub(super) since: Instant,
}

/// A path that no host had before.
fn status_socket(dir: &Path) -> PathBuf {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    dir.join(format!("status-{}.sock", STARTED.fetch_add(1, Ordering::Relaxed)))
}

/// Whether a process can be made here that inotify has no room for.
pub(super) async fn can_be_blind() -> bool {
    let tried = blindly().arg("true").stdin(Stdio::null()).stderr(Stdio::null()).status();
    tried.await.is_ok_and(|status| status.success())
}

/// What makes a program of its arguments that may have no inotify: the limit is one of the user namespace.
fn blindly() -> Command {
    let mut command = Command::new("unshare");
    let script = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$0\" \"$@\"";
    command.args(["--user", "--map-root-user", "--", "sh", "-c", script]);
    command
}

impl Program {
    /// Starts one in `dir`, where the policy, the components, the recording and the kubelet's directory are.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(dir: &Path, blind: bool, log: &Arc<Log>) -> anyhow::Result<Self> {
        let devgate = crate::devgatectl()?;
        let mut command = if blind {
            let mut command = blindly();
            command.arg(devgate);
            command
        } else {
            Command::new(devgate)
        };
        let mut child = command
            .arg("run")
            .args([Path::new("--policy"), &dir.join("policy.yaml")])
            .args([Path::new("--kubelet-dir"), &dir.join("plugins")])
            .args([Path::new("--node-root"), &dir.join("node.umockdev")])
            .args([Path::new("--state-dir"), &dir.join("state")])
            // One for each: a second host leaves the first one's alone, and opens none later.
            .args([Path::new("--status-socket"), &status_socket(dir)])
            .args(["--log-format", "json", "--log", "info"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start `devgate run`")?;
        let stderr = child.stderr.take().context("the host's log")?;
        let log = Arc::clone(log);
        tokio::spawn(async move {
            let mut lines = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                log.take(&line);
            }
        });
        Ok(Self { pid: child.id().context("the host has ended at once")?, child, blind, since: Instant::now() })
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// When there is no such process any more.
    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = Pid::from_raw(self.pid.cast_signed()).context("a process id")?;
        kill_process(pid, signal).with_context(|| format!("signal host {}", self.pid))
    }

    /// Whether it has ended by itself, and how.
    pub(super) fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Kills it.
    ///
    /// # Errors
    /// When it had ended by itself.
    pub(super) async fn kill(mut self) -> anyhow::Result<()> {
        self.signal(Signal::KILL)?;
        let status = self.child.wait().await?;
        if status.code().is_some() {
            bail!("host {} ended by itself: {status}", self.pid);
        }
        Ok(())
    }

    /// Asks it to end.
    ///
    /// # Errors
    /// When it does not, or badly.
    pub(super) async fn terminate(mut self) -> anyhow::Result<()> {
        // Before it listens for signals, the kernel ends it, as it may: it has opened nothing yet.
        let early = self.since.elapsed() < STARTING;
        self.signal(Signal::TERM)?;
        let status = tokio::time::timeout(LAST_PATIENCE, self.child.wait()).await;
        let status = status.with_context(|| format!("host {} does not end", self.pid))??;
        let by_the_kernel = status.signal() == Some(Signal::TERM.as_raw());
        let excused = early && by_the_kernel;
        if !status.success() && !excused {
            bail!("host {} was asked to end: {status}", self.pid);
        }
        Ok(())
    }
}
