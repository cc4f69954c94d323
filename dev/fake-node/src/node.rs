//! A recorded node as a whole: where it comes from, and what may be done with it.

use crate::change::Change;
use crate::description::MAX_RECORDING_BYTES;
use crate::recorded::Recorded;
use crate::world::World;
use crate::{RecordingError, Written};
use devgate_node::{Node, NodeError};
use devgate_types::escape;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Weak};

/// A node that is a recording. Cheap to clone; clones, and the [`Node`] that it is, share its changes.
#[derive(Clone)]
pub struct RecordedNode {
    node: Node,
    recorded: Arc<Recorded>,
}

/// What a root is.
pub enum Opened {
    /// A directory: a live node.
    Live(Node),
    /// A regular file: a recorded one.
    Recorded(RecordedNode),
}

/// Opens whatever node a root is: a directory is a live one (it has `sys/` and `dev/`), a regular file a recorded one.
///
/// # Errors
/// Where it cannot be opened, is neither, or is a recording that cannot be understood.
pub fn open(root: &Path) -> Result<Opened, RecordingError> {
    match Node::open(root) {
        Ok(node) => Ok(Opened::Live(node)),
        Err(NodeError::IsFile { .. }) => RecordedNode::open(root).map(Opened::Recorded),
        Err(error) => Err(error.into()),
    }
}

impl Opened {
    /// The node, whichever it is.
    #[must_use]
    pub fn into_node(self) -> Node {
        match self {
            Self::Live(node) => node,
            Self::Recorded(recorded) => recorded.node,
        }
    }
}

impl Deref for RecordedNode {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}

impl From<RecordedNode> for Node {
    fn from(recorded: RecordedNode) -> Self {
        recorded.node
    }
}

impl From<World> for RecordedNode {
    fn from(world: World) -> Self {
        Self::of(Recorded::of(world))
    }
}

impl RecordedNode {
    /// A recording's file.
    ///
    /// # Errors
    /// Where it cannot be opened, is no regular file, or cannot be understood.
    pub fn open(file: &Path) -> Result<Self, RecordingError> {
        let failed = |source: io::Error| NodeError::Open { path: file.to_owned(), source };
        // A FIFO must not hold anybody.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = openat(CWD, file, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let stat = fstat(&opened).map_err(|errno| failed(errno.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(RecordingError::NotARecording { path: file.to_string_lossy().into_owned() });
        }
        let mut bytes = Vec::new();
        let most = MAX_RECORDING_BYTES as u64 + 1;
        File::from(opened).take(most).read_to_end(&mut bytes).map_err(failed)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Self::parse(&name, &text_of(&name, bytes)?)
    }

    /// From a description of devices. `name` stands in the messages of errors.
    ///
    /// The text is umockdev's device description, and some lines for what it has no word for: see [`Change::AddDevices`].
    ///
    /// # Errors
    /// With the line where the text cannot be understood.
    pub fn parse(name: &str, text: &str) -> Result<Self, RecordingError> {
        Ok(Self::of(Recorded::parse(name, text)?))
    }

    fn of(recorded: Recorded) -> Self {
        let recorded = Arc::new(recorded);
        Self { node: Node::of(Arc::clone(&recorded)), recorded }
    }

    /// The node, as those take it who need not know that it is recorded.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Changes it, for all clones at once.
    ///
    /// # Errors
    /// [`RecordingError::Change`] where the change names what is not there, and nothing is changed then.
    pub fn apply(&self, change: Change) -> Result<(), RecordingError> {
        self.recorded.apply(change)
    }

    /// Stops the clock ([`Node::now`]) at this many milliseconds since the start, or at the log's last line if that is later: else it
    /// goes on from that line, by the time of the machine that this runs on.
    pub fn stop_clock(&self, millis: u64) {
        self.recorded.stop_clock(millis);
    }

    /// The text of a description, which [`Self::parse`] reads as the same node: its changes included, its comments not. What has
    /// no words, such as an empty directory beneath a device, is left out: [`Self::written`] tells it.
    ///
    /// # Errors
    /// As [`Self::written`].
    pub fn text(&self) -> Result<String, RecordingError> {
        Ok(self.written(&[])?.text)
    }

    /// Removes a device as [`Change::RemoveDevice`] does; gives the changes that put it back as it was, to be applied in their
    /// order.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn unplug(&self, location: &str) -> Result<Vec<Change>, RecordingError> {
        let undo = self.recorded.undo_removal(location)?;
        self.apply(Change::RemoveDevice(location.to_owned()))?;
        Ok(undo)
    }

    /// One that is as this one is now and changes by itself.
    #[must_use]
    pub fn copy(&self) -> Self {
        self.recorded.world().into()
    }

    /// Becomes what another one is now, for all clones at once.
    pub fn become_as(&self, other: &Self) {
        self.recorded.replace(other.recorded.world());
    }

    /// Reads its file again, for all clones at once: a recording that is edited while it is played.
    ///
    /// # Errors
    /// As [`Self::open`]; nothing is changed then.
    pub fn reload(&self, recording: &Path) -> Result<(), RecordingError> {
        self.become_as(&Self::open(recording)?);
        Ok(())
    }

    /// As text, which makes the same node again: what [`Self::parse`] reads and `umockdev-run --device` takes. Sorted by place,
    /// so that equal nodes have equal texts. The lines of `about` stand in it as comments.
    ///
    /// # Errors
    /// [`RecordingError::TooLarge`] where the text would be larger than a recording may be.
    pub fn written(&self, about: &[String]) -> Result<Written, RecordingError> {
        crate::write::write(&self.recorded.world(), about)
    }

    pub(crate) fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// Itself, as long as another owner has it.
    pub(crate) fn weak(&self) -> impl Fn() -> Option<Self> + Send + use<> {
        let recorded: Weak<Recorded> = Arc::downgrade(&self.recorded);
        move || {
            let recorded = recorded.upgrade()?;
            Some(Self { node: Node::of(Arc::clone(&recorded)), recorded })
        }
    }
}

/// A recording's text.
fn text_of(name: &str, bytes: Vec<u8>) -> Result<String, RecordingError> {
    if bytes.len() > MAX_RECORDING_BYTES {
        return Err(RecordingError::TooLarge { name: escape(name, 256), most: MAX_RECORDING_BYTES });
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        RecordingError::Malformed {
            name: escape(name, 256),
            line: 1 + good.filter(|byte| **byte == b'\n').count(),
            problem: "not UTF-8; write other bytes as \\ooo in an A: line, or use an H: line".to_owned(),
        }
    })
}
