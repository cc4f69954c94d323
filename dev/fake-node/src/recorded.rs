//! A recorded node: a description of devices, as a small file system in memory.

use crate::change::{self, Change};
use crate::clock::Clock;
use crate::diff_events::{self, Watchers};
use crate::world::{Entry, World};
use crate::{RecordingError, description, undo};
use devgate_node::tree::{
    IS_DIRECTORY, IS_LINK, IS_NO_FILE, IS_NO_LINK, Kind, Look, MAX_ENTRIES, MAX_READ_BYTES, NOT_FOR_ALL, NOT_WRITABLE,
    Readers, Tree,
};
use devgate_node::{EventSource, KernelLine, LogSource, NodeEvent, ReadError, Sink, Unread, Watch};
use std::sync::{Arc, PoisonError, RwLock};

/// A world that scripts and tests may change while it is read.
pub(crate) struct Recorded {
    world: RwLock<World>,
    watchers: Watchers,
    clock: Clock,
}

impl Recorded {
    /// From the text of a description; `name` is for messages.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, RecordingError> {
        let mut world = World::new();
        description::add(&mut world, name, text)?;
        Ok(Self::of(world))
    }

    /// What is there, not watched yet.
    pub(crate) fn of(world: World) -> Self {
        let clock = Clock::from(world.not_before());
        Self { world: RwLock::new(world), watchers: Watchers::default(), clock }
    }

    /// Stops its clock at this many milliseconds since the start.
    pub(crate) fn stop_clock(&self, millis: u64) {
        self.clock.stop(millis);
    }

    /// Applies a change as a whole or not at all.
    pub(crate) fn apply(&self, change: Change) -> Result<(), RecordingError> {
        // Only ever replaced by a whole one: a panic elsewhere cannot have left half a change behind.
        let mut world = self.world.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = world.clone();
        change::apply(&mut changed, change)?;
        let events = diff_events::difference(&world, &changed);
        *world = changed;
        drop(world);
        self.watchers.tell(&events);
        Ok(())
    }

    /// What puts a device back that is removed now, with all that goes with it.
    pub(crate) fn undo_removal(&self, location: &str) -> Result<Vec<Change>, RecordingError> {
        undo::removal(&self.world.read().unwrap_or_else(PoisonError::into_inner), location)
    }

    /// Becomes another one.
    pub(crate) fn replace(&self, new: World) {
        let mut world = self.world.write().unwrap_or_else(PoisonError::into_inner);
        let events = diff_events::difference(&world, &new);
        *world = new;
        drop(world);
        self.watchers.tell(&events);
    }

    /// What it is now.
    pub(crate) fn world(&self) -> World {
        self.world.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn with<T>(&self, ask: impl FnOnce(&World) -> Result<T, ReadError>) -> Result<T, ReadError> {
        ask(&self.world.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl EventSource for Recorded {
    /// Tells of each change to come; with `kernel_log` also the lines that there are.
    fn watch(self: Arc<Self>, kernel_log: bool, sink: Sink) -> Watch {
        // Under the lock, so that no line is told twice or never.
        let world = self.world.read().unwrap_or_else(PoisonError::into_inner);
        self.watchers.add(kernel_log, &sink);
        let source = if kernel_log {
            sink(NodeEvent::Log(LogSource::Recorded));
            let lines = world.log.iter().cloned().map(NodeEvent::Line);
            lines.for_each(|line| sink(line));
            LogSource::Recorded
        } else {
            LogSource::NotAsked
        };
        // The node lets go of a sink that no other owner has.
        Watch::new(sink, source)
    }

    fn log_source(&self) -> LogSource {
        LogSource::Recorded
    }

    fn now(&self) -> u64 {
        self.clock.now(self.world.read().unwrap_or_else(PoisonError::into_inner).not_before())
    }

    fn log_lines(&self) -> Result<Vec<KernelLine>, Unread> {
        Ok(self.world().log)
    }
}

impl Tree for Recorded {
    fn is_recorded(&self) -> bool {
        true
    }

    fn read(&self, path: &str, offset: u64, length: usize, readers: Readers) -> Result<Vec<u8>, ReadError> {
        self.with(|world| match world.get(path)? {
            Entry::File { .. } | Entry::Failing(_)
                if readers == Readers::World && !world.look(path)?.all_may_read() =>
            {
                Err(NOT_FOR_ALL)
            }
            Entry::Failing(errno) => Err((*errno).into()),
            Entry::File { content, .. } => {
                if offset.checked_add(length as u64).is_none_or(|end| i64::try_from(end).is_err()) {
                    return Err(ReadError::Invalid("offset is beyond what a file can have"));
                }
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
                let to = from.saturating_add(length.min(MAX_READ_BYTES)).min(content.len());
                Ok(content.get(from..to).unwrap_or_default().to_vec())
            }
            Entry::Directory => Err(IS_DIRECTORY),
            Entry::Link(_) => Err(IS_LINK),
            Entry::Node(_) | Entry::Socket => Err(IS_NO_FILE),
        })
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Kind)>, ReadError> {
        self.with(|world| {
            let entries = world.directory(path)?;
            if entries.len() > MAX_ENTRIES {
                return Err(ReadError::TooLarge { most: MAX_ENTRIES });
            }
            Ok(entries.iter().map(|(name, entry)| (name.clone(), entry.kind())).collect())
        })
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        self.with(|world| match world.get(path)? {
            Entry::Link(text) => Ok(text.clone()),
            _ => Err(IS_NO_LINK),
        })
    }

    fn links(&self, path: &str) -> Result<Vec<(String, String)>, ReadError> {
        self.with(|world| {
            let entries = world.directory(path)?.iter();
            let link = |(name, entry): (&String, &Entry)| match entry {
                Entry::Link(text) => Some((name.clone(), text.clone())),
                _ => None,
            };
            Ok(entries.filter_map(link).collect())
        })
    }

    fn look(&self, path: &str) -> Result<Look, ReadError> {
        self.with(|world| world.look(path))
    }

    /// A recording has no driver that acts on what is written: it is what the file says from then on.
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ReadError> {
        let mut world = self.world.write().unwrap_or_else(PoisonError::into_inner);
        match world.get(path)? {
            Entry::File { .. } | Entry::Failing(_) if world.look(path)?.mode & 0o222 == 0 => Err(NOT_WRITABLE),
            entry @ (Entry::File { .. } | Entry::Failing(_)) => {
                let for_all = !matches!(entry, Entry::File { for_all: false, .. });
                let content = bytes.into();
                let put = world.put(path, Entry::File { content, for_all });
                put.map_err(|text| ReadError::Io { code: "".into(), text })
            }
            Entry::Directory => Err(IS_DIRECTORY),
            Entry::Link(_) => Err(IS_LINK),
            Entry::Node(_) | Entry::Socket => Err(IS_NO_FILE),
        }
    }
}
