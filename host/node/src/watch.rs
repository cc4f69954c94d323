//! Being told what happens on a node.

mod follow;
mod live;
mod log;
mod paths;
mod syslog;

pub use log::{LogSource, Unread};

use crate::KernelLine;
use crate::events::NodeEvent;
use crate::node::Node;
use paths::PathWatch;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where events go. Called on a thread that must go on at once, and never after the [`Watch`] is dropped and has been for a
/// moment. What is about paths may come from another thread than the rest.
pub type Sink = Arc<dyn Fn(NodeEvent) + Send + Sync>;

/// What tells what happens on a node, and what its kernel has said.
pub trait EventSource: Send + Sync {
    /// Begins to tell `sink`, as [`Node::watch`] says, until the [`Watch`] is dropped.
    fn watch(self: Arc<Self>, kernel_log: bool, sink: Sink) -> Watch;
    /// Where the kernel's log would come from, if it were asked for.
    fn log_source(&self) -> LogSource;
    /// Milliseconds since the computer was started, its sleep included.
    fn now(&self) -> u64;
    /// All that there still is of the kernel's log, oldest first. Fails where there is no source that can be read, or it fails.
    fn log_lines(&self) -> Result<Vec<KernelLine>, Unread>;
}

/// What is told of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// What is made, removed, renamed or given to others in it.
    Entries,
    /// Also what has been written: in `/dev`, whenever anybody is done with a device.
    Contents,
}

/// Events of one node, until this is dropped.
pub struct Watch {
    log: LogSource,
    no_device_events: Option<String>,
    paths: Option<PathWatch>,
    /// The thread that tells ends when this is dropped.
    _teller: Box<dyn Any + Send + Sync>,
}

impl Node {
    /// What time it is there, in milliseconds since the computer was started: what [`KernelLine::micros`] counts as well, but for its
    /// sleep.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.events().now()
    }

    /// Tells `sink` of all that happens from now on, as far as this machine lets the host see it. With `kernel_log` also the
    /// kernel's log: first [`NodeEvent::Log`], if it can be read, then all that there still is of it.
    ///
    /// Nothing here is needed for being right: a caller that looks often enough sees the same, later.
    #[must_use]
    pub fn watch(&self, kernel_log: bool, sink: Sink) -> Watch {
        Arc::clone(self.events()).watch(kernel_log, sink)
    }
}

impl Watch {
    /// Of a source that tells of all devices and paths by itself, until `teller` is dropped.
    #[must_use]
    pub fn new(teller: impl Any + Send + Sync, log: LogSource) -> Self {
        Self { log, no_device_events: None, paths: None, _teller: Box::new(teller) }
    }

    /// Why the kernel does not tell of devices here, if so; then only the poll sees them come and go.
    #[must_use]
    pub fn no_device_events(&self) -> Option<&str> {
        self.no_device_events.as_deref()
    }

    /// Where the kernel's log comes from.
    #[must_use]
    pub fn log(&self) -> &LogSource {
        &self.log
    }

    /// Tells also of what happens in these directories (absolute paths, at most 256; one that is not there, or not any more: in
    /// the nearest one above it that is), and no more of those that were named before. Returns at once, whatever it takes to
    /// open them; a directory's own path is told when it is watched from then on. Where the file system does not tell, as under
    /// `/proc` and `/sys`, nothing comes.
    pub fn listen_in(&self, wanted: BTreeMap<String, Told>) {
        if let Some(paths) = &self.paths {
            paths.set(wanted);
        }
    }
}
