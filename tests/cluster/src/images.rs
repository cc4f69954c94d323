//! The node's images.

use crate::archive;
use crate::cluster::Cluster;
use crate::wait::until;
use anyhow::Result;
use std::path::Path;

/// A container with a shell and little else, which pods are made of.
pub(crate) const BUSYBOX: &str = "registry.example.com/busybox:1";

impl Cluster {
    /// Gives the node what its pods are made of, once containerd answers.
    ///
    /// # Errors
    /// When it does not take it.
    pub(crate) fn images(&self) -> Result<()> {
        until("containerd", 30, || self.ctr(&["version"]))?;
        let file = self.given.dir.join("work/image.tar");
        let busybox = Path::new("/bin/busybox");
        let sleep = ["/bin/busybox", "sleep", "2147483647"];
        archive::write(&file, "registry.example.com/pause:1", &[("bin/busybox", busybox)], &sleep)?;
        self.load(&file)?;
        archive::write(&file, BUSYBOX, &[("bin/busybox", busybox), ("bin/sh", busybox)], &["/bin/sh"])?;
        self.load(&file)
    }

    /// Gives the node an image.
    ///
    /// # Errors
    /// When containerd does not take it.
    pub(crate) fn load(&self, archive: &Path) -> Result<()> {
        self.ctr(&["images", "import", "--all-platforms", &archive.display().to_string()]).map(drop)
    }
}
