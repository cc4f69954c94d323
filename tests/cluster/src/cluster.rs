//! The cluster: bringing it up, its parts, and what an admin has of it.

use crate::audit::AUDIT_LOG;
use crate::configs::{ADDRESS, ADDRESS2};
use crate::disks::Disks;
use crate::part::{Part, Signal};
use crate::space::{self, CTR, Space};
use crate::wait::until;
use crate::{configs, keys, needs, process, second};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Instant;

/// What the cluster is made of.
pub(crate) struct Given {
    /// Where its files and logs lie.
    pub(crate) dir: PathBuf,
    /// kubelet, kube-apiserver, kube-controller-manager, kube-scheduler and etcd.
    pub(crate) kubernetes: PathBuf,
    /// The archive of devgate's image.
    pub(crate) image: PathBuf,
    /// The chart.
    pub(crate) chart: PathBuf,
    /// The chart's profiles as a release has them rendered.
    pub(crate) rendered: PathBuf,
    /// What a release has for registries, if it was made.
    pub(crate) layout: Option<PathBuf>,
    /// The static program.
    pub(crate) program: PathBuf,
    /// The static program of the version before, if there is one.
    pub(crate) before: Option<PathBuf>,
    /// The components.
    pub(crate) components: PathBuf,
    /// The repository.
    pub(crate) root: PathBuf,
    /// kubectl.
    pub(crate) kubectl: PathBuf,
    /// Helm.
    pub(crate) helm: PathBuf,
    /// The longer forms of scenarios.
    pub(crate) long: bool,
    /// Left up, or used again.
    pub(crate) keep: bool,
}

/// A whole cluster of one node.
pub(crate) struct Cluster {
    /// What it is made of.
    pub(crate) given: Given,
    /// Where the API server is.
    plane: Space,
    /// Where the kubelet is.
    node: Space,
    /// A second node, for scenarios that ask for it.
    pub(crate) second: Option<Space>,
    /// What runs on the node.
    parts: BTreeMap<&'static str, Part>,
    /// The hardware.
    pub(crate) disks: Disks,
    guard: Option<Child>,
    notes: Vec<String>,
}

/// A kubelet's user is authorized as a node, which without admission's bookkeeping is a role.
const ROLE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: nodes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:node'}
subjects: [{kind: Group, name: 'system:nodes', apiGroup: rbac.authorization.k8s.io}]
";

impl Cluster {
    /// Brings it up, until its node is ready; or uses the one that was left up.
    ///
    /// # Errors
    /// When anything is missing or does not come.
    pub(crate) fn up(given: Given) -> Result<Self> {
        if space::is_up(&given.dir) {
            if given.keep {
                return Self::again(given);
            }
            bail!("{}: a cluster is up; use it with --keep, or end it with --down", given.dir.display());
        }
        let start = Instant::now();
        needs::all(&given.kubernetes)?;
        let dir = given.dir.clone();
        let _logs_of_an_earlier_one = std::fs::remove_dir_all(dir.join("log"));
        for name in ["log", "work", "keys", "conf"] {
            std::fs::create_dir_all(dir.join(name))?;
        }
        let cgroup = format!("devgate{}", std::process::id());
        std::fs::write(dir.join("cgroup"), &cgroup)?;
        let guard = space::guard(&dir)?;
        space::make_cgroups(&cgroup)?;
        space::make_cgroups(&format!("{cgroup}2"))?;
        let disks = Disks::make(&dir)?;
        keys::make(&dir.join("keys"))?;
        let cni = needs::cni().context("the plugins of CNI")?;
        configs::write(&dir.join("conf"), &dir.join("keys"), &cni, &cgroup)?;
        let plane = Space::plane(&dir)?;
        let node = plane.node(&dir)?;
        let mut cluster = Self {
            given,
            plane,
            node,
            second: None,
            parts: BTreeMap::new(),
            disks,
            guard: Some(guard),
            notes: Vec::new(),
        };
        cluster.start("etcd")?;
        cluster.start("kube-apiserver")?;
        cluster.start("containerd")?;
        cluster.images()?;
        until("the API server", 120, || cluster.api("/readyz"))?;
        cluster.start("kube-controller-manager")?;
        cluster.start("kube-scheduler")?;
        cluster.start("kubelet")?;
        cluster.apply(ROLE)?;
        cluster.node_is_ready(120)?;
        until("the service account of pods", 60, || cluster.api("/api/v1/namespaces/default/serviceaccounts/default"))?;
        println!(
            "the cluster is up after {:.1} s; logs are in {}",
            start.elapsed().as_secs_f64(),
            dir.join("log").display()
        );
        Ok(cluster)
    }

    fn again(given: Given) -> Result<Self> {
        let (plane, node) = (Space::of(&given.dir, "plane")?, Space::of(&given.dir, "node")?);
        let mut parts = BTreeMap::new();
        for name in ["containerd", "kubelet"] {
            parts.insert(name, Part::of(&node, &given.dir, name)?);
        }
        let disks = Disks::of(&given.dir)?;
        Ok(Self { given, plane, node, second: None, parts, disks, guard: None, notes: Vec::new() })
    }

    /// Starts a part that does not run.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(&mut self, name: &'static str) -> Result<()> {
        if self.parts.get(name).is_some_and(Part::runs) {
            return Ok(());
        }
        let (dir, keys, conf) = (self.given.dir.display(), self.given.dir.join("keys"), self.given.dir.join("conf"));
        let (keys, conf) = (keys.display(), conf.display());
        let words = match name {
            "etcd" => format!("--data-dir={dir}/work/etcd --unsafe-no-fsync"),
            "kube-apiserver" => format!(
                "--etcd-servers=http://127.0.0.1:2379 --bind-address=0.0.0.0 --secure-port=443 --advertise-address={ADDRESS} \
                 --client-ca-file={keys}/ca.crt --tls-cert-file={keys}/apiserver.crt --tls-private-key-file={keys}/apiserver.key \
                 --kubelet-client-certificate={keys}/admin.crt --kubelet-client-key={keys}/admin.key \
                 --kubelet-certificate-authority={keys}/ca.crt --kubelet-preferred-address-types=InternalIP \
                 --service-account-issuer=https://kubernetes.default.svc --service-account-key-file={keys}/accounts.pub \
                 --service-account-signing-key-file={keys}/accounts.key --service-cluster-ip-range=10.96.0.0/16 \
                 --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
                 --audit-policy-file={conf}/audit.yaml --audit-log-path={dir}/{AUDIT_LOG}"
            ),
            "kube-controller-manager" => format!(
                "--kubeconfig={conf}/controller-manager.kubeconfig --service-account-private-key-file={keys}/accounts.key \
                 --root-ca-file={keys}/ca.crt --use-service-account-credentials=true --leader-elect=false"
            ),
            "kube-scheduler" => format!("--kubeconfig={conf}/scheduler.kubeconfig --leader-elect=false"),
            "containerd" | "containerd2" => format!("--config {conf}/{name}.toml"),
            "kubelet" | "kubelet2" => {
                let (node, address) = if name == "kubelet" { ("node1", ADDRESS) } else { (second::NODE, ADDRESS2) };
                format!(
                    "--config={conf}/{name}.yaml --kubeconfig={conf}/{name}.kubeconfig --hostname-override={node} --node-ip={address}"
                )
            }
            _ => bail!("there is no part {name}"),
        };
        let program = match name.trim_end_matches('2') {
            program @ "containerd" => PathBuf::from(program),
            program => std::path::absolute(self.given.kubernetes.join(program))?,
        };
        let space = match name {
            "containerd" | "kubelet" => &self.node,
            "containerd2" | "kubelet2" => self.second.as_ref().context("there is no second node")?,
            _ => &self.plane,
        };
        let words: Vec<_> =
            std::iter::once(program.display().to_string()).chain(words.split_whitespace().map(str::to_owned)).collect();
        let part = Part::start(space, &self.given.dir, name, &words)?;
        self.parts.insert(name, part);
        Ok(())
    }

    /// Where the API server is.
    pub(crate) const fn plane(&self) -> &Space {
        &self.plane
    }

    /// Parts that have ended with their node.
    pub(crate) fn forget(&mut self, names: &[&'static str]) {
        for name in names {
            self.parts.remove(name);
        }
    }

    /// Ends a part, and comes back when it has ended.
    ///
    /// # Errors
    /// When it does not end.
    pub(crate) fn stop(&mut self, name: &'static str, signal: Signal) -> Result<()> {
        self.parts.get(name).map_or(Ok(()), |part| part.stop(signal))
    }

    /// The node loses power and boots: its disk stays, `/run` and every process are gone. `before` happens when it has booted and neither
    /// containerd nor the kubelet runs.
    ///
    /// # Errors
    /// When it does not come up.
    pub(crate) fn reboot(&mut self, before: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        self.node.kill()?;
        self.forget(&["containerd", "kubelet"]);
        space::forget_cgroups(&self.given.dir)?;
        self.node = self.plane.node(&self.given.dir)?;
        before(self)?;
        self.start("containerd")?;
        until("containerd", 30, || self.ctr(&["version"]))?;
        self.start("kubelet")
    }

    /// Runs a program of the node as a service of it, which goes on, and ends with the node.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn service(&self, name: &'static str, words: &[&str]) -> Result<()> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        Part::start(&self.node, &self.given.dir, name, &words).map(drop)
    }

    /// Ends a service of the node.
    ///
    /// # Errors
    /// When it does not end.
    pub(crate) fn end_service(&self, name: &'static str) -> Result<()> {
        Part::of(&self.node, &self.given.dir, name)?.stop(Signal::Term)
    }

    /// Runs a program of the node, where its files are.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn node(&self, words: &[&str]) -> Result<String> {
        let (program, rest) = words.split_first().context("a program")?;
        process::read(self.node.command(program).args(rest))
    }

    /// A command to be run on the node.
    pub(crate) fn on_node(&self, program: &str) -> Command {
        self.node.command(program)
    }

    /// The node's files, as a path from outside.
    pub(crate) fn node_root(&self) -> PathBuf {
        self.node.root()
    }

    /// A command with the node's files, which is no process of the node: it can be ended from here.
    pub(crate) fn beside_node(&self, program: &str) -> Command {
        self.node.beside(program)
    }

    /// Runs containerd's `ctr`.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn ctr(&self, words: &[&str]) -> Result<String> {
        self.node(&[&CTR[..], words].concat())
    }

    /// Runs kubectl as the admin.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn kubectl(&self, words: &[&str]) -> Result<String> {
        process::read(self.admin(&self.given.kubectl).args(words))
    }

    /// `kubectl apply` of a text.
    ///
    /// # Errors
    /// When it is not taken.
    pub(crate) fn apply(&self, manifest: &str) -> Result<()> {
        process::read_with(self.admin(&self.given.kubectl).args(["apply", "-f", "-"]), manifest).map(drop)
    }

    /// A program of this machine that speaks to the API server, as the admin.
    pub(crate) fn admin(&self, program: &Path) -> Command {
        let mut command = self.plane.in_network(program);
        command.env("KUBECONFIG", self.given.dir.join("conf/admin.kubeconfig"));
        command
    }

    /// A program in the node's network, with this machine's files.
    pub(crate) fn in_network(&self, program: &str) -> Command {
        self.plane.in_network(program)
    }

    /// Waits until the node is ready by what its kubelet said after it was started.
    ///
    /// # Errors
    /// When it is not in time.
    pub(crate) fn node_is_ready(&self, seconds: u64) -> Result<()> {
        self.is_ready("node1", seconds)
    }

    /// The same of a node by its name.
    ///
    /// # Errors
    /// When it is not in time.
    pub(crate) fn is_ready(&self, node: &str, seconds: u64) -> Result<()> {
        until("a node that is ready", seconds, || {
            let is = self.get(&format!("/api/v1/nodes/{node}"))?;
            let conditions = is["status"]["conditions"].as_array().context("no conditions")?;
            if !conditions.iter().any(|is| is["type"] == "Ready" && is["status"] == "True") {
                bail!("{node} is not ready");
            }
            Ok(())
        })
    }

    /// Keeps a line for the end of the run: something that was measured.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        println!("measured: {text}");
        self.notes.push(text);
    }

    /// Everything that was measured.
    pub(crate) fn notes(&self) -> String {
        self.notes.iter().fold(String::new(), |mut text, note| {
            let _infallible = writeln!(text, "measured: {note}");
            text
        })
    }

    /// Ends everything, and comes back when nothing of it is left but its logs.
    ///
    /// # Errors
    /// When something could not be taken away.
    pub(crate) fn down(mut self) -> Result<Given> {
        let Some(mut guard) = self.guard.take() else {
            return Ok(self.given);
        };
        drop(guard.stdin.take());
        let status = guard.wait()?;
        if !status.success() || space::is_up(&self.given.dir) {
            bail!("not everything of {} was taken away: {status}", self.given.dir.display());
        }
        Ok(self.given)
    }

    /// Ends it and brings up another, with what was measured so far: what a scenario that failed has left, as a pod that cannot end, fails
    /// no other. Its logs stay beside the new ones, under its name.
    ///
    /// # Errors
    /// When something could not be taken away, or anything of the new one does not come.
    pub(crate) fn renew(mut self, failed: &str) -> Result<Self> {
        let notes = std::mem::take(&mut self.notes);
        let given = self.down()?;
        let (logs, kept) = (given.dir.join("log"), given.dir.join(format!("log-{failed}")));
        let _of_an_earlier_run = std::fs::remove_dir_all(&kept);
        std::fs::rename(logs, &kept).with_context(|| format!("rename the logs to {}", kept.display()))?;
        println!("the logs of {failed} are in {}", kept.display());
        Ok(Self { notes, ..Self::up(given)? })
    }

    /// Leaves it up.
    pub(crate) fn say_how_to_use(mut self) {
        if let Some(mut guard) = self.guard.take() {
            let _ended = guard.kill().and_then(|()| guard.wait());
        }
        let dir = self.given.dir.display();
        println!("\nthe cluster is up:");
        println!("  export KUBECONFIG={dir}/conf/admin.kubeconfig");
        println!("  {} kubectl get pods -A      # the node's files, processes and network", self.node.way_in());
        println!("  cargo xtask cluster --keep SCENARIO…   # plays on it");
        println!("  cargo xtask cluster --down             # ends it");
    }
}
