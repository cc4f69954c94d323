//! What a state directory says, and what an admin decides about it: for programs that are no host.

use super::allocation::{Allocation, AllocationId};
use super::change::{Change, Release};
use super::contents::Contents;
use super::journal::{self, Book, Known};
use super::older::{self, HandedOut, Older};
use super::store::{NAME, Read, Store};
use crate::state::{Dir, Found};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// What was handed out, as far as a state directory says.
#[derive(Debug)]
pub struct Recorded {
    /// Why that is not all, if so. For people.
    pub incomplete: Option<String>,
    /// Whether nothing is kept there.
    pub is_absent: bool,
    contents: Contents,
}

/// An allocation that is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Names it; no other one ever has that.
    pub id: u64,
    /// Who has it. For people.
    pub consumer: String,
    /// The resource, as it is offered.
    pub resource: String,
    /// The units of it.
    pub units: BTreeSet<String>,
    /// When it was acquired, in seconds since 1970, if that is known.
    pub since: Option<u64>,
}

/// What a claim of dynamic resource allocation has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedClaim {
    /// The driver that it was given by.
    pub driver: String,
    /// What that noted with it.
    pub tag: String,
    /// What it has.
    pub allocation: Listed,
}

impl Recorded {
    /// Reads a state directory; nothing in it is written, and a host may be at work there.
    pub fn read(dir: &Path) -> io::Result<Self> {
        let nothing = (Contents::default(), Known::Nothing);
        let Some(dir) = Dir::look(dir)? else {
            return Ok(Self::of(nothing, Found::Nothing));
        };
        let journal = dir.inner(NAME, false)?;
        let read = journal.map_or(Ok(nothing), |journal| journal::look(&journal))?;
        let older = Older::of(dir).peek().unwrap_or_else(|error| Found::Odd(error.to_string()));
        Ok(Self::of(read, older))
    }

    fn of((contents, known): (Contents, Known), older: Found<HandedOut>) -> Self {
        let is_absent = known == Known::Nothing && matches!(older, Found::Nothing);
        let contents = if known == Known::Nothing { Contents::default() } else { contents };
        let mut book = Book::new(contents, 0, 0);
        let mut incomplete = match known {
            Known::Newer(format) => Some(format!("{NAME} has format {format}, of a newer devgate")),
            Known::Incomplete(why) => Some(format!("{NAME}: {why}")),
            Known::All | Known::Nothing => None,
        };
        match older {
            Found::Content(older) => older.note_in(&mut book),
            Found::Nothing => {}
            Found::Newer(version) => {
                let why = format!("{} has version {version}, of a newer devgate", older::NAME);
                incomplete = incomplete.or(Some(why));
            }
            Found::Odd(why) => incomplete = incomplete.or(Some(format!("{}: {why}", older::NAME))),
        }
        Self { incomplete, is_absent, contents: book.contents().clone() }
    }

    /// The allocations, oldest first; but for what others than devgate's plugins gave.
    pub fn allocations(&self) -> impl Iterator<Item = Listed> + '_ {
        let ours = |allocation: &&Allocation| {
            let is_ours = |key| self.contents.record(&key).is_none_or(|record| !record.others);
            allocation.ask.keys().all(is_ours)
        };
        let allocations = self.contents.allocations().map(|(id, allocation)| (id, &**allocation));
        allocations.filter(move |(_, allocation)| ours(allocation)).map(|(id, allocation)| Listed::of(id, allocation))
    }

    /// Those that claims have.
    pub fn claims(&self) -> impl Iterator<Item = ListedClaim> + '_ {
        self.contents.allocations().filter_map(|(id, allocation)| {
            let (driver, tag) = (allocation.consumer.driver()?.to_owned(), allocation.ask.tag.clone());
            Some(ListedClaim { driver, tag, allocation: Listed::of(id, allocation) })
        })
    }

    /// The resources of which something was handed out, but for what others than devgate's plugins gave.
    #[must_use]
    pub fn resources(&self) -> BTreeSet<String> {
        self.allocations().map(|listed| listed.resource).collect()
    }

    /// All of it as JSON, as hosts of version 0.1 keep it.
    pub fn to_json(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(&HandedOut::of(&self.contents))? + "\n")
    }
}

impl Listed {
    pub(super) fn of(id: AllocationId, Allocation { consumer, ask }: &Allocation) -> Self {
        Self {
            id: id.0,
            consumer: consumer.to_string(),
            resource: ask.resource.clone(),
            units: ask.take.iter().map(|take| take.unit.clone()).collect(),
            since: ask.since,
        }
    }
}

/// Why nothing was forgotten.
#[derive(Debug, thiserror::Error)]
pub enum NotForgotten {
    /// There is no such allocation.
    #[error("there is no allocation {0}; `devgate state list` shows those that there are")]
    Unknown(u64),
    /// It is not known what was handed out.
    #[error(
        "it is not known what was handed out: {0}; start devgate once, which asks the kubelet, or say `devgate state accept`"
    )]
    Incomplete(String),
    /// It cannot be read or written.
    #[error(transparent)]
    Failed(#[from] io::Error),
}

/// Ends an allocation of any consumer. Returns what it was; the state directory must be this process' alone. Fails where there is no such
/// allocation, or it cannot be recorded.
pub fn forget(dir: &Path, id: u64) -> Result<Listed, NotForgotten> {
    let Read { store, mut book, unknown, .. } = Read::open(dir, false)?;
    if let Some(why) = unknown {
        return Err(NotForgotten::Incomplete(why.to_string()));
    }
    let id = AllocationId(id);
    let allocation = book.contents().allocation(id).ok_or(NotForgotten::Unknown(id.0))?;
    let listed = Listed::of(id, allocation);
    let units = None;
    book.note(&Change::Release(Release { allocation: id, units }));
    write(store, &mut book, "a newer devgate wrote it")?;
    Ok(listed)
}

/// Takes what is recorded for all that was handed out, where that was not known. Why it was not, if so; the state directory must be
/// this process' alone.
pub fn accept(dir: &Path) -> io::Result<Option<String>> {
    let Read { store, mut book, unknown, .. } = Read::open(dir, false)?;
    let Some(why) = unknown else { return Ok(None) };
    write(store, &mut book, &why)?;
    Ok(Some(why.to_string()))
}

/// Writes all of it: nothing is ever written behind what another process wrote. `why_not` is why there is no store, where that is so.
fn write(store: Option<Store>, book: &mut Book, why_not: &str) -> io::Result<()> {
    let store = store.ok_or_else(|| io::Error::other(why_not))?;
    let mut writing = store.try_lock().map_err(io::Error::other)?;
    writing.write(book.take(true))
}
