//! The file that hosts of version 0.1 keep what was handed out in.
//!
//! It is taken into the journal and removed. A host that ends writes it anew, so that one of that version may come next; where it
//! could not, that one finds none and asks the kubelet, as this one does where there is no journal.

use super::allocation::{Ask, Take};
use super::change::{Acquire, Change, Units, with};
use super::consumer::Consumer;
use super::contents::Contents;
use super::journal::Book;
use super::record::AllocatedUnit;
use super::unverified::Unverified;
use super::{Key, change::Dirty};
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
#[derive(Debug, Clone, Default)]
pub(super) struct HandedOutThen {
    pub(super) handed_out: BTreeMap<Key, AllocatedUnit>,
    pub(super) doubts: Unverified,
    /// Whether the journal has what this has not: others than pods have something.
    pub(super) is_in_journal: bool,
}

/// What is known of the file.
pub(super) enum Kept {
    /// It is not there.
    Nothing,
    HandedOut(HandedOutThen),
    /// A newer host wrote it, in this version: it stays as it is.
    Newer(u32),
    /// It cannot be understood, for this reason.
    Odd(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    handed_out: Resources,
    /// What others than our plugins gave by the kubelet's records: it keeps hardware from others, and is no reason to keep the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    others: Resources,
    #[serde(default, skip_serializing_if = "Unverified::is_none")]
    doubts: Unverified,
}

type Resources = BTreeMap<String, BTreeMap<String, AllocatedUnit>>;

impl HandedOutThen {
    /// Notes it beside what is known: an older host may have given and taken since then, and what is over is found out.
    pub(super) fn note_in(self, book: &mut Book) {
        let mut unverified = book.contents().unverified().clone();
        unverified.unite(self.doubts);
        if unverified != *book.contents().unverified() {
            book.note(&Change::Dirty(Dirty::Is(unverified)));
        }
        for (key, record) in self.handed_out {
            if book.contents().record(&key).is_some_and(|known| **known == record) {
                continue;
            }
            let ask = Ask::of(&key.0, [Take::whole(&key.1)]);
            let mut units = Units::new();
            with(&key, record, &mut units);
            let allocations = BTreeMap::from([(book.new_id(), ask)]);
            book.note(&Change::Acquire(Acquire { consumer: Consumer::Pods, allocations, units }));
        }
    }

    /// What of this a host of that version can be told.
    pub(super) fn of(contents: &Contents) -> Self {
        let records = contents.records();
        Self {
            handed_out: records.map(|(key, record)| (key.clone(), (**record).clone())).collect(),
            doubts: contents.unverified().clone(),
            is_in_journal: contents.others().next().is_some(),
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
    pub(super) fn read(&self) -> io::Result<Kept> {
        let kept = self.peek()?;
        if let Kept::Odd(problem) = &kept {
            let lost = "nothing is given until the kubelet's records say what pods have";
            self.0.put_aside(problem, lost);
            return Ok(Kept::Odd(format!("{NAME} cannot be understood: {problem}")));
        }
        Ok(kept)
    }

    /// The same, and nothing is put aside.
    pub(super) fn peek(&self) -> io::Result<Kept> {
        Ok(match self.0.read::<Content>()? {
            Found::Nothing => Kept::Nothing,
            Found::Content(content) => Kept::HandedOut(content.flat()),
            Found::Newer(IN_JOURNAL) => {
                Kept::HandedOut(HandedOutThen { is_in_journal: true, ..HandedOutThen::default() })
            }
            Found::Newer(version) => Kept::Newer(version),
            Found::Odd(problem) => Kept::Odd(problem),
        })
    }

    /// Replaces the file as a whole.
    pub(super) fn write(&self, kept: HandedOutThen) -> io::Result<()> {
        self.0.write(&Content::of(kept))
    }

    /// What would be in it.
    pub(super) fn text(kept: HandedOutThen) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(&Content::of(kept))?;
        text.push(b'\n');
        Ok(text)
    }
}

impl Content {
    fn of(kept: HandedOutThen) -> Self {
        let (mut handed_out, mut others) = (Resources::new(), Resources::new());
        for ((resource, id), unit) in kept.handed_out {
            let resources = if unit.others { &mut others } else { &mut handed_out };
            resources.entry(resource).or_default().insert(id, unit.of_others(false));
        }
        let version = if kept.is_in_journal { IN_JOURNAL } else { VERSION };
        Self { version, handed_out, others, doubts: kept.doubts }
    }

    fn flat(self) -> HandedOutThen {
        let of = |resources: Resources, others: bool| {
            let ids = resources
                .into_iter()
                .flat_map(|(resource, ids)| ids.into_iter().map(move |(id, unit)| ((resource.clone(), id), unit)));
            ids.map(move |(key, unit)| (key, unit.of_others(others)))
        };
        HandedOutThen {
            handed_out: of(self.others, true).chain(of(self.handed_out, false)).collect(),
            doubts: self.doubts,
            is_in_journal: false,
        }
    }
}
