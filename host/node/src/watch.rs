//! Being told what happens on a node.

mod follow;
mod live;
mod log;
mod paths;

pub use log::LogSource;

use crate::events::NodeEvent;
use crate::node::{Node, Source};
use live::LiveWatch;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where events go. Called on a thread that must go on at once, and never after the [`Watch`] is dropped and has been for a
/// moment. What is about paths may come from another thread than the rest.
pub type Sink = Arc<dyn Fn(NodeEvent) + Send + Sync>;

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
    kind: Kind,
    log: LogSource,
}

enum Kind {
    Live(LiveWatch),
    /// The node lets go of a sink that nobody else has.
    Recorded {
        _sink: Sink,
    },
}

impl Node {
    /// Tells `sink` of all that happens from now on, as far as this machine lets the host see it. With `kernel_log` also the
    /// kernel's log: first [`NodeEvent::Log`], if it can be read, then all that there still is of it.
    ///
    /// Nothing here is needed for being right: whoever looks often enough sees the same, later.
    #[must_use]
    pub fn watch(&self, kernel_log: bool, sink: Sink) -> Watch {
        match self.source() {
            Source::Live(live) => {
                let (watch, log) = LiveWatch::start(Arc::clone(live), kernel_log, sink);
                Watch {
                    kind: Kind::Live(watch),
                    log,
                }
            }
            Source::Recorded(recorded) => {
                recorded.watch(kernel_log, &sink);
                Watch {
                    kind: Kind::Recorded { _sink: sink },
                    log: if kernel_log {
                        LogSource::Recorded
                    } else {
                        LogSource::NotAsked
                    },
                }
            }
        }
    }
}

impl Watch {
    /// Why the kernel does not tell of devices here, if so; then only the poll sees them come and go.
    #[must_use]
    pub fn no_device_events(&self) -> Option<&str> {
        match &self.kind {
            Kind::Live(live) => live.no_uevents(),
            Kind::Recorded { .. } => None,
        }
    }

    /// Where the kernel's log comes from.
    #[must_use]
    pub fn log(&self) -> &LogSource {
        &self.log
    }

    /// Tells also of what is made, written, changed or removed in these directories, as [`Watch::listen_in`].
    pub fn directories(&self, directories: &BTreeSet<String>) {
        let wanted = directories.iter().map(|directory| (directory.clone(), Told::Contents));
        self.listen_in(wanted.collect());
    }

    /// Tells also of what happens in these directories (absolute paths, at most 256; one that is not there, or not any more: in
    /// the nearest one above it that is), and no more of those that were named before. Returns at once, whatever it takes to
    /// open them; a directory's own path is told when it is watched from then on. Where the file system does not tell, as under
    /// `/proc` and `/sys`, nothing comes.
    pub fn listen_in(&self, wanted: BTreeMap<String, Told>) {
        if let Kind::Live(live) = &self.kind {
            live.directories(wanted);
        }
    }
}
