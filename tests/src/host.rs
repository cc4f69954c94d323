//! The real `devgate run` as a process, against a kubelet stand-in.

mod setup;

pub use setup::Setup;

use crate::memory_group::MemoryGroup;
use crate::{Kind, files, recording};
use anyhow::{Context, bail};
use devgate_fake_kubelet::{StandIn, StandInConfig};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// How long anything may take before a test calls it failed: this machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running host and its kubelet.
pub struct Host {
    /// The kubelet's side.
    pub kubelet: StandIn,
    dir: TempDir,
    node_root: PathBuf,
    /// The names of policy and status socket in it.
    names: (String, String),
    log_filter: String,
    heard: bool,
    more: Vec<String>,
    variables: Vec<(String, String)>,
    group: Option<PathBuf>,
    child: Option<Child>,
    log: Arc<Mutex<Vec<Line>>>,
}

/// A line of the host's log.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// When it was written, as `2026-11-21T13:42:17.123456Z`.
    pub timestamp: String,
    /// `ERROR`, `WARN`, …
    pub level: String,
    /// What it says.
    pub message: String,
    /// The plugin that it is about, if any.
    pub plugin: String,
    /// The family of the error, if it is one.
    pub family: String,
    /// At `trace`: the spans that it was in, outermost first.
    pub spans: Vec<String>,
}

impl Host {
    /// Replaces the recorded node, as a whole: the host may read it at any moment.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn replay(&self, recording: &str) -> anyhow::Result<()> {
        let new = self.dir().join("node.umockdev.new");
        std::fs::write(&new, recording)?;
        Ok(std::fs::rename(new, self.dir().join("node.umockdev"))?)
    }

    /// Starts the host's process, again if it has been stopped.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(&mut self) -> anyhow::Result<()> {
        let root = self.dir.path();
        // A recorded node is played by the program that has them, with the host's own library.
        let program = if self.node_root.is_file() { crate::devgatectl()? } else { crate::devgate()? };
        let mut command = match &self.group {
            None => Command::new(program),
            Some(procs) => {
                let mut joins = Command::new("sh");
                joins.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(procs).arg(program);
                joins
            }
        };
        let mut child = command
            .arg("run")
            .args([Path::new("--policy"), &root.join(&self.names.0)])
            .args([Path::new("--kubelet-dir"), &root.join("plugins"), Path::new("--node-root"), &self.node_root])
            .args([Path::new("--state-dir"), &root.join("state")])
            .args([Path::new("--nfd-dir"), &root.join("nfd")])
            .args([Path::new("--plugins-registry-dir"), &root.join("registry")])
            .args([Path::new("--agent-socket"), &root.join("agent.sock")])
            .args([Path::new("--status-socket"), &root.join(&self.names.1)])
            .args([Path::new("--pod-resources-dir"), &root.join("pods")])
            .args(&self.more)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .args(["--log-format", "json", "--log", &self.log_filter])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stderr = child.stderr.take().context("the host's log")?;
        if self.heard {
            tokio::spawn(follow(stderr, Arc::clone(&self.log)));
        }
        self.child = Some(child);
        Ok(())
    }

    /// Starts another process beside the one that runs, with more options, and returns that one. What is asked of the host is the
    /// new one's from then on.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn_beside(&mut self, more: &[&str]) -> anyhow::Result<Option<Child>> {
        let before = self.child.take();
        self.more.extend(more.iter().map(|arg| (*arg).to_owned()));
        self.spawn()?;
        Ok(before)
    }

    /// The host's own directory: policy, components, recording, and the kubelet's `plugins`.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// What the state directory says was handed out, as `devgate state export` prints it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn recorded(&self) -> anyhow::Result<String> {
        let mut export = std::process::Command::new(crate::devgate()?);
        export.args(["state", "export", "--state-dir"]).arg(self.dir().join("state"));
        let said = export.output()?;
        anyhow::ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        Ok(String::from_utf8(said.stdout)?)
    }

    /// The process id.
    ///
    /// # Errors
    /// When it does not run.
    pub fn pid(&self) -> anyhow::Result<u32> {
        self.child.as_ref().and_then(Child::id).context("the host does not run")
    }

    /// Waits for the kubelet to see something; returns how long that took.
    ///
    /// # Errors
    /// When it does not come, with what came instead and the host's log.
    pub async fn wait(&self, seen: impl Fn(&StandIn) -> bool) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let waited = self.kubelet.wait_for(TIMEOUT, seen).await;
        waited.with_context(|| format!("the host's log:\n{}", self.last_words()))?;
        Ok(begun.elapsed())
    }

    /// Waits until so many devices of a resource are allocatable.
    ///
    /// # Errors
    /// As [`Host::wait`].
    pub async fn allocatable(&self, resource: &str, count: usize) -> anyhow::Result<Duration> {
        self.wait(|kubelet| kubelet.allocatable(resource) == Some(count)).await
    }

    /// Waits for a line in the log.
    ///
    /// # Errors
    /// When it does not come, with the log.
    pub async fn logged(&self, wanted: impl Fn(&Line) -> bool) -> anyhow::Result<Line> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(line) = self.lines().into_iter().find(|line| wanted(line)) {
                return Ok(line);
            }
            if Instant::now() > deadline {
                bail!("the host did not log it; its log:\n{}", self.last_words());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// All lines so far, of all its processes.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has another policy, of this name in the directory, given to the process that is spawned next.
    pub fn policy_at(&mut self, name: &str) {
        name.clone_into(&mut self.names.0);
    }

    /// Has the process that is spawned next answer on this socket in the directory.
    ///
    /// # Errors
    /// When a directory for it cannot be made.
    pub fn status_at(&mut self, name: &str) -> anyhow::Result<()> {
        name.clone_into(&mut self.names.1);
        let above = self.dir().join(name).parent().map(Path::to_owned).context("a directory")?;
        Ok(std::fs::create_dir_all(above)?)
    }

    /// Has other options given to the process that is spawned next.
    pub fn options(&mut self, more: &[&str]) {
        self.more = more.iter().map(|arg| (*arg).to_owned()).collect();
    }

    /// Ends the process at once, and does not wait.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&self) -> anyhow::Result<()> {
        let pid = Pid::from_raw(self.pid()?.cast_signed()).context("a process id")?;
        Ok(kill_process(pid, Signal::KILL)?)
    }

    /// Sends a signal and waits for the end.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn end(&mut self, signal: Signal) -> anyhow::Result<ExitStatus> {
        let pid = Pid::from_raw(self.pid()?.cast_signed()).context("a process id")?;
        kill_process(pid, signal)?;
        self.ended().await
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        let mut child = self.child.take().context("the host does not run")?;
        let status = tokio::time::timeout(TIMEOUT, child.wait()).await;
        Ok(status.with_context(|| format!("the host did not end; its log:\n{}", self.last_words()))??)
    }

    fn last_words(&self) -> String {
        let lines = self.lines();
        let last = lines.iter().skip(lines.len().saturating_sub(30));
        last.map(|line| format!("  {} {}", line.level, line.message)).collect::<Vec<_>>().join("\n")
    }
}

fn spans(line: &serde_json::Value) -> Vec<String> {
    let around = line.get("spans").and_then(|spans| spans.as_array());
    let names = around.into_iter().flatten().chain(line.get("span"));
    let names = names.filter_map(|span| span.get("name")?.as_str().map(str::to_owned));
    let mut names: Vec<_> = names.collect();
    names.dedup();
    names
}

async fn follow(stderr: tokio::process::ChildStderr, log: Arc<Mutex<Vec<Line>>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        let json = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
        let field = |name: &str| json.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let mut line = Line {
            timestamp: field("timestamp"),
            level: field("level"),
            message: field("message"),
            plugin: field("plugin"),
            family: field("family"),
            spans: spans(&json),
        };
        if line.level.is_empty() {
            line.message = text;
        }
        log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}
