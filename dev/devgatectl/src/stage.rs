//! Where demos and simulations play: a temporary directory with a kubelet stand-in, and the real `devgate run` as a process of
//! its own.

use anyhow::{Context, bail};
use devgate_fake_kubelet::{KubeletVersion, StandIn, StandInConfig};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The longest that anything may take for which no time was set.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How often what gives no event is looked at.
pub(crate) const LOOK: Duration = Duration::from_millis(20);
/// How many lines of a log are shown when something went wrong.
const LAST_WORDS: usize = 20;

/// What is played.
pub(crate) struct Setup<'a> {
    /// The policy's text.
    pub(crate) policy: &'a str,
    /// Where the components' files are.
    pub(crate) components: &'a Path,
    /// A root directory, or a recording, which is copied so that it can be changed.
    pub(crate) node_root: &'a Path,
    /// Which kubelet is played.
    pub(crate) version: KubeletVersion,
    /// What the host logs.
    pub(crate) log: &'a str,
    /// More options of `devgate run`.
    pub(crate) more: &'a [&'a str],
}

/// One run of the host against one stand-in.
pub(crate) struct Stage {
    pub(crate) kubelet: StandIn,
    pub(crate) node_root: PathBuf,
    components: PathBuf,
    log_filter: String,
    more: Vec<String>,
    host: Option<Child>,
    log: Arc<Mutex<Vec<Line>>>,
    dir: TempDir,
}

/// A line of the host's log.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// When it was read.
    pub(crate) at: Instant,
    pub(crate) level: String,
    pub(crate) message: String,
    pub(crate) plugin: String,
    pub(crate) family: String,
    /// As it was written.
    pub(crate) raw: String,
}

impl Drop for Stage {
    /// Waits a moment for the host's end, so that it writes nothing into a directory that is being removed.
    fn drop(&mut self) {
        let Some(host) = self.host.as_mut() else { return };
        let _ = host.start_kill();
        for _ in 0..100 {
            if !matches!(host.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Stage {
    /// Starts the stand-in, then the host.
    pub(crate) async fn set(setup: Setup<'_>) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("devgate-").tempdir().context("make a temporary directory")?;
        let node_root = own_recording(setup.node_root, dir.path())?;
        std::fs::write(dir.path().join("policy.yaml"), setup.policy)?;
        let config = StandInConfig {
            pod_resources_dir: Some(dir.path().join("pod-resources")),
            version: setup.version,
            ..StandInConfig::new(dir.path().join("device-plugins"))
        };
        let mut stage = Self {
            kubelet: StandIn::new(config).await.context("start the kubelet stand-in")?,
            node_root,
            components: setup.components.to_owned(),
            log_filter: setup.log.to_owned(),
            more: setup.more.iter().map(|arg| (*arg).to_owned()).collect(),
            host: None,
            log: Arc::default(),
            dir,
        };
        stage.start()?;
        Ok(stage)
    }

    /// Where everything is: `policy.yaml`, `status.sock`, the host's `state`, the kubelet's `device-plugins`.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Where the host answers.
    pub(crate) fn status_socket(&self) -> PathBuf {
        self.dir.path().join("status.sock")
    }

    /// Starts the host, again if it has been ended.
    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let dir = self.dir.path();
        let program = std::env::current_exe().context("find devgate's own program")?;
        let mut host = Command::new(program)
            .arg("run")
            .args([Path::new("--policy"), &dir.join("policy.yaml")])
            .args([Path::new("--components"), &self.components])
            .args([Path::new("--kubelet-dir"), &dir.join("device-plugins")])
            .args([Path::new("--node-root"), &self.node_root])
            .args([Path::new("--state-dir"), &dir.join("state")])
            .args([Path::new("--device-info-dir"), &dir.join("device-info")])
            .args([Path::new("--nfd-dir"), &dir.join("nfd")])
            .args([Path::new("--plugins-registry-dir"), &dir.join("registry")])
            .args([Path::new("--agent-socket"), &dir.join("agent.sock")])
            .args([Path::new("--status-socket"), &dir.join("status.sock")])
            .args([Path::new("--pod-resources-dir"), &dir.join("pod-resources")])
            .args(&self.more)
            .args(["--log-format", "json", "--log", &self.log_filter])
            .env_remove("DEVGATE_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start `devgate run`")?;
        if let Some(stderr) = host.stderr.take() {
            tokio::spawn(follow(stderr, Arc::clone(&self.log)));
        }
        self.host = Some(host);
        Ok(())
    }

    /// Waits for the kubelet to see something.
    pub(crate) async fn wait(&self, seen: impl Fn(&StandIn) -> bool) -> anyhow::Result<()> {
        let waited = self.kubelet.wait_for(TIMEOUT, seen).await;
        waited.with_context(|| format!("the host's log:\n{}", self.last_words()))
    }

    /// Waits for a line in the host's log.
    pub(crate) async fn logged(&self, wanted: impl Fn(&Line) -> bool) -> anyhow::Result<Line> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(line) = self.lines().into_iter().find(|line| wanted(line)) {
                return Ok(line);
            }
            if Instant::now() > deadline {
                bail!("the host did not log it within {TIMEOUT:?}; its log:\n{}", self.last_words());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Stops the host as Kubernetes does, and checks that it leaves well.
    pub(crate) async fn end(&mut self) -> anyhow::Result<()> {
        let mut host = self.host.take().context("the host does not run")?;
        let pid = host.id().and_then(|id| Pid::from_raw(id.cast_signed())).context("the host has ended by itself")?;
        kill_process(pid, Signal::TERM).context("send SIGTERM")?;
        let status = tokio::time::timeout(TIMEOUT, host.wait()).await.context("the host did not stop")??;
        if !status.success() {
            bail!("the host ended with {status}; its log:\n{}", self.last_words());
        }
        Ok(())
    }

    /// Ends the host without any order, as an empty battery or the kernel's memory killer does.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        let mut host = self.host.take().context("the host does not run")?;
        host.kill().await.context("kill the host")
    }

    /// How the host has ended by itself, if it has.
    pub(crate) fn ended(&mut self) -> Option<String> {
        match self.host.as_mut()?.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// All lines of the host's log so far, of all its processes.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last lines of the host's log.
    pub(crate) fn last_words(&self) -> String {
        let lines = self.lines();
        let last = lines.iter().skip(lines.len().saturating_sub(LAST_WORDS));
        last.map(|line| format!("  {} {}", line.level, line.message)).collect::<Vec<_>>().join("\n")
    }
}

/// A recorded node is played from a copy, so that it can be changed.
fn own_recording(node_root: &Path, dir: &Path) -> anyhow::Result<PathBuf> {
    if !node_root.is_file() {
        return Ok(node_root.to_owned());
    }
    let copy = dir.join("node.umockdev");
    std::fs::copy(node_root, &copy).with_context(|| node_root.display().to_string())?;
    Ok(copy)
}

async fn follow(stderr: tokio::process::ChildStderr, log: Arc<Mutex<Vec<Line>>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        let line = parse(&text);
        log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

fn parse(text: &str) -> Line {
    let json = serde_json::from_str::<serde_json::Value>(text).unwrap_or_default();
    let field = |name: &str| {
        let value = json.get(name).and_then(|value| value.as_str());
        value.unwrap_or_default().to_owned()
    };
    // What is said before the log is set up, or by a panic, is no JSON.
    let plain = json.is_null();
    Line {
        at: Instant::now(),
        raw: text.to_owned(),
        level: if plain { "RAW".to_owned() } else { field("level") },
        message: if plain { text.to_owned() } else { field("message") },
        plugin: field("plugin"),
        family: field("family"),
    }
}
