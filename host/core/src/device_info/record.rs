//! Which files this host wrote, kept across its restarts: it removes these and no others.

use super::SUFFIX;
use super::files::says;
use crate::state::{Dir, Found, StateFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const NAME: &str = "device-info.json";
/// The format's version.
const FORMAT: u32 = 1;

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    pub(super) resource: String,
    /// The id as it is offered.
    pub(super) id: String,
    /// The id without a replica's number.
    pub(super) unit: String,
    /// What is in the file. One that says something else by now is somebody else's.
    pub(super) text: String,
    /// Whether nobody has the id any more, so that the file goes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) over: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    written: BTreeMap<String, Written>,
}

/// The largest record that is read.
const MOST_BYTES: u64 = 64 << 20;

/// What was written by a host that has ended.
pub(crate) struct LeftBehind {
    pub(crate) record: PathBuf,
    /// Each file, and whether what is there now is what was written; nothing where nothing is there.
    pub(crate) files: Vec<(PathBuf, io::Result<Option<bool>>)>,
}

/// What the record in the state directory says was written to `dir`; nothing where there is no record. Nothing is changed.
///
/// # Errors
/// Where the record cannot be read or understood.
pub(crate) fn left_behind(dir: &Path, state: &Path) -> io::Result<Option<LeftBehind>> {
    let record = state.join(NAME);
    let opened = match fs::File::open(&record) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut text = Vec::new();
    opened.take(MOST_BYTES).read_to_end(&mut text)?;
    let odd = |why: String| io::Error::other(format!("{NAME} cannot be understood: {why}; files that it names stay"));
    let content: Content = serde_json::from_slice(&text).map_err(|error| odd(error.to_string()))?;
    if content.version != FORMAT {
        return Err(odd(format!("it has version {}", content.version)));
    }
    let is_plain = |name: &str| !name.starts_with('.') && !name.contains('/') && name.ends_with(SUFFIX);
    let named = content.written.into_iter().filter(|(name, _)| is_plain(name));
    let files = named.map(|(name, written)| {
        let file = dir.join(name);
        let is_ours = says(&file, &written.text);
        (file, is_ours)
    });
    Ok(Some(LeftBehind {
        files: files.collect(),
        record,
    }))
}

/// Where it is kept.
pub(super) struct Record(Option<StateFile>);

impl Record {
    /// In the host's directory; nowhere where it has none.
    pub(super) fn in_dir(dir: Option<&Dir>) -> Self {
        Self(dir.map(|dir| StateFile {
            dir: dir.clone(),
            name: NAME,
            version: FORMAT,
            most: MOST_BYTES,
        }))
    }

    /// What was written before, by name. A record that cannot be understood is put aside and said to be: what it named stays.
    pub(super) fn read(&self) -> io::Result<BTreeMap<String, Written>> {
        let Some(file) = &self.0 else {
            return Ok(BTreeMap::new());
        };
        let problem = match file.read::<Content>()? {
            Found::Nothing => return Ok(BTreeMap::new()),
            Found::Content(content) => return Ok(content.written),
            Found::Newer(version) => format!("it has version {version}, this host reads {FORMAT}"),
            Found::Odd(problem) => problem,
        };
        file.put_aside(&problem, "files that it named are not removed");
        Ok(BTreeMap::new())
    }

    /// Replaces it as a whole.
    pub(super) fn write(&self, written: &BTreeMap<String, Written>) -> io::Result<()> {
        let Some(file) = &self.0 else { return Ok(()) };
        file.write(&Content {
            version: FORMAT,
            written: written.clone(),
        })
    }
}
