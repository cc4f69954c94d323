//! Installing devgate with its chart, as an admin does, and taking it away.

use crate::cluster::Cluster;
use crate::devgate::REPOSITORY;
use crate::process;
use crate::wait::until;
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

impl Cluster {
    /// Installs it, and does not wait.
    ///
    /// # Errors
    /// When any step fails.
    pub(crate) fn install(&self) -> Result<()> {
        self.install_with(&self.policy()?)
    }

    /// The same with another policy.
    ///
    /// # Errors
    /// When any step fails.
    pub(crate) fn install_with(&self, policy: &str) -> Result<()> {
        self.bring_component()?;
        self.install_without_component(policy)
    }

    /// The same on a node that the component has not come to.
    ///
    /// # Errors
    /// When any step fails.
    pub(crate) fn install_without_component(&self, policy: &str) -> Result<()> {
        self.install_with_values(policy, json!({}))
    }

    /// Installs it with the first policy for the nodes that have a label with the value `true`.
    ///
    /// # Errors
    /// When any step fails.
    pub(crate) fn install_on(&self, label: &str) -> Result<()> {
        self.bring_component()?;
        self.install_with_values(&self.policy()?, json!({"nodeSelector": {label: "true"}}))
    }

    /// Installs it with an agent, and with this policy.
    ///
    /// # Errors
    /// When any step fails.
    pub(crate) fn install_with_agent(&self, policy: &str) -> Result<()> {
        self.bring_component()?;
        self.install_with_values(policy, with_agent())
    }

    /// Installs it with an agent that tells the cluster how it is, and has nothing to do with claims.
    ///
    /// # Errors
    /// When any step fails.
    pub(crate) fn install_telling(&self) -> Result<()> {
        self.bring_component()?;
        self.install_with_values(&self.policy()?, json!({"overlays": {"events": true, "nodeCondition": true}}))
    }

    /// The same with another policy, where it is installed.
    ///
    /// # Errors
    /// When Helm fails.
    pub(crate) fn change_telling(&self, policy: &str) -> Result<()> {
        let words = ["upgrade", "devgate", &self.given.chart.display().to_string()];
        self.helm_with(&words, policy, json!({"overlays": {"events": true, "nodeCondition": true}})).map(drop)
    }

    /// Another policy, where there is an agent.
    ///
    /// # Errors
    /// When Helm fails.
    pub(crate) fn change_with_agent(&self, policy: &str) -> Result<()> {
        let words = ["upgrade", "devgate", &self.given.chart.display().to_string()];
        self.helm_with(&words, policy, with_agent()).map(drop)
    }

    fn install_with_values(&self, policy: &str, values: Value) -> Result<()> {
        self.bring_image(&self.version()?)?;
        let namespace = "
apiVersion: v1
kind: Namespace
metadata: {name: devgate, labels: {pod-security.kubernetes.io/enforce: privileged}}";
        self.apply(namespace)?;
        let words = ["install", "devgate", &self.given.chart.display().to_string()];
        self.helm_with(&words, policy, values).map(drop)
    }

    /// Installs it, until the node shows every disk.
    ///
    /// # Errors
    /// When that does not come about.
    pub(crate) fn install_and_wait(&self) -> Result<()> {
        self.install()?;
        self.devgate_is_ready(60)?;
        self.allocatable(self.disks.names().len(), 60)
    }

    /// Another policy, in the config map that the chart makes.
    ///
    /// # Errors
    /// When Helm fails.
    pub(crate) fn change_policy(&self, policy: &str) -> Result<()> {
        self.helm(&["upgrade", "devgate", &self.given.chart.display().to_string()], policy)
    }

    /// The same over devices by name, in place of what is installed.
    ///
    /// # Errors
    /// When Helm fails.
    pub(crate) fn name_devices(&self) -> Result<()> {
        let words = ["upgrade", "devgate", &self.given.chart.display().to_string()];
        self.helm_with(&words, &self.policy()?, json!({"overlays": {"cdiEdits": true}})).map(drop)
    }

    /// Another policy, in a config map of its own with which the next pod comes.
    ///
    /// # Errors
    /// When Helm fails.
    pub(crate) fn roll_policy(&self, policy: &str) -> Result<()> {
        let chart = self.given.chart.display().to_string();
        self.helm(&["upgrade", "devgate", &chart, "--set", "policy.rollout=pods"], policy)
    }

    /// Goes back to what the release was before.
    ///
    /// # Errors
    /// When Helm fails.
    pub(crate) fn roll_back(&self) -> Result<()> {
        process::read(self.admin(&self.given.helm).args(["rollback", "devgate", "--namespace", "devgate"])).map(drop)
    }

    /// Installs it for groups of nodes by their label `example.com/kind`, each with the first policy.
    ///
    /// # Errors
    /// When Helm fails.
    pub(crate) fn install_groups(&self, groups: &[&str]) -> Result<()> {
        let policy = json!({"files": {"disks.yaml": self.policy()?}});
        let group =
            |name: &&str| ((*name).to_owned(), json!({"nodeSelector": {"example.com/kind": name}, "policy": policy}));
        let groups: Map<_, _> = groups.iter().map(group).collect();
        let words = ["install", "devgate", &self.given.chart.display().to_string()];
        self.helm_with(&words, "", json!({"groups": groups, "policy": {}})).map(drop)
    }

    fn helm(&self, words: &[&str], policy: &str) -> Result<()> {
        self.helm_with(words, policy, json!({})).map(drop)
    }

    /// Installs it without a policy; what Helm says then.
    ///
    /// # Errors
    /// When Helm fails.
    pub(crate) fn install_without_policy(&self) -> Result<String> {
        let words = ["install", "devgate", &self.given.chart.display().to_string(), "--create-namespace"];
        let said = self.helm_with(&words, "", json!({"policy": {}}))?;
        self.kubectl(&["label", "namespace", "devgate", "pod-security.kubernetes.io/enforce=privileged"])?;
        Ok(said)
    }

    fn helm_with(&self, words: &[&str], policy: &str, besides: Value) -> Result<String> {
        let values = self.given.dir.join("work/values.yaml");
        // A version before does not know how to take over.
        let take_over = if self.given.before.is_some() { "never" } else { "as-many" };
        let mut text = json!({
            "image": {"repository": REPOSITORY},
            "policy": {"files": {"disks.yaml": policy}},
            "updateStrategy": {"takeOver": take_over},
        });
        for (key, value) in besides.as_object().into_iter().flatten() {
            text[key] = value.clone();
        }
        std::fs::write(&values, text.to_string())?;
        let mut helm = self.admin(&self.given.helm);
        helm.args(words).args(["--namespace", "devgate", "--values"]).arg(&values);
        process::read(&mut helm)
    }

    /// Uninstalls it, until its pod is gone; content where it is not installed.
    ///
    /// # Errors
    /// When Helm fails, or the pod stays.
    pub(crate) fn uninstall(&self) -> Result<()> {
        if self.is_installed() {
            process::read(self.admin(&self.given.helm).args(["uninstall", "devgate", "--namespace", "devgate"]))?;
        }
        // The garbage collector, which ends it, may ask a minute after the API server was away.
        until("the end of devgate's pod", 150, || match self.devgate_pods()?.len() {
            0 => Ok(()),
            left => bail!("{left} of its pods are left"),
        })
    }

    /// Installs what takes away from the node what devgate has left, beside nothing.
    ///
    /// # Errors
    /// When Helm fails.
    pub(crate) fn install_cleanup(&self) -> Result<()> {
        let mut helm = self.admin(&self.given.helm);
        helm.args(["install", "devgate-cleanup"]).arg(&self.given.chart);
        helm.args(["--namespace", "devgate", "--set", "cleanup=true", "--set"]);
        process::read(helm.arg(format!("image.repository={REPOSITORY}"))).map(drop)
    }

    /// Takes it away, until its pods are gone.
    ///
    /// # Errors
    /// When Helm fails, or a pod stays.
    pub(crate) fn uninstall_cleanup(&self) -> Result<()> {
        let words = ["uninstall", "devgate-cleanup", "--namespace", "devgate"];
        let wait = ["--wait", "--cascade=foreground", "--timeout=60s"];
        process::read(self.admin(&self.given.helm).args(words).args(wait)).map(drop)
    }

    pub(crate) fn is_installed(&self) -> bool {
        process::read(self.admin(&self.given.helm).args(["status", "devgate", "--namespace", "devgate"])).is_ok()
    }
}

/// Values for an agent, and all that it can do.
fn with_agent() -> Value {
    json!({"overlays": {"dra": true, "events": true, "nodeCondition": true}})
}
