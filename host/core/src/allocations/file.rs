//! The file that the memory is kept in: whole or not at all, and readable for people.

use super::Key;
use super::doubts::Doubts;
use super::record::HandedOut;
use crate::state::{Dir, Found, StateFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

const NAME: &str = "handed-out.json";
/// The format's version.
const VERSION: u32 = 1;
/// The largest file: some 500 bytes for each id.
const MOST_BYTES: u64 = 256 << 20;

pub(super) struct File(StateFile);

/// What is in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    pub(super) handed_out: BTreeMap<Key, HandedOut>,
    pub(super) doubts: Doubts,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    handed_out: Resources,
    /// What others than our plugins gave by the kubelet's records: it keeps hardware from others, and is nobody's reason to keep the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    others: Resources,
    #[serde(default, skip_serializing_if = "Doubts::is_none")]
    doubts: Doubts,
}

type Resources = BTreeMap<String, BTreeMap<String, HandedOut>>;

impl Kept {
    /// Where that is not known.
    pub(super) fn unknown() -> Self {
        Self {
            handed_out: BTreeMap::new(),
            doubts: Doubts::of_all(),
        }
    }
}

impl File {
    /// In this directory, which is made if it is not there, for its owner alone.
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let dir = Dir::open(dir)?;
        crate::blob::tidy(&dir);
        Ok(Self(StateFile {
            dir,
            name: NAME,
            version: VERSION,
            most: MOST_BYTES,
        }))
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.0.dir
    }

    /// What is in it, or why that is not known: it is not there, or cannot be understood and was put aside.
    ///
    /// # Errors
    /// Where it cannot be read, and where a newer host wrote it: then it stays as it is.
    pub(super) fn read(&self) -> io::Result<Result<Kept, String>> {
        Ok(match self.0.read::<Content>()? {
            Found::Nothing => Err(format!("there is no {NAME}")),
            Found::Content(content) => Ok(content.flat()),
            Found::Newer(version) => {
                return Err(io::Error::other(format!(
                    "{NAME} has version {version}, and this devgate reads {VERSION}: a newer one wrote it; run that one, or, where no pod \
                     on the node has a device, remove the file"
                )));
            }
            Found::Odd(problem) => {
                let lost = "nothing is given until the kubelet's records say what pods have";
                self.0.put_aside(&problem, lost);
                Err(format!("{NAME} cannot be understood: {problem}"))
            }
        })
    }

    /// Replaces the file as a whole.
    pub(super) fn write(&self, kept: Kept) -> io::Result<()> {
        self.0.write(&Content::of(kept))
    }
}

impl Content {
    fn of(kept: Kept) -> Self {
        let (mut handed_out, mut others) = (Resources::new(), Resources::new());
        for ((resource, id), unit) in kept.handed_out {
            let resources = if unit.others { &mut others } else { &mut handed_out };
            resources.entry(resource).or_default().insert(id, unit);
        }
        Self {
            version: VERSION,
            handed_out,
            others,
            doubts: kept.doubts,
        }
    }

    fn flat(self) -> Kept {
        let of = |resources: Resources, others: bool| {
            let ids = resources
                .into_iter()
                .flat_map(|(resource, ids)| ids.into_iter().map(move |(id, unit)| ((resource.clone(), id), unit)));
            ids.map(move |(key, unit)| (key, unit.of_others(others)))
        };
        Kept {
            handed_out: of(self.others, true).chain(of(self.handed_out, false)).collect(),
            doubts: self.doubts,
        }
    }
}
