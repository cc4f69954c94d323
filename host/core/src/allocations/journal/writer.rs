//! Writing: steps to the end of the newest segment, and everything anew where that is not to be trusted or grew long.

use super::super::contents::Contents;
use super::disk::{Disk, DiskFile};
use super::entry::{Entry, Kind};
use super::{FORMAT, Header};
use std::io;
use std::sync::Arc;

/// Zeroes that a segment is made of: its steps need no more room of the disk up to there, and only their own bytes to be synced.
const RESERVE: u64 = if cfg!(test) { 2 << 10 } else { 256 << 10 };

/// What is written at once.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The last step that is in it.
    pub(crate) last: u64,
    /// Steps, as they lie on the disk.
    pub(super) steps: Vec<u8>,
    /// All that is known, with these steps in it, where they are not enough.
    pub(super) all: Option<Contents>,
}

/// The right to write the journal: one at a time.
pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    /// The number of the newest files.
    number: u64,
    /// The segment that steps go to; none where the next batch has to have all.
    segment: Option<Segment>,
    /// How much the newest snapshot has, in bytes.
    snapshot: u64,
    /// Whether files are kept aside that would be removed, since not all of them was understood.
    keeps: bool,
}

struct Segment {
    file: Box<dyn DiskFile>,
    at: u64,
}

/// A segment that is to be the next one, with nothing in it yet.
pub(crate) struct Next {
    number: u64,
    segment: Segment,
}

/// A segment that steps go to by now, and all that was known before it.
pub(crate) struct Snapshot {
    disk: Arc<dyn Disk>,
    number: u64,
    last: u64,
    contents: Contents,
}

/// The names of the files with a number.
pub(super) fn segment_name(number: u64) -> String {
    format!("journal.{number}")
}

pub(super) fn snapshot_name(number: u64) -> String {
    format!("snapshot.{number}")
}

/// What a snapshot is called until it is whole.
const UNFINISHED: &str = "snapshot.new";

/// What comes after the name of a file that was not understood as a whole.
const ASIDE: &str = ".unreadable";

impl Writer {
    /// Goes on after files with this number, anew.
    pub(super) fn after(disk: Arc<dyn Disk>, number: u64, keeps: bool) -> Self {
        Self { disk, number, segment: None, snapshot: 0, keeps }
    }

    /// Whether the next batch has to have all.
    pub(crate) const fn needs_all(&self) -> bool {
        self.segment.is_none()
    }

    /// Writes a batch; it is on the disk when this returns. Fails where it is not sure to be. Then the next batch has to have all.
    pub(crate) fn write(&mut self, batch: Batch) -> io::Result<()> {
        if let Some(contents) = batch.all {
            return self.begin(batch.last, contents);
        }
        let segment = self.segment.as_mut();
        let segment = segment.ok_or_else(|| io::Error::other("the journal's file is not to be trusted"))?;
        let done = segment.append(&batch.steps);
        if done.is_err() {
            self.segment = None;
        }
        done
    }

    /// Begins a segment after a snapshot of everything, in place of all files that there are.
    fn begin(&mut self, last: u64, contents: Contents) -> io::Result<()> {
        self.segment = None;
        // The name may be one that an attempt before left: nothing was acknowledged that has it.
        let number = self.number + 1;
        let next = make_segment(&*self.disk, number, &contents)?;
        let snapshot = Snapshot { disk: Arc::clone(&self.disk), number, last, contents };
        self.snapshot = snapshot.write(self.keeps)?;
        (self.number, self.segment, self.keeps) = (number, Some(next), false);
        Ok(())
    }

    /// The number of the next segment and what makes it, beside this writer, where this one grew long: as long as what a snapshot would
    /// have, or as the room that it was given.
    pub(crate) fn wants_next(&self) -> Option<(u64, Arc<dyn Disk>)> {
        let is_long = |segment: &&Segment| segment.at >= RESERVE.max(self.snapshot);
        self.segment.as_ref().filter(is_long).map(|_| (self.number + 1, Arc::clone(&self.disk)))
    }

    /// The number of the next segment, however long this one is.
    #[cfg(test)]
    pub(super) fn number_after(&self) -> Option<u64> {
        self.segment.as_ref().map(|_| self.number + 1)
    }

    /// Goes on in the next segment, after these steps. What is to be written then is all that is known before it; nothing where
    /// another one was begun meanwhile.
    pub(crate) fn go_on(&mut self, batch: Batch, next: Next) -> io::Result<Option<Snapshot>> {
        let Some(contents) = batch.all else { return Ok(None) };
        if self.needs_all() || next.number != self.number + 1 {
            self.begin(batch.last, contents)?;
            return Ok(None);
        }
        self.write(Batch { last: batch.last, steps: batch.steps, all: None })?;
        self.number = next.number;
        self.segment = Some(next.segment);
        Ok(Some(Snapshot { disk: Arc::clone(&self.disk), number: next.number, last: batch.last, contents }))
    }

    /// The next segment is not to be had now: it is tried again when this one is a good deal longer.
    pub(crate) fn put_off(&mut self) {
        self.snapshot = self.segment.as_ref().map_or(0, |segment| segment.at + RESERVE);
    }

    /// What the newest snapshot has, in bytes.
    pub(crate) const fn has_snapshot_of(&mut self, bytes: u64) {
        self.snapshot = bytes;
    }
}

impl Segment {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.file.write_at(self.at, bytes)?;
        self.file.sync()?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

impl Next {
    /// Makes a segment, beside what is written meanwhile.
    pub(crate) fn make(disk: &dyn Disk, number: u64) -> io::Result<Self> {
        let segment = make_segment(disk, number, &Contents::default())?;
        disk.sync_names()?;
        Ok(Self { number, segment })
    }
}

/// A segment with its header, on the disk but for its name.
fn make_segment(disk: &dyn Disk, number: u64, contents: &Contents) -> io::Result<Segment> {
    let file = disk.create(&segment_name(number), RESERVE)?;
    let mut header = Vec::new();
    write_header(0, contents, &mut header);
    let mut segment = Segment { file, at: 0 };
    segment.append(&header)?;
    Ok(segment)
}

impl Snapshot {
    /// Writes it, and removes or puts aside what it has in it. How much it has, in bytes.
    pub(crate) fn write(&self, aside: bool) -> io::Result<u64> {
        let mut bytes = Vec::new();
        write_header(self.last, &self.contents, &mut bytes);
        let mut write = |kind, held: &[u8]| {
            let entry = Entry { seq: self.last, durable_through: self.last, kind, bytes: held };
            entry.write_to(&mut bytes);
        };
        for (kind, held) in self.contents.entries() {
            write(kind, &held);
        }
        write(Kind::END, &[]);
        let file = self.disk.create(UNFINISHED, 0)?;
        file.write_at(0, &bytes)?;
        file.sync()?;
        self.disk.rename(UNFINISHED, &snapshot_name(self.number))?;
        self.disk.sync_names()?;
        // What is left lying about is removed another time.
        let _ = remove_before(&*self.disk, self.number, aside);
        Ok(bytes.len() as u64)
    }
}

fn write_header(seq: u64, contents: &Contents, bytes: &mut Vec<u8>) {
    let header = Header { format: FORMAT, next: contents.next_id() };
    let entry = Entry {
        seq,
        durable_through: seq,
        kind: Kind::HEADER,
        bytes: &serde_json::to_vec(&header).unwrap_or_default(),
    };
    entry.write_to(bytes);
}

/// Removes, or puts aside, the files with smaller numbers.
fn remove_before(disk: &dyn Disk, number: u64, aside: bool) -> io::Result<()> {
    for name in disk.names()? {
        let of = super::replay::number_of(&name, "journal.").or_else(|| super::replay::number_of(&name, "snapshot."));
        match of {
            Some(of) if of < number && aside => disk.rename(&name, &format!("{name}{ASIDE}"))?,
            Some(of) if of < number => disk.remove(&name)?,
            _ => {}
        }
    }
    Ok(())
}
