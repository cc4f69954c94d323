//! The state directory, when devgate leaves for good.

use super::{Broom, is_file};
use crate::hold;
use crate::state::is_temporary;
use devgate_types::PluginName;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const WHAT: &str = "state";
const CACHE: &str = "cache";

/// What the host keeps in the directory itself. Each may also be there as it is being written or tried, and as it was put aside.
const RECORDS: [&str; 3] = ["handed-out.json", "unhealthy.json", "device-info.json"];
/// What comes after their names then.
const FORMS: [&str; 4] = ["", NEW, ".probe", ".unreadable"];
/// What hosts of version 0.1.0 wrote first, and the cache of components does, beside the file.
const NEW: &str = ".new";
/// The journal of what was handed out.
const JOURNAL: &str = "allocations";
/// What components remember, a file for each plugin.
const BLOBS: &str = "state";
/// Components from a registry, by their digests.
const COMPONENTS: &str = "components";
/// How the directory is called by default.
const NAME: &str = "devgate";
/// Digits of a SHA-256 digest.
const DIGITS: usize = 64;

/// A directory that looks as if devgate kept its state in it.
#[derive(Debug)]
pub struct StateDir(pub(super) PathBuf);

/// Why a directory is not taken for one of devgate's.
#[derive(Debug, thiserror::Error)]
pub enum NotState {
    /// It cannot be looked at.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A link could lead anywhere by the time that something is removed.
    #[error("it is a link; name the directory that it leads to")]
    Link,
    /// It is something else.
    #[error("it is no directory")]
    NoDirectory,
    /// Its owner is a third.
    #[error("it is neither root's nor this user's")]
    Foreign,
    /// Its group or everybody may write there.
    #[error("others than its owner can write there; take that from them first (chmod go-w)")]
    Open,
    /// It has this in it, escaped and cut, and nothing of devgate's.
    #[error("it does not look like devgate's: it has no {JOURNAL}, no {records}, and {0} is not devgate's", records = RECORDS.join(", no "))]
    Other(String),
}

impl StateDir {
    /// Looks at a directory; nothing where it is not there.
    ///
    /// # Errors
    /// Why it does not look like one of devgate's, or cannot be looked at.
    pub fn look(dir: &Path) -> Result<Option<Self>, NotState> {
        let look = match fs::symlink_metadata(dir) {
            Ok(look) => look,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if look.is_symlink() {
            return Err(NotState::Link);
        }
        if !look.is_dir() {
            return Err(NotState::NoDirectory);
        }
        if !is_trusted(&look) {
            return Err(NotState::Foreign);
        }
        // Whoever may write there could put a link where a directory was just looked at.
        if look.mode() & 0o022 != 0 {
            return Err(NotState::Open);
        }
        let names = names(dir)?;
        let has_record = RECORDS.iter().any(|record| is_file(&dir.join(record))) || has_journal(dir);
        let is_named = dir.file_name().is_some_and(|name| name == NAME);
        if has_record || is_named || names.iter().all(|name| is_known(&name.to_string_lossy())) {
            return Ok(Some(Self(dir.to_owned())));
        }
        let other = names.iter().find(|name| !is_known(&name.to_string_lossy()));
        let other = other.map_or_else(String::new, |name| devgate_types::escape(&name.to_string_lossy(), 80));
        Err(NotState::Other(other))
    }
}

impl Broom {
    /// Removes what devgate keeps in its state directory, and the directory where nothing else is in it.
    pub fn state(&mut self, dir: &StateDir) {
        let dir = &dir.0;
        let names = match names(dir) {
            Ok(names) => names,
            Err(why) => return self.fail(WHAT, dir, &why),
        };
        let before = self.staying();
        for name in names {
            let path = dir.join(&name);
            match name.to_string_lossy().as_ref() {
                BLOBS => self.directory(WHAT, &path, |broom, path, name| broom.file(WHAT, path, is_blob(name))),
                JOURNAL => self.directory(WHAT, &path, |broom, path, name| {
                    broom.file(WHAT, path, is_of_journal(name))
                }),
                COMPONENTS => self.directory(CACHE, &path, Broom::cached),
                // Last: it keeps hosts out.
                hold::FILE => {}
                name if is_record(name) && is_file(&path) => self.remove(WHAT, &path),
                _ => self.leave(WHAT, &path, "devgate did not make it"),
            }
        }
        let lock = dir.join(hold::FILE);
        if fs::symlink_metadata(&lock).is_ok() {
            self.file(WHAT, &lock, true);
        }
        if self.staying() == before {
            self.remove_dir(WHAT, dir);
        }
    }

    /// Something in the cache: a component's directory, or one that was not finished.
    fn cached(&mut self, path: &Path, name: &str) {
        let is_dir = fs::symlink_metadata(path).is_ok_and(|look| look.is_dir());
        if is_cached(name) && is_dir {
            self.directory(CACHE, path, |broom, path, name| {
                broom.file(CACHE, path, is_cache_file(name))
            });
        } else {
            self.file(CACHE, path, is_cached(name));
        }
    }

    /// Removes a file with such a name, and nothing else that has it.
    fn file(&mut self, what: &'static str, path: &Path, is_ours: bool) {
        if is_ours && is_file(path) {
            self.remove(what, path);
        } else {
            self.leave(what, path, "devgate did not make it");
        }
    }

    /// Does something with each thing in a directory, and removes the directory where nothing stays in it.
    fn directory(&mut self, what: &'static str, dir: &Path, each: fn(&mut Self, &Path, &str)) {
        match fs::symlink_metadata(dir) {
            Ok(look) if look.is_dir() => {}
            Ok(_) => return self.leave(what, dir, "it is no directory"),
            Err(why) => return self.fail(what, dir, &why),
        }
        let names = match names(dir) {
            Ok(names) => names,
            Err(why) => return self.fail(what, dir, &why),
        };
        let before = self.staying();
        for name in names {
            each(self, &dir.join(&name), &name.to_string_lossy());
        }
        if self.staying() == before {
            self.remove_dir(what, dir);
        }
    }
}

/// The names in a directory, sorted.
fn names(dir: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.push(entry?.file_name());
    }
    names.sort();
    Ok(names)
}

/// Whether nobody but root and this user decides what is in it.
fn is_trusted(look: &Metadata) -> bool {
    look.uid() == 0 || look.uid() == rustix::process::geteuid().as_raw()
}

fn is_known(name: &str) -> bool {
    [JOURNAL, BLOBS, COMPONENTS, hold::FILE].contains(&name) || is_record(name)
}

fn is_record(name: &str) -> bool {
    if is_temporary(name) {
        return true;
    }
    let mut records = RECORDS.iter().filter_map(|record| name.strip_prefix(record));
    records.any(|rest| FORMS.contains(&rest))
}

/// Whether there is a journal in the state directory.
fn has_journal(dir: &Path) -> bool {
    let journal = dir.join(JOURNAL);
    let is_dir = fs::symlink_metadata(&journal).is_ok_and(|look| look.is_dir());
    is_dir && names(&journal).is_ok_and(|names| names.iter().any(|name| is_of_journal(&name.to_string_lossy())))
}

/// Whether a host gives a file of the journal this name.
fn is_of_journal(name: &str) -> bool {
    let name = name.strip_suffix(".unreadable").unwrap_or(name);
    let number = name.strip_prefix("journal.").or_else(|| name.strip_prefix("snapshot."));
    name == "snapshot.new" || number.is_some_and(|number| number.parse::<u64>().is_ok())
}

fn is_blob(name: &str) -> bool {
    let plugin = name.strip_suffix(NEW).unwrap_or(name);
    is_temporary(name) || PluginName::try_new(plugin).is_ok()
}

/// Whether the cache gives a file of a component this name.
fn is_cache_file(name: &str) -> bool {
    let name = name.strip_suffix(NEW).unwrap_or(name);
    let number = name
        .strip_prefix("manifest.")
        .and_then(|rest| rest.strip_suffix(".json"));
    name == "layer" || name == "signatures.json" || number.is_some_and(|n| n.parse::<u32>().is_ok())
}

/// Whether a name has a digest in it, as those of cached components have.
fn is_cached(name: &str) -> bool {
    let digits = |part: &str| part.len() == DIGITS && part.bytes().all(|b| b.is_ascii_hexdigit());
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(digits)
}
