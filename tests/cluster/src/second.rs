//! A second node of the cluster, for what is about more than one.

use crate::cluster::Cluster;
use crate::space::{CTR, Space};
use crate::wait::until;
use crate::{devgate, process};
use anyhow::{Context, Result, bail};

/// Its name.
pub(crate) const NODE: &str = "node2";

impl Cluster {
    /// Brings up a second node with all images that the first one has, until it is ready.
    ///
    /// # Errors
    /// When it does not come.
    pub(crate) fn join(&mut self) -> Result<()> {
        let second = self.plane().second_node(&self.given.dir)?;
        self.second = Some(second);
        self.start("containerd2")?;
        until("the second node's containerd", 30, || self.on_second(&[&CTR[..], &["version"]].concat()))?;
        let images = self.ctr(&["images", "list", "--quiet"])?;
        let archive = self.given.dir.join("work/images.tar").display().to_string();
        let names: Vec<_> = images.lines().filter(|name| !name.starts_with("sha256:")).collect();
        self.ctr(&[&["images", "export", "--all-platforms", &archive], &names[..]].concat())?;
        self.on_second(&[&CTR[..], &["images", "import", "--all-platforms", &archive]].concat())?;
        let folder = self.second()?.root().join(devgate::COMPONENTS.trim_start_matches('/'));
        std::fs::create_dir_all(&folder)?;
        std::fs::copy(self.given.components.join(devgate::COMPONENT), folder.join(devgate::COMPONENT))?;
        self.start("kubelet2")?;
        self.is_ready(NODE, 60)
    }

    /// The second node loses its power, and is taken out of the cluster.
    ///
    /// # Errors
    /// When it does not go.
    pub(crate) fn leave(&mut self) -> Result<()> {
        let Some(second) = self.second.take() else { return Ok(()) };
        second.kill()?;
        self.forget(&["containerd2", "kubelet2"]);
        let _own = std::fs::remove_dir_all(self.given.dir.join(NODE));
        self.kubectl(&["delete", "node", NODE])?;
        let pods = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{NODE}");
        for pod in self.list(&pods)? {
            let of = |key: &str| pod["metadata"][key].as_str().unwrap_or_default().to_owned();
            self.kubectl(&["-n", &of("namespace"), "delete", "pod", &of("name"), "--force", "--grace-period=0"])?;
        }
        until("the end of what ran on the second node", 60, || match self.list(&pods)?.len() {
            0 => Ok(()),
            left => bail!("{left} pods are left"),
        })
    }

    fn second(&self) -> Result<&Space> {
        self.second.as_ref().context("there is no second node")
    }

    fn on_second(&self, words: &[&str]) -> Result<String> {
        let (program, rest) = words.split_first().context("a program")?;
        process::read(self.second()?.command(program).args(rest))
    }
}
