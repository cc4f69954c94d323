//! Where allocations are kept: a journal in the state directory, and what an older host left there.

use super::contents::Contents;
use super::journal::{self, Batch, Book, Known, Opened, Writer};
use super::learn;
use super::older::{self, Older};
use crate::state::{Dir, Found};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The journal's directory in the state directory.
pub(super) const NAME: &str = "allocations";

/// Where allocations are kept. Writes are one at a time, however long the disk takes.
pub(super) type Store = Arc<tokio::sync::Mutex<Writing>>;

/// What writes to it.
pub(super) struct Writing {
    /// The journal itself.
    pub(super) journal: Writer,
    pub(super) older: Older,
    /// Whether what the older file has is not in the journal yet.
    imports: bool,
}

/// What is kept.
pub(super) struct Read {
    /// The state directory.
    pub(super) dir: Dir,
    /// Where to go on; nothing where a newer host wrote what is there, which stays as it is.
    pub(super) store: Option<Store>,
    pub(super) book: Book,
    /// Why that may not be all, if so. For people.
    pub(super) unknown: Option<Arc<str>>,
}

impl Read {
    /// Reads what is kept in a directory, which is made if it is not there. Fails where it cannot be made, read or written, or others can
    /// write in it.
    pub(super) fn open(dir: &Path, is_new_node: bool) -> io::Result<Self> {
        let dir = Dir::open(dir)?;
        crate::component_state::tidy(&dir);
        let older = Older::of(dir.clone());
        let kept = match older.read()? {
            Found::Newer(version) => return Ok(Self::of_newer(dir, &format!("{} has version {version}", older::NAME))),
            Found::Odd(why) => Err(why),
            Found::Nothing => Ok(None),
            Found::Content(kept) => Ok(Some(kept)),
        };
        let Some(journal) = dir.inner(NAME, true)? else {
            return Err(io::Error::other(format!("{NAME} cannot be made")));
        };
        let Opened { mut book, writer, known } = journal::open(Arc::new(journal))?;
        let why = match (&known, &kept) {
            (Known::Newer(format), _) => return Ok(Self::of_newer(dir, &format!("{NAME} has format {format}"))),
            (_, Err(why)) => Some(why.clone()),
            (Known::Incomplete(why), Ok(_)) => Some(format!("{NAME}: {why}")),
            (Known::Nothing, Ok(None)) => Some(format!("there is nothing in {NAME}")),
            (Known::Nothing, Ok(Some(kept))) if kept.is_in_journal() => Some(format!("{NAME} is gone")),
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
        let mut writing = Writing { journal: writer, older, imports };
        if why.is_none() && imports {
            let batch = book.take(writing.journal.needs_all());
            let last = batch.last;
            writing.write(batch)?;
            book.written(last);
        }
        Ok(Self {
            dir,
            store: Some(Arc::new(tokio::sync::Mutex::new(writing))),
            book,
            unknown: why.map(|why| learn::untold(&why)),
        })
    }

    /// What a newer host wrote is not touched, and nothing is known of what it gave.
    fn of_newer(dir: Dir, what: &str) -> Self {
        let why = format!(
            "{what}, which this devgate does not read: a newer one wrote it; run that one, or, where no pod on the node has a device, \
             remove it"
        );
        Self { dir, store: None, book: Book::forgetful(), unknown: Some(why.into()) }
    }
}

impl Writing {
    /// Writes steps, or all that is known. Fails where it is not sure to be on the disk.
    pub(super) fn write(&mut self, batch: Batch) -> io::Result<()> {
        self.journal.write(batch)?;
        if self.imports {
            // What it has is in the journal now. Where it stays, it is taken in once more.
            self.older.remove()?;
            self.imports = false;
        }
        Ok(())
    }
}
