//! A journal on the disk: what is recorded costs one sync, however much there is.
//!
//! ```text
//!   snapshot.3   all that was so when journal.3 began     written in the background, in place by its name
//!   journal.3    what happened since                      zeroes, written over from the beginning
//! ```
//!
//! An entry counts when its file's data have been synced, and not before. A file of which a sync failed is not trusted any
//! more: all that is known goes into the next one first. Pages that the kernel could not write are clean afterwards, so that a second
//! sync of the same file would say that all is well.

mod disk;
mod entry;
mod replay;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use entry::Kind;
pub(crate) use replay::{Known, Opened, look, open};
pub(crate) use writer::{Batch, Next, Writer};

use super::Key;
use super::allocation::{AllocationId, Ask};
use super::change::{Acquire, Change, Units, with};
use super::consumer::Consumer;
use super::contents::Contents;
use super::record::AllocatedUnit;
use entry::Entry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The format's version. A new kind of entry does not raise it.
const FORMAT: u32 = 1;

/// What a file begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    format: u32,
    /// The first id that no allocation has had by then.
    #[serde(default)]
    next: u64,
}

/// What every format's header has.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// What is allocated, and what of it is not in the journal yet.
#[derive(Debug, Default)]
pub(crate) struct Book {
    contents: Contents,
    /// Entries that are not written; none where nothing ever is.
    queue: Option<Vec<u8>>,
    /// The last entry that was made.
    last: u64,
    /// The last one that is known to be on the disk, with all before it.
    durable: u64,
}

impl Book {
    /// With these contents, the sum of entries up to `last`, of which those up to `durable` are on the disk for sure.
    pub(crate) fn new(contents: Contents, last: u64, durable: u64) -> Self {
        Self { contents, queue: Some(Vec::new()), last, durable }
    }

    /// One that is never written.
    pub(crate) fn forgetful() -> Self {
        Self { queue: None, ..Self::default() }
    }

    /// What is allocated.
    pub(crate) const fn contents(&self) -> &Contents {
        &self.contents
    }

    /// An id that no allocation has had.
    pub(crate) fn new_id(&mut self) -> AllocationId {
        self.contents.new_id()
    }

    /// Notes one step. It counts from now on in memory, and on the disk when [`Self::written`] says so.
    pub(crate) fn note(&mut self, change: &Change) {
        self.contents.apply(change);
        self.last += 1;
        let Some(queue) = &mut self.queue else { return };
        let (kind, bytes) = change.to_entry();
        let entry = Entry { seq: self.last, durable_through: self.durable, kind, bytes: &bytes };
        entry.write_to(queue);
    }

    /// Notes that pods have a unit which is made of this.
    pub(super) fn note_pods(&mut self, ask: Ask, key: &Key, record: AllocatedUnit) {
        let mut units = Units::new();
        with(key, record, &mut units);
        let allocations = BTreeMap::from([(self.new_id(), ask)]);
        self.note(&Change::Acquire(Acquire { consumer: Consumer::Pods, allocations, units }));
    }

    /// The last step that was noted.
    pub(crate) const fn last(&self) -> u64 {
        self.last
    }

    /// Whether a step, and all before it, is on the disk.
    pub(crate) const fn is_durable(&self, step: u64) -> bool {
        self.durable >= step
    }

    /// What is to be written now; with `all`, everything that is known in place of the steps alone.
    pub(crate) fn take(&mut self, all: bool) -> Batch {
        Batch {
            last: self.last,
            steps: self.queue.as_mut().map(std::mem::take).unwrap_or_default(),
            all: all.then(|| self.contents.clone()),
        }
    }

    /// What was taken is on the disk.
    pub(crate) fn written(&mut self, last: u64) {
        self.durable = self.durable.max(last);
    }
}

/// Appends an entry with its checksum.
pub(super) fn write_entry(kind: u16, seq: u64, durable_through: u64, bytes: &[u8], out: &mut Vec<u8>) {
    let kind = Kind(kind);
    let entry = Entry { seq, durable_through, kind, bytes };
    entry.write_to(out);
}
