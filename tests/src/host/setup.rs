//! What to start a host with.

use super::*;

/// What to start.
#[derive(Debug, Clone)]
pub struct Setup {
    policy: String,
    node_root: PathBuf,
    recording: Option<String>,
    tree: Option<String>,
    files: Vec<Kind>,
    components: Vec<(String, Vec<u8>)>,
    log: String,
    heard: bool,
    more: Vec<String>,
    variables: Vec<(String, String)>,
    group: Option<PathBuf>,
}

impl Setup {
    /// A host with this policy, on this machine.
    #[must_use]
    pub fn new(policy: &str) -> Self {
        let policy = policy.to_owned();
        Self {
            policy,
            node_root: "/".into(),
            recording: None,
            tree: None,
            files: Vec::new(),
            components: Vec::new(),
            log: "info".into(),
            heard: true,
            more: Vec::new(),
            variables: Vec::new(),
            group: None,
        }
    }

    /// On a recorded node instead.
    #[must_use]
    pub fn on(mut self, recording: &str) -> Self {
        self.recording = Some(recording.to_owned());
        self
    }

    /// On a recorded node, by the program that nodes run, which reads it as files; another user than root has it played by `devgatectl`.
    #[must_use]
    pub fn on_files_of(mut self, recording: &str) -> Self {
        if files::can_be_made() {
            self.tree = Some(recording.to_owned());
            self
        } else {
            self.on(recording)
        }
    }

    /// On a node with these devices and no other. The program that nodes run reads it as files; only root can make these, so another user
    /// has a recording, which `devgatectl` plays.
    #[must_use]
    pub fn of(mut self, kinds: &[Kind]) -> Self {
        if files::can_be_made() {
            self.files = kinds.to_vec();
            self
        } else {
            self.on(&recording(kinds))
        }
    }

    /// On a node whose files are in this directory.
    #[must_use]
    pub fn at(mut self, node_root: &Path) -> Self {
        node_root.clone_into(&mut self.node_root);
        self
    }

    /// With another component beside the built ones.
    #[must_use]
    pub fn with(mut self, file: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.components.push((file.to_owned(), bytes.into()));
        self
    }

    /// With this log filter.
    #[must_use]
    pub fn log(mut self, filter: &str) -> Self {
        self.log = filter.to_owned();
        self
    }

    /// With more options of `devgate run`.
    #[must_use]
    pub fn args(mut self, more: &[&str]) -> Self {
        self.more.extend(more.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// With this in its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In a control group, from its first instruction.
    #[must_use]
    pub fn inside(mut self, group: &MemoryGroup) -> Self {
        self.group = Some(group.procs());
        self
    }

    /// With a log that nobody reads: the other end of its pipe is closed.
    #[must_use]
    pub fn unheard(mut self) -> Self {
        self.heard = false;
        self
    }

    /// Starts a stand-in and the host.
    ///
    /// # Errors
    /// When something needed has not been built, or the processes cannot be started.
    pub async fn start(self) -> anyhow::Result<Host> {
        let dir = tempfile::Builder::new().prefix("dg-").tempdir()?;
        let config = StandInConfig {
            pod_resources_dir: Some(dir.path().join("pods")),
            ..StandInConfig::new(dir.path().join("plugins"))
        };
        let kubelet = StandIn::new(config).await?;
        self.start_in(dir, kubelet)
    }

    /// Starts the host for a stand-in that is there, or is not yet. `dir` is the host's, with `plugins` in it.
    ///
    /// # Errors
    /// As [`Setup::start`].
    pub fn start_in(self, dir: TempDir, kubelet: StandIn) -> anyhow::Result<Host> {
        let root = dir.path();
        std::fs::write(root.join("policy.yaml"), &self.policy)?;
        for built in std::fs::read_dir(crate::components()?)? {
            let built = built?;
            std::fs::copy(built.path(), root.join(built.file_name()))?;
        }
        for (file, bytes) in &self.components {
            std::fs::write(root.join(file), bytes)?;
        }
        let node_root = match (&self.recording, &self.tree) {
            (None, Some(text)) => {
                crate::tree::make(&root.join("node"), text)?;
                root.join("node")
            }
            (None, None) if self.files.is_empty() => self.node_root.clone(),
            (None, None) => {
                files::make(&root.join("node"), &self.files)?;
                root.join("node")
            }
            (Some(text), _) => {
                std::fs::write(root.join("node.umockdev"), text)?;
                root.join("node.umockdev")
            }
        };
        let mut host = Host {
            kubelet,
            dir,
            node_root,
            names: ("policy.yaml".to_owned(), "status.sock".to_owned()),
            log_filter: self.log,
            heard: self.heard,
            more: self.more,
            variables: self.variables,
            group: self.group,
            child: None,
            log: Arc::default(),
        };
        host.spawn()?;
        Ok(host)
    }
}
