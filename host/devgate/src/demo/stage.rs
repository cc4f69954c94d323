//! Where the demo plays: a temporary directory with a kubelet stand-in, and the real `devgate run` as a process of its own.

use super::machine::{self, Offered};
use super::{PATIENCE, show};
use anyhow::{Context, bail};
use devgate_kubelet::standin::{StandIn, StandInConfig};
use devgate_policy::{Policy, PolicyFile};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// One run of the host against one stand-in.
pub(super) struct Stage {
    pub(super) kubelet: StandIn,
    pub(super) policy: Policy,
    pub(super) node_root: PathBuf,
    host: Child,
    log: Arc<Mutex<Vec<Line>>>,
    _dir: TempDir,
}

/// A line of the host's log.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pub(super) level: String,
    pub(super) message: String,
    pub(super) plugin: String,
    pub(super) family: String,
}

impl Stage {
    /// Starts the stand-in, then the host.
    pub(super) async fn set(components: &Path, node_root: &Path, offered: &[Offered]) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("devgate-")
            .tempdir()
            .context("make a temporary directory")?;
        let node_root = Self::own_recording(node_root, dir.path())?;
        let text = machine::policy(offered);
        let file = dir.path().join("policy.yaml");
        std::fs::write(&file, &text)?;
        let policy = devgate_policy::parse(&[PolicyFile {
            name: &show(&file),
            text: &text,
        }])?;
        let kubelet_dir = dir.path().join("device-plugins");
        let state_dir = dir.path().join("state");
        let pod_resources_dir = dir.path().join("pod-resources");
        let config = StandInConfig {
            pod_resources_dir: Some(pod_resources_dir.clone()),
            ..StandInConfig::new(kubelet_dir.clone())
        };
        let kubelet = StandIn::new(config).await.context("start the kubelet stand-in")?;
        let program = std::env::current_exe().context("find devgate's own program")?;
        let mut host = Command::new(program)
            .arg("run")
            .args([Path::new("--policy"), &file, Path::new("--components"), components])
            .args([
                Path::new("--kubelet-dir"),
                &kubelet_dir,
                Path::new("--node-root"),
                &node_root,
            ])
            .args([Path::new("--state-dir"), &state_dir])
            .args([Path::new("--status-socket"), &dir.path().join("status.sock")])
            .args([Path::new("--pod-resources-dir"), &pod_resources_dir])
            .args(["--log-format", "json", "--log", "info"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start `devgate run`")?;
        let log = Arc::default();
        if let Some(stderr) = host.stderr.take() {
            tokio::spawn(follow(stderr, Arc::clone(&log)));
        }
        Ok(Self {
            kubelet,
            policy,
            node_root,
            host,
            log,
            _dir: dir,
        })
    }

    /// A recorded node is played from a copy, so that the demo can change it.
    fn own_recording(node_root: &Path, dir: &Path) -> anyhow::Result<PathBuf> {
        if !node_root.is_file() {
            return Ok(node_root.to_owned());
        }
        let copy = dir.join("node.umockdev");
        std::fs::copy(node_root, &copy).with_context(|| show(node_root))?;
        Ok(copy)
    }

    /// Waits for the kubelet to see something.
    pub(super) async fn wait(&self, seen: impl Fn(&StandIn) -> bool) -> anyhow::Result<()> {
        let waited = self.kubelet.wait_for(PATIENCE, seen).await;
        waited.with_context(|| format!("the host's log:\n{}", self.last_words()))
    }

    /// Waits for a line in the host's log.
    pub(super) async fn logged(&self, wanted: impl Fn(&Line) -> bool) -> anyhow::Result<Line> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.lines().into_iter().find(|line| wanted(line)) {
                return Ok(line);
            }
            if tokio::time::Instant::now() > deadline {
                bail!(
                    "the host did not log it within {PATIENCE:?}; its log:\n{}",
                    self.last_words()
                );
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Stops the host as Kubernetes does, and checks that it leaves well.
    pub(super) async fn end(&mut self) -> anyhow::Result<()> {
        let pid = self
            .host
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()))
            .context("the host has ended by itself")?;
        kill_process(pid, Signal::TERM).context("send SIGTERM")?;
        let status = tokio::time::timeout(PATIENCE, self.host.wait())
            .await
            .context("the host did not stop")??;
        if !status.success() {
            bail!("the host ended with {status}; its log:\n{}", self.last_words());
        }
        Ok(())
    }

    fn lines(&self) -> Vec<Line> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn last_words(&self) -> String {
        let lines = self.lines();
        let last = lines.iter().skip(lines.len().saturating_sub(20));
        last.map(|line| format!("  {} {}", line.level, line.message))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

async fn follow(stderr: tokio::process::ChildStderr, log: Arc<Mutex<Vec<Line>>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        let line = parse(&text);
        log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

fn parse(text: &str) -> Line {
    let Ok(json) = serde_json::from_str::<serde_json::Value>(text) else {
        // What is said before the log is set up, or by a panic.
        return Line {
            level: "RAW".into(),
            message: text.to_owned(),
            ..Line::default()
        };
    };
    let field = |name: &str| {
        json.get(name)
            .and_then(|value| value.as_str())
            .unwrap_or_default()
            .to_owned()
    };
    Line {
        level: field("level"),
        message: field("message"),
        plugin: field("plugin"),
        family: field("family"),
    }
}
