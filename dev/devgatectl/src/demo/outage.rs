//! A device that fails for a moment: a node renamed away where that does no harm, or a recording edited.

use super::machine::Offered;
use anyhow::Context;
use std::path::{Path, PathBuf};

/// The device that fails, and how. Comes back when dropped.
pub(super) struct Outage {
    pub(super) resource: String,
    pub(super) id: String,
    pub(super) node: String,
    how: How,
    begun: bool,
}

enum How {
    /// A node of this machine is renamed and renamed back.
    Rename { from: PathBuf, to: PathBuf },
    /// A recording loses the line of a node and gets it back.
    Edit { recording: PathBuf, whole: String, without: String },
}

/// Resources whose nodes may go for a second: no console or disk in use. The last device of them is the least used.
const HARMLESS: [&str; 4] = ["devgate.dev/loop", "devgate.dev/serial", "devgate.dev/kvm", "devgate.dev/fuse"];

impl Outage {
    /// What can fail here, if anything: `played` is the recording that the host reads, or the same as `root`.
    pub(super) fn find(root: &Path, played: &Path, offered: &[Offered]) -> Option<Self> {
        let by_name = |resource: &&str| offered.iter().find(|o| o.resource == **resource);
        let (found, (id, node)) = HARMLESS.iter().filter_map(by_name).find_map(|o| Some((o, o.nodes.last()?)))?;
        let how = if root.is_file() { Self::edit(played, node)? } else { Self::rename(root, node)? };
        Some(Self { resource: found.resource.clone(), id: id.clone(), node: node.clone(), how, begun: false })
    }

    fn rename(root: &Path, node: &str) -> Option<How> {
        let from = root.join(node.trim_start_matches('/'));
        let name = from.file_name()?.to_str()?.to_owned();
        let to = from.with_file_name(format!(".devgate-demo-{name}"));
        // Tried and taken back at once: whether it may be done is the kernel's to say.
        std::fs::rename(&from, &to).ok()?;
        std::fs::rename(&to, &from).ok()?;
        Some(How::Rename { from, to })
    }

    fn edit(recording: &Path, node: &str) -> Option<How> {
        let whole = std::fs::read_to_string(recording).ok()?;
        let line = format!("N: {}\n", node.strip_prefix("/dev/")?);
        let without = whole.replacen(&line, "", 1);
        (without != whole).then(|| How::Edit { recording: recording.to_owned(), whole, without })
    }

    /// What is done, in a few words.
    pub(super) fn describe(&self) -> String {
        match &self.how {
            How::Rename { .. } => format!("{} is renamed away for a moment", self.node),
            How::Edit { .. } => format!("{} vanishes from the recorded node for a moment", self.node),
        }
    }

    /// The device fails.
    pub(super) fn begin(&mut self) -> anyhow::Result<()> {
        match &self.how {
            How::Rename { from, to } => std::fs::rename(from, to).with_context(|| self.node.clone())?,
            How::Edit { recording, without, .. } => replace(recording, without)?,
        }
        self.begun = true;
        Ok(())
    }

    /// The device is back.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.begun) {
            match &self.how {
                How::Rename { from, to } => std::fs::rename(to, from).with_context(|| self.node.clone())?,
                How::Edit { recording, whole, .. } => replace(recording, whole)?,
            }
        }
        Ok(())
    }
}

impl Drop for Outage {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!("{error:#}");
        }
    }
}

/// Replaces a file as a whole, so that no reader gets half of it.
fn replace(file: &Path, text: &str) -> anyhow::Result<()> {
    let new = file.with_extension("new");
    std::fs::write(&new, text)?;
    std::fs::rename(&new, file)?;
    Ok(())
}
