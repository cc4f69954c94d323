//! Where allocations are kept: a journal in the state directory, and what an older host left there.

use super::contents::Contents;
use super::journal::{self, Batch, Book, Known, Opened, Writer};
use super::learn;
use super::older::{Kept, Older};
use crate::state::Dir;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The journal's directory in the state directory.
pub(super) const NAME: &str = "allocations";

/// Where allocations are kept.
pub(super) struct Store {
    dir: Dir,
    /// Whoever has it writes: one at a time, however long the disk takes.
    pub(super) writer: Arc<tokio::sync::Mutex<Writing>>,
}

/// What writes to it.
pub(super) struct Writing {
    writer: Writer,
    older: Older,
    /// Whether what the older file has is not in the journal yet.
    imports: bool,
}

/// What is kept, and why that may not be all. For people.
pub(super) struct Read {
    pub(super) store: Store,
    pub(super) book: Book,
    pub(super) unknown: Option<Arc<str>>,
}

impl Store {
    /// Reads what is kept in a directory, which is made if it is not there.
    ///
    /// # Errors
    /// Where it cannot be made, read or written, or others can write in it; where a newer host wrote what is there.
    pub(super) fn open(dir: &Path, is_new_node: bool) -> io::Result<Read> {
        let dir = Dir::open(dir)?;
        crate::blob::tidy(&dir);
        let older = Older::of(dir.clone());
        let kept = older.read()?;
        let Some(journal) = dir.inner(NAME, true)? else {
            return Err(io::Error::other(format!("{NAME} cannot be made")));
        };
        let Opened {
            mut book,
            writer,
            known,
        } = journal::open(Arc::new(journal))?;
        let why = match (&known, &kept) {
            (Known::Newer(format), _) => {
                return Err(io::Error::other(format!(
                    "{NAME} has format {format}, which this devgate does not read: a newer one wrote it; run that one, or, where no pod on \
                     the node has a device, remove the directory"
                )));
            }
            (_, Err(why)) => Some(why.clone()),
            (Known::Incomplete(why), Ok(_)) => Some(format!("{NAME}: {why}")),
            (Known::Nothing, Ok(None)) => Some(format!("there is nothing in {NAME}")),
            (Known::Nothing, Ok(Some(_))) | (Known::All, _) => None,
        };
        let why = why.filter(|_| !is_new_node);
        if known == Known::Nothing && why.is_none() {
            book = Book::new(Contents::default(), 0, 0);
        }
        let imports = matches!(kept, Ok(Some(_)));
        if let Ok(Some(kept)) = kept {
            kept.note_in(&mut book);
        }
        let mut writing = Writing { writer, older, imports };
        if why.is_none() && imports {
            let batch = book.take(writing.needs_all());
            let last = batch.last();
            writing.write(batch)?;
            book.written(last);
        }
        Ok(Read {
            store: Self {
                dir,
                writer: Arc::new(tokio::sync::Mutex::new(writing)),
            },
            book,
            unknown: why.map(|why| learn::untold(&why)),
        })
    }

    /// The state directory.
    pub(super) const fn dir(&self) -> &Dir {
        &self.dir
    }
}

impl Writing {
    /// Whether what is written next has to be all that is known.
    pub(super) const fn needs_all(&self) -> bool {
        self.writer.needs_all()
    }

    /// Writes steps, or all that is known.
    ///
    /// # Errors
    /// Where it is not sure to be on the disk.
    pub(super) fn write(&mut self, batch: Batch) -> io::Result<()> {
        self.writer.write(batch)?;
        if self.imports {
            // What it has is in the journal now. Where it stays, it is taken in once more.
            self.older.remove()?;
            self.imports = false;
        }
        Ok(())
    }

    /// The journal itself.
    pub(super) const fn journal(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Leaves what a host of version 0.1 reads, for when that one comes next.
    pub(super) fn leave(&mut self, contents: &Contents) -> io::Result<()> {
        self.older.write(Kept::of(contents))
    }
}
