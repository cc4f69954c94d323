//! Reading: what a journal says, and whether that is all.

use super::super::contents::Contents;
use super::disk::Disk;
use super::entry::{ALIGN, Entry, Kind};
use super::writer::{Writer, segment_name, snapshot_name};
use super::{Book, FORMAT, Format, Header};
use std::io;
use std::sync::Arc;

/// Whether what a journal says is all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is.
    All,
    /// There is no journal.
    Nothing,
    /// Something is not there any more that once was. For people.
    Incomplete(String),
    /// A newer host wrote it, in this format: it stays as it is.
    Newer(u32),
}

/// A journal that was read.
pub(crate) struct Opened {
    pub(crate) book: Book,
    pub(crate) writer: Writer,
    pub(crate) known: Known,
}

/// Reads the journal on a disk, to go on with it: in new files, which have all that it says. What is read may be in the kernel's memory
/// alone, also where a sync of it failed before the host that wrote it was killed; so nothing is ever written behind it.
pub(crate) fn open(disk: Arc<dyn Disk>) -> io::Result<Opened> {
    let files = Files::of(&*disk)?;
    let (known, mut replay) = files.read(&*disk)?;
    let keeps = !matches!(known, Known::All);
    let writer = Writer::after(disk, files.newest().unwrap_or_default(), keeps);
    if matches!(known, Known::Nothing | Known::Newer(_)) {
        replay = Replay::default();
        replay.contents.doubt_all();
    }
    let book = Book::new(replay.contents, replay.seq, 0);
    Ok(Opened { book, writer, known })
}

/// What the journal on a disk says, and whether that is all. Nothing is written: a host may be writing on it meanwhile.
pub(crate) fn look(disk: &dyn Disk) -> io::Result<(Contents, Known)> {
    let mut looks = 0;
    loop {
        let (known, replay) = Files::of(disk)?.read(disk)?;
        looks += 1;
        // Files may go while they are looked at, because others took their place.
        if looks == LOOKS || !matches!(known, Known::Incomplete(_)) {
            return Ok((replay.contents, known));
        }
    }
}

/// How often something that is written meanwhile is looked at.
const LOOKS: u32 = 5;

/// The numbers of a journal's files.
struct Files {
    segments: Vec<u64>,
    snapshots: Vec<u64>,
}

impl Files {
    fn of(disk: &dyn Disk) -> io::Result<Self> {
        let names = disk.names()?;
        let numbers = |prefix: &str| {
            let mut numbers: Vec<_> = names.iter().filter_map(|name| number_of(name, prefix)).collect();
            numbers.sort_unstable();
            numbers
        };
        Ok(Self { segments: numbers("journal."), snapshots: numbers("snapshot.") })
    }

    fn newest(&self) -> Option<u64> {
        self.segments.last().max(self.snapshots.last()).copied()
    }

    /// Whether they are all, and what they say.
    fn read(&self, disk: &dyn Disk) -> io::Result<(Known, Replay)> {
        // The snapshot that counts.
        let (mut replay, base) = (Replay::default(), self.snapshots.last().copied());
        if self.newest().is_none() {
            return Ok((Known::Nothing, replay));
        }
        match base {
            Some(base) => {
                let bytes = disk.read(&snapshot_name(base))?.unwrap_or_default();
                replay.take_in_snapshot(&bytes);
                if !self.segments.contains(&base) {
                    replay.lacks("its first segment is not there");
                }
            }
            None => replay.lacks("the snapshot is not there"),
        }
        for number in self.segments.iter().filter(|number| base.is_none_or(|base| **number >= base)) {
            let bytes = disk.read(&segment_name(*number))?.unwrap_or_default();
            replay.take_in_segment(&bytes);
        }
        let known = match (replay.newer, replay.lacks.take()) {
            (Some(format), _) => Known::Newer(format),
            // Files that were begun and never had anything that was acknowledged.
            _ if base.is_none() && replay.seq == 0 => Known::Nothing,
            (None, Some(why)) => {
                replay.contents.doubt_all();
                Known::Incomplete(why)
            }
            (None, None) => Known::All,
        };
        Ok((known, replay))
    }
}

/// The number in a file's name.
pub(super) fn number_of(name: &str, prefix: &str) -> Option<u64> {
    let number = name.strip_prefix(prefix)?;
    number.parse().ok().filter(|n: &u64| n.to_string() == number)
}

/// The entries that there are somewhere in these bytes.
fn entries(bytes: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let found = bytes.get(at..).and_then(Entry::read);
            at += found.as_ref().map_or(ALIGN, |(_, length)| *length);
            if let Some((entry, _)) = found {
                return Some(entry);
            }
        }
        None
    })
}

/// What the files read so far say.
#[derive(Default)]
struct Replay {
    contents: Contents,
    /// The last entry that counts.
    seq: u64,
    /// What is missing, if anything is. For people.
    lacks: Option<String>,
    /// The format, where that is newer than this host's.
    newer: Option<u32>,
}

impl Replay {
    fn lacks(&mut self, what: &str) {
        self.lacks.get_or_insert_with(|| what.to_owned());
    }

    fn take_in_snapshot(&mut self, bytes: &[u8]) {
        let (mut at, mut whole) = (0, false);
        while let Some((entry, length)) = bytes.get(at..).and_then(Entry::read) {
            at += length;
            match entry.kind {
                Kind::HEADER if at == length => {
                    if !self.header(&entry) {
                        return;
                    }
                    self.seq = entry.seq;
                }
                Kind::END => whole = true,
                kind => self.entry(kind, entry.bytes),
            }
        }
        if !whole || at != bytes.len() {
            self.lacks("the snapshot is not whole");
        }
    }

    /// Takes in a segment.
    fn take_in_segment(&mut self, bytes: &[u8]) {
        let (mut at, mut is_begun, mut any) = (0, false, false);
        while let Some((entry, length)) = bytes.get(at..).and_then(Entry::read) {
            if !is_begun {
                if entry.kind != Kind::HEADER || !self.header(&entry) {
                    self.lacks("a segment does not begin with its format");
                    return;
                }
                (is_begun, at) = (true, at + length);
                continue;
            }
            if entry.seq != self.seq + 1 {
                if !any {
                    // Everything before was on the disk when the segment was gone on in.
                    self.lacks("what comes between two segments is not there");
                }
                break;
            }
            any = true;
            at += length;
            self.take(&entry);
        }
        self.behind(bytes.get(at..).unwrap_or_default());
    }

    /// Looks at what is behind the end: zeroes, something that was being written when the host ended, or entries after one that is
    /// not there any more.
    fn behind(&mut self, bytes: &[u8]) {
        let missing = self.seq + 1;
        if entries(bytes).any(|entry| entry.durable_through >= missing) {
            self.lacks("an entry in its middle cannot be read");
            // What comes later counts all the same: it holds more, or frees what was given before.
            for entry in entries(bytes).filter(|entry| entry.kind != Kind::HEADER) {
                self.take(&entry);
            }
        }
    }

    fn take(&mut self, entry: &Entry<'_>) {
        self.seq = self.seq.max(entry.seq);
        self.entry(entry.kind, entry.bytes);
    }

    fn entry(&mut self, kind: Kind, bytes: &[u8]) {
        if let Err(error) = self.contents.add(kind, bytes) {
            let error = devgate_types::escape(&error.to_string(), 160).to_string();
            self.lacks(&format!("an entry cannot be understood: {error}"));
        }
    }

    /// Whether this host understands the file.
    fn header(&mut self, entry: &Entry<'_>) -> bool {
        match serde_json::from_slice::<Format>(entry.bytes) {
            Ok(Format { format }) if format > FORMAT => self.newer = Some(format),
            Ok(Format { format: FORMAT }) => match serde_json::from_slice::<Header>(entry.bytes) {
                Ok(header) => {
                    self.contents.never_below(header.next);
                    return true;
                }
                Err(_) => self.lacks("its format cannot be read"),
            },
            _ => self.lacks("its format cannot be read"),
        }
        false
    }
}
