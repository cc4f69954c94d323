//! The file that hosts of version 0.1 keep what was handed out in.
//!
//! It is taken into the journal and removed. A host that ends writes it anew, so that one of that version may come next; where it
//! could not, that one finds none and asks the kubelet, as this one does where there is no journal.

use super::allocation::{Ask, Take};
use super::change::{Change, Dirty, Units};
use super::contents::Contents;
use super::is_default;
use super::journal::Book;
use super::unverified::Unverified;
use crate::state::{Dir, Found, StateFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

pub(super) const NAME: &str = "handed-out.json";
/// The format's version.
const VERSION: u32 = 1;
/// In place of the version, where consumers have something that no host of version 0.1 knows: it gives nothing then, and says that a newer
/// one wrote the file.
const IN_JOURNAL: u32 = 2;
/// The largest file: some 500 bytes for each id.
const MAX_BYTES: u64 = 256 << 20;

pub(super) struct Older(StateFile);

/// What is in it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HandedOut {
    version: u32,
    handed_out: Units,
    /// What others than our plugins gave by the kubelet's records: it keeps hardware from others, and is no reason to keep the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    others: Units,
    #[serde(default, skip_serializing_if = "is_default")]
    doubts: Unverified,
}

impl HandedOut {
    /// What of this a host of that version can be told.
    pub(super) fn of(contents: &Contents) -> Self {
        let is_in_journal = contents.others().next().is_some();
        let version = if is_in_journal { IN_JOURNAL } else { VERSION };
        let mut all = Self { version, doubts: contents.unverified().clone(), ..Self::default() };
        for ((resource, id), record) in contents.records() {
            let units = if record.others { &mut all.others } else { &mut all.handed_out };
            let mut record = (**record).clone();
            record.others = false;
            units.entry(resource.clone()).or_default().insert(id.clone(), record);
        }
        all
    }

    /// Whether the journal has what this has not: others than pods have something.
    pub(super) const fn is_in_journal(&self) -> bool {
        self.version == IN_JOURNAL
    }

    /// Notes it beside what is known: an older host may have given and taken since then, and what is over is found out.
    pub(super) fn note_in(self, book: &mut Book) {
        let mut unverified = book.contents().unverified().clone();
        unverified.unite(self.doubts);
        if unverified != *book.contents().unverified() {
            book.note(&Change::Dirty(Dirty::Is(unverified)));
        }
        for (units, others) in [(self.others, true), (self.handed_out, false)] {
            for (resource, ids) in units {
                for (id, mut record) in ids {
                    let (ask, key) = (Ask::of(&resource, [Take::whole(&id)]), (resource.clone(), id));
                    record.others = others;
                    if book.contents().record(&key).is_none_or(|known| **known != record) {
                        book.note_pods(ask, &key, record);
                    }
                }
            }
        }
    }
}

impl Older {
    /// The one in the state directory.
    pub(super) const fn of(dir: Dir) -> Self {
        Self(StateFile { dir, name: NAME, version: VERSION, most: MAX_BYTES })
    }

    /// Removes it, as what is in it is in the journal.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.0.dir.remove_durably(NAME)
    }

    /// What is in it. What cannot be understood is put aside.
    pub(super) fn read(&self) -> io::Result<Found<HandedOut>> {
        let found = self.peek()?;
        let Found::Odd(problem) = found else { return Ok(found) };
        self.0.put_aside(&problem, "nothing is given until the kubelet's records say what pods have");
        Ok(Found::Odd(format!("{NAME} cannot be understood: {problem}")))
    }

    /// The same, and nothing is put aside.
    pub(super) fn peek(&self) -> io::Result<Found<HandedOut>> {
        Ok(match self.0.read()? {
            Found::Newer(IN_JOURNAL) => Found::Content(HandedOut { version: IN_JOURNAL, ..HandedOut::default() }),
            found => found,
        })
    }

    /// Replaces the file as a whole.
    pub(super) fn write(&self, contents: &Contents) -> io::Result<()> {
        self.0.write(&HandedOut::of(contents))
    }
}
