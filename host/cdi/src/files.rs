//! The files of this host, among those of others: each is noted as its own, and nothing else is ever touched.
//!
//! What must be found again by its note is noted before it is there. What the journal of allocations names as well, in a directory that
//! a boot empties, is noted within a second: a kubelet waits for it.

use crate::PREFIX;
use crate::edits::NodeUnread;
use crate::name::{may_be_of, may_be_pods};
use crate::spec::Spec;
use devgate_core::state::{Dir, StateFile, Style, is_passing, put};
use devgate_types::{Mutex, escape};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The record of what was written.
const NAME: &str = "cdi.json";
/// The record's version, and the largest one that is read.
const FORMAT: u32 = 1;
const MAX_BYTES: u64 = 16 << 20;

/// Why a file is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Another program's has its name.
    #[error("file {0} is there, and was not written by this host; remove it if nothing else keeps it")]
    Foreign(String),
    /// It could not be noted.
    #[error("file {0} could not be noted in the state directory: {1}")]
    Note(String, io::Error),
    /// It could not be written or removed.
    #[error(
        "file {0} could not be {1}: {2}; look at its directory (--cdi-dir), and start devgate again if that was made anew"
    )]
    Disk(String, &'static str, io::Error),
}

/// Why what a consumer has is in no file.
#[derive(Debug, thiserror::Error)]
pub enum Unwritten {
    /// A node is not there.
    #[error(transparent)]
    Node(#[from] NodeUnread),
    /// The disk, or another program's file.
    #[error(transparent)]
    File(#[from] FileError),
    /// It was given up.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    files: BTreeSet<String>,
}

/// The files of one host in one directory.
pub(crate) struct Files {
    dir: PathBuf,
    record: Option<StateFile>,
    /// Locked for as long as the disk is touched.
    own: Mutex<Own>,
}

/// What is this host's.
#[derive(Default)]
struct Own {
    names: BTreeSet<String>,
    /// Whether that is not what is noted.
    is_new: bool,
}

impl Files {
    /// The files in `dir`, which is made with the first of them. What was written before is read from `state`.
    pub(crate) fn open(dir: &Path, state: Option<&Dir>) -> Self {
        let record = state.map(record);
        let read = |file: &StateFile| file.read_or_put_aside::<Content>("CDI files that it named are not removed");
        let names = record.as_ref().and_then(read).map(|content| content.files).unwrap_or_default();
        Self { dir: dir.to_owned(), record, own: Mutex::new(Own { names, is_new: false }) }
    }

    /// Takes files for this host's that no other would call so: a host that was killed may not have noted them.
    pub(crate) fn adopt(&self, names: impl IntoIterator<Item = String>) {
        let mut own = self.own.lock();
        let before = own.names.len();
        own.names.extend(names);
        own.is_new |= own.names.len() > before;
    }

    /// What is wrong with the directory, for people, if anything: who can write in it can give any device to any container. What a
    /// host that was killed had not finished there is removed.
    pub(crate) fn tidy(&self) -> Option<String> {
        let tidied = Dir::look(&self.dir).and_then(|dir| dir.map_or(Ok(()), |dir| dir.tidy()));
        let error = tidied.err()?;
        Some(format!("CDI directory {}: {error} (--cdi-dir)", self.dir.display()))
    }

    /// Writes a file, unless it is there and says just this. Whether it was written. Blocks.
    pub(crate) fn write(&self, name: &str, spec: &Spec, style: Style) -> Result<bool, FileError> {
        let mut own = self.own.lock();
        let path = self.path(name);
        let is_there = self.says(name, spec);
        if !own.names.contains(name) {
            if !is_there && fs::symlink_metadata(&path).is_ok() {
                return Err(FileError::Foreign(shown(&path)));
            }
            own.names.insert(name.to_owned());
            own.is_new = true;
            if style != Style::PASSING_OWN || !is_passing(&self.dir) {
                let noted = self.note(&mut own);
                noted.map_err(|error| {
                    own.names.remove(name);
                    FileError::Note(shown(&path), error)
                })?;
            }
        }
        if !is_there {
            let written = put(&path, &text(spec), style);
            written.map_err(|error| FileError::Disk(shown(&path), "written", error))?;
        }
        Ok(!is_there)
    }

    /// Removes a file of this host's; another's stays. Blocks.
    pub(crate) fn remove(&self, name: &str) -> Result<(), FileError> {
        let mut own = self.own.lock();
        if !own.names.contains(name) {
            return Ok(());
        }
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(FileError::Disk(shown(&path), "removed", error));
            }
            _ => {}
        }
        // One that is noted and not there costs nothing, and is looked at again when the host starts.
        own.names.remove(name);
        own.is_new = true;
        Ok(())
    }

    /// Notes what was not noted yet. Blocks.
    pub(crate) fn save(&self) {
        let mut own = self.own.lock();
        if own.is_new
            && let Err(error) = self.note(&mut own)
        {
            tracing::warn!(family = "host", "CDI files: which are this host's could not be noted: {error}");
        }
    }

    /// Whether a file is there and says this. Blocks.
    pub(crate) fn says(&self, name: &str, spec: &Spec) -> bool {
        let path = self.path(name);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|look| look.is_file());
        is_file && fs::read(&path).is_ok_and(|bytes| bytes == text(spec))
    }

    /// The names of all of them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.own.lock().names.iter().cloned().collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// What fails is tried again with the next change.
    fn note(&self, own: &mut Own) -> io::Result<()> {
        own.is_new = false;
        let Some(record) = &self.record else { return Ok(()) };
        // What is noted of files that a boot takes need not outlast it.
        let style = if is_passing(&self.dir) { Style::PASSING_OWN } else { Style::KEPT };
        record.write_as(&Content { version: FORMAT, files: own.names.clone() }, style)
    }
}

/// A file that a host which has ended has noted as its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// Where it is.
    pub path: PathBuf,
    /// Whether a pod may have what it says, and needs it to start a container again.
    pub is_pods: bool,
}

impl LeftBehind {
    /// Whether it is of this allocation, or its name does not say of which. `consumer` is as `devgate state list` shows it.
    #[must_use]
    pub fn may_be_of(&self, id: u64, consumer: &str) -> bool {
        let name = self.path.file_name().and_then(|name| name.to_str());
        name.is_none_or(|name| may_be_of(name, id, consumer))
    }
}

/// The files in `dir` that a host which has ended has noted as its own. Nothing is changed.
pub fn left_behind(dir: &Path, state: &Path) -> io::Result<Vec<LeftBehind>> {
    let Some(opened) = Dir::look(state)? else {
        return Ok(Vec::new());
    };
    let content = record(&opened).read_or_refuse::<Content>("files that it names stay")?;
    let is_ours = |name: &String| name.starts_with(PREFIX) && name.ends_with(".json") && !name.contains('/');
    let files = content.into_iter().flat_map(|content| content.files).filter(is_ours);
    Ok(files.map(|name| LeftBehind { path: dir.join(&name), is_pods: may_be_pods(&name) }).collect())
}

fn record(dir: &Dir) -> StateFile {
    StateFile { dir: dir.clone(), name: NAME, version: FORMAT, most: MAX_BYTES }
}

/// As it is written: the same for the same device. Readers take it for YAML, so that it has no character that is another one there.
pub(crate) fn text(spec: &Spec) -> Vec<u8> {
    let mut text = String::new();
    for c in serde_json::to_string_pretty(spec).unwrap_or_default().chars() {
        match is_none_in_yaml(c) || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}') {
            true => text += &format!("\\u{:04x}", u32::from(c)),
            false => text.push(c),
        }
    }
    (text + "\n").into_bytes()
}

/// Whether JSON has a character and YAML has it not.
pub(crate) fn is_none_in_yaml(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn shown(path: &Path) -> String {
    escape(&path.display().to_string(), 512).to_string()
}

#[cfg(test)]
mod tests;
