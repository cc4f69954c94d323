//! devgate on the node: its image, its component, its pods, and what scenarios begin with.

use crate::archive;
use crate::cluster::Cluster;
use crate::part::Signal;
use crate::process;
use crate::wait::until;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;

/// What pods ask for.
pub(crate) const DISK: &str = "example.com/disk";

/// Where the image is said to be; nothing is pulled, as the node has it.
pub(crate) const REPOSITORY: &str = "registry.example.com/devgate";

/// The component of policies, beneath [`COMPONENTS`].
pub(crate) const COMPONENT: &str = "generic.wasm";

/// The directory of the node that components are in.
pub(crate) const COMPONENTS: &str = "/var/lib/devgate/components.d";

impl Cluster {
    /// A file of the node, as a path that can be read and written from here.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.node_root().join(path.trim_start_matches('/'))
    }

    /// Puts the component where the policy finds it.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub(crate) fn bring_component(&self) -> Result<()> {
        let folder = self.file(COMPONENTS);
        std::fs::create_dir_all(&folder)?;
        let new = folder.join("new");
        std::fs::copy(self.given.components.join(COMPONENT), &new).context("copy the component")?;
        Ok(std::fs::rename(new, folder.join(COMPONENT))?)
    }

    /// Gives the node devgate's image under the name that the chart has.
    ///
    /// # Errors
    /// When containerd does not take it.
    pub(crate) fn bring_image(&self, tag: &str) -> Result<()> {
        let name = format!("{REPOSITORY}:{tag}");
        let loaded = self.ctr(&["images", "import", &self.given.image.display().to_string()])?;
        let reference = loaded
            .split_whitespace()
            .find(|word| word.contains("devgate:"))
            .with_context(|| format!("ctr names no image: {loaded}"))?;
        if reference != name {
            self.ctr(&["images", "tag", "--force", reference, &name])?;
        }
        Ok(())
    }

    /// Gives the node another image, of the version before where one is given or else of the same program, and says its name.
    ///
    /// # Errors
    /// When containerd does not take it.
    pub(crate) fn bring_other_image(&self) -> Result<String> {
        let name = format!("{REPOSITORY}:other");
        let file = self.given.dir.join("work/other.tar");
        let program = self.given.before.as_ref().unwrap_or(&self.given.program);
        // A version before may be a single program.
        let beside = ["devgate-runner", "devgate-compile", "devgate-pull", "devgate-agent"]
            .map(|name| (name, program.with_file_name(name)));
        let beside = beside.iter().filter(|(_, file)| file.is_file());
        let mut files = vec![("devgate", program.as_path())];
        files.extend(beside.map(|(name, file)| (*name, file.as_path())));
        archive::write(&file, &name, &files, &["/devgate"])?;
        self.load(&file)?;
        Ok(name)
    }

    /// What some scenarios begin with: a cluster in which devgate is not, and nothing of it on the node.
    ///
    /// # Errors
    /// When that does not come about.
    pub(crate) fn bare(&mut self) -> Result<()> {
        self.in_order()?;
        self.uninstall()?;
        let state = self.file("/var/lib/devgate");
        if state.exists() {
            std::fs::remove_dir_all(&state).with_context(|| format!("remove {}", state.display()))?;
        }
        Ok(())
    }

    /// What most scenarios begin with: no pods of an earlier one, all disks there, devgate installed with its first policy, ready.
    ///
    /// # Errors
    /// When that does not come about.
    pub(crate) fn fresh(&mut self) -> Result<()> {
        self.in_order()?;
        if self.is_installed() && self.as_at_first().is_ok() {
            return Ok(());
        }
        // What an earlier scenario left is not worth more.
        self.uninstall()?;
        self.install_and_wait()
    }

    fn as_at_first(&self) -> Result<()> {
        self.bring_component()?;
        let config = self.get("/api/v1/namespaces/devgate/configmaps/devgate-policy")?;
        if config["data"]["disks.yaml"] != Value::String(self.policy()?) {
            self.change_policy(&self.policy()?)?;
        }
        self.devgate_is_ready(30)?;
        self.allocatable(self.disks.names().len(), 60)
    }

    fn in_order(&mut self) -> Result<()> {
        self.leave()?;
        self.start("containerd")?;
        self.start("kubelet")?;
        self.node_is_ready(60)?;
        self.delete_pods()?;
        // Where cleanup is, devgate's pod is not placed.
        self.kubectl(&["delete", "namespace", "devgate-cleanup", "--ignore-not-found", "--timeout=60s"])?;
        self.disks.names().iter().try_for_each(|name| self.disks.plug(name))
    }

    /// devgate's pods, those that end too.
    ///
    /// # Errors
    /// When the API server answers with an error.
    pub(crate) fn devgate_pods(&self) -> Result<Vec<Value>> {
        self.list("/api/v1/namespaces/devgate/pods?labelSelector=app.kubernetes.io%2Fname%3Ddevgate")
    }

    /// devgate's pod, which does not end.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn devgate(&self) -> Result<Value> {
        let pods = self.devgate_pods()?;
        let stays = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_null() && pod["status"]["phase"] != "Failed";
        pods.into_iter().find(stays).context("there is no pod of devgate")
    }

    /// The name of devgate's pod.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn devgate_name(&self) -> Result<String> {
        let pod = self.devgate()?;
        Ok(pod["metadata"]["name"].as_str().context("a pod without a name")?.to_owned())
    }

    /// Whether devgate's pod is ready, and what the API server shows of it if not.
    ///
    /// # Errors
    /// When it is not ready.
    pub(crate) fn ready(&self) -> Result<()> {
        let pod = self.devgate()?;
        let container = &pod["status"]["containerStatuses"][0];
        if container["ready"] != true {
            bail!("devgate's pod is not ready: {}, {}", pod["status"]["phase"], container["state"]);
        }
        Ok(())
    }

    /// Waits until devgate's pod is ready.
    ///
    /// # Errors
    /// When it is not in time.
    pub(crate) fn devgate_is_ready(&self, seconds: u64) -> Result<()> {
        until("devgate to be ready", seconds, || self.ready())
    }

    /// Waits until the node has so many disks for pods.
    ///
    /// # Errors
    /// When it has another number at the end of the time.
    pub(crate) fn allocatable(&self, disks: usize, seconds: u64) -> Result<()> {
        until(&format!("{disks} of {DISK} to be allocatable"), seconds, || {
            match self.node_has("allocatable", DISK)? {
                Some(amount) if amount == u64::try_from(disks)? => Ok(()),
                Some(amount) => bail!("the node has {amount}"),
                None => bail!("the node does not know of it"),
            }
        })
    }

    /// Waits until the node counts no disk: what an earlier scenario had is not what the next one has.
    ///
    /// # Errors
    /// When it still counts some.
    pub(crate) fn counts_no_disk(&self, seconds: u64) -> Result<()> {
        until("the node to count no disk", seconds, || match self.node_has("allocatable", DISK)? {
            None | Some(0) => Ok(()),
            Some(left) => bail!("it counts {left}"),
        })
    }

    /// Runs one of devgate's commands in its container, as an admin does.
    ///
    /// # Errors
    /// When it ends with another code than 0; what it printed is in the error.
    pub(crate) fn in_devgate(&self, words: &[&str]) -> Result<String> {
        let name = self.devgate_name()?;
        self.kubectl(&[&["-n", "devgate", "exec", &name, "--", "/devgate"], words].concat())
    }

    /// Runs devgatectl as an admin does, with kubectl in the PATH.
    ///
    /// # Errors
    /// When it was not built with this program, or ends with another code than 0; what it printed is in the error.
    pub(crate) fn devgatectl(&self, words: &[&str]) -> Result<String> {
        let program = std::env::current_exe()?.with_file_name("devgatectl");
        let kubectl = self.given.kubectl.parent().map(|dir| dir.display().to_string()).unwrap_or_default();
        let path = format!("{kubectl}:{}", std::env::var("PATH").unwrap_or_default());
        process::read(self.admin(&program).args(words).env("PATH", path))
    }

    /// The version that the chart installs.
    ///
    /// # Errors
    /// When Helm cannot read the chart.
    pub(crate) fn version(&self) -> Result<String> {
        let chart =
            process::read(std::process::Command::new(&self.given.helm).args(["show", "chart"]).arg(&self.given.chart))?;
        let line =
            chart.lines().find_map(|line| line.strip_prefix("appVersion:")).context("the chart has no appVersion")?;
        Ok(line.trim().trim_matches('"').to_owned())
    }

    /// Prints what a person looks at first when a scenario has failed.
    pub(crate) fn show(&self) {
        let ask = |words: &[&str]| self.kubectl(words).unwrap_or_else(|error| format!("{error:#}"));
        let mut text = String::new();
        for words in [
            &["get", "pods", "-A", "-o", "wide"][..],
            &["get", "events", "-A", "--sort-by=.lastTimestamp"],
            &["-n", "devgate", "logs", "daemonset/devgate", "--tail=30"],
        ] {
            let answer = ask(words);
            let from = answer.lines().count().saturating_sub(30);
            let end: Vec<_> = answer.lines().skip(from).collect();
            let _infallible = writeln!(text, "$ kubectl {}\n{}", words.join(" "), end.join("\n"));
        }
        println!("{text}");
    }

    /// Whether the kubelet was told to end with this signal, and came back.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn restart_kubelet(&mut self, signal: Signal) -> Result<()> {
        self.stop("kubelet", signal)?;
        self.start("kubelet")
    }
}
