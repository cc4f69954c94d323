//! The node as a whole: where it comes from.

use crate::NodeError;
use crate::live::Live;
use crate::recorded::{Change, MOST_RECORDING_BYTES, Recorded, Written};
use crate::tree::Tree;
use devgate_types::escape;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// A computer as the host sees it. Cheap to clone; clones of a recorded node share its changes.
#[derive(Clone)]
pub struct Node {
    source: Source,
}

#[derive(Clone)]
pub(crate) enum Source {
    Live(Arc<Live>),
    Recorded(Arc<Recorded>),
}

impl Node {
    /// A directory is a live node rooted there (it has `sys/` and `dev/`), a regular file a recorded one.
    ///
    /// # Errors
    /// Where it cannot be opened, is neither, or is a recording that cannot be understood.
    pub fn open(root: &Path) -> Result<Self, NodeError> {
        let failed = |source: io::Error| NodeError::Open {
            path: root.to_owned(),
            source,
        };
        // A FIFO must not hold the host. Only here is a link followed: the root is the admin's word.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = openat(CWD, root, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let stat = fstat(&opened).map_err(|errno| failed(errno.into()))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(Self::live(Live::new(opened))),
            FileType::RegularFile => {
                let name = root
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned())
                    .unwrap_or_default();
                let mut bytes = Vec::new();
                let most = MOST_RECORDING_BYTES as u64 + 1;
                File::from(opened).take(most).read_to_end(&mut bytes).map_err(failed)?;
                Self::recorded_bytes(&name, bytes)
            }
            _ => Err(NodeError::NotARoot { path: root.to_owned() }),
        }
    }

    /// A recorded node, from a description of its devices. `name` stands in the messages of errors.
    ///
    /// The text is umockdev's device description, and some lines for what it has no word for: see [`Change::AddDevices`].
    ///
    /// # Errors
    /// With the line where the text cannot be understood.
    pub fn recorded(name: &str, text: &str) -> Result<Self, NodeError> {
        Ok(Self {
            source: Source::Recorded(Arc::new(Recorded::parse(name, text)?)),
        })
    }

    fn recorded_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, NodeError> {
        if bytes.len() > MOST_RECORDING_BYTES {
            return Err(NodeError::TooLarge {
                name: escape(name, 256),
                most: MOST_RECORDING_BYTES,
            });
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
            NodeError::Malformed {
                name: escape(name, 256),
                line: 1 + good.filter(|byte| **byte == b'\n').count(),
                problem: "not UTF-8; write other bytes as \\ooo in an A: line, or use an H: line".to_owned(),
            }
        })?;
        Self::recorded(name, &text)
    }

    pub(crate) fn of_recorded(recorded: Recorded) -> Self {
        Self {
            source: Source::Recorded(Arc::new(recorded)),
        }
    }

    pub(crate) fn live(live: Live) -> Self {
        Self {
            source: Source::Live(Arc::new(live)),
        }
    }

    /// Whether this is a recording.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        matches!(self.source, Source::Recorded(_))
    }

    /// Changes a recorded node, for all its clones at once.
    ///
    /// # Errors
    /// [`NodeError::Live`] on a live node; [`NodeError::Change`] where the change names what is not there, and nothing
    /// is changed then.
    pub fn apply(&self, change: Change) -> Result<(), NodeError> {
        match &self.source {
            Source::Live(_) => Err(NodeError::Live),
            Source::Recorded(recorded) => recorded.apply(change),
        }
    }

    /// A recorded node as the text of a description, which [`Node::recorded`] reads as the same node: its changes included, its
    /// comments not. What has no words, such as an empty directory beneath a device, is left out: [`Node::written`] tells it.
    ///
    /// # Errors
    /// As [`Node::written`].
    pub fn text(&self) -> Result<String, NodeError> {
        Ok(self.written(&[])?.text)
    }

    /// Removes a device of a recorded node as [`Change::RemoveDevice`] does; gives the changes that put it back as it was, to be
    /// applied in their order.
    ///
    /// # Errors
    /// As [`Node::apply`].
    pub fn unplug(&self, location: &str) -> Result<Vec<Change>, NodeError> {
        match &self.source {
            Source::Live(_) => Err(NodeError::Live),
            Source::Recorded(recorded) => {
                let undo = recorded.undo_removal(location)?;
                recorded.apply(Change::RemoveDevice(location.to_owned()))?;
                Ok(undo)
            }
        }
    }

    /// A recorded node that is as this one is now and changes by itself.
    ///
    /// # Errors
    /// [`NodeError::Live`] for a live node.
    pub fn copy(&self) -> Result<Self, NodeError> {
        match &self.source {
            Source::Live(_) => Err(NodeError::Live),
            Source::Recorded(recorded) => Ok(Self {
                source: Source::Recorded(Arc::new(recorded.copy())),
            }),
        }
    }

    /// Becomes what another recorded node is now, for all clones at once.
    ///
    /// # Errors
    /// [`NodeError::Live`] where either is a live node.
    pub fn become_as(&self, other: &Self) -> Result<(), NodeError> {
        match (&self.source, &other.source) {
            (Source::Recorded(this), Source::Recorded(other)) => {
                this.replace(other);
                Ok(())
            }
            _ => Err(NodeError::Live),
        }
    }

    /// Reads a recorded node's file again, for all clones at once: a recording that is edited while it is played.
    ///
    /// # Errors
    /// As [`Node::open`], and [`NodeError::Live`] where this node or the file is no recording; nothing is changed then.
    pub fn reload(&self, recording: &Path) -> Result<(), NodeError> {
        match (&self.source, Self::open(recording)?.source) {
            (Source::Recorded(played), Source::Recorded(new)) => {
                played.replace(&new);
                Ok(())
            }
            _ => Err(NodeError::Live),
        }
    }

    /// A recorded node as text, which makes the same node again: what [`Node::recorded`] reads and `umockdev-run --device`
    /// takes. Sorted by place, so that equal nodes have equal texts. The lines of `about` stand in it as comments.
    ///
    /// # Errors
    /// [`NodeError::Live`] on a live node, [`NodeError::TooLarge`] where the text would be larger than a recording may be.
    pub fn written(&self, about: &[String]) -> Result<Written, NodeError> {
        match &self.source {
            Source::Live(_) => Err(NodeError::Live),
            Source::Recorded(recorded) => recorded.written(about),
        }
    }

    /// Whether there is a device tree at all: a mount that went away looks like a computer without devices otherwise.
    #[must_use]
    pub fn has_devices(&self) -> bool {
        // Every kernel has buses and classes, whatever hardware there is.
        let listed = |root: &&str| self.tree().list(root).is_ok_and(|entries| !entries.is_empty());
        ["sys/class", "sys/bus"].iter().any(listed)
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn tree(&self) -> &dyn Tree {
        match &self.source {
            Source::Live(live) => &**live,
            Source::Recorded(recorded) => &**recorded,
        }
    }
}
