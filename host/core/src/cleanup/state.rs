//! The state directory, when devgate leaves for good.

use super::{Cleaner, Outcome, is_file};
use crate::allocations::Recorded;
use crate::state::is_temporary;
use crate::state_dir_lock;
use devgate_types::PluginName;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the host keeps in the directory itself. Each may also be there as it is being written or tried, and as it was put aside.
const RECORDS: [&str; 4] = ["handed-out.json", "unhealthy.json", "device-info.json", "cdi.json"];
/// What comes after their names then.
const FORMS: [&str; 4] = ["", NEW, ".probe", ".unreadable"];
/// What hosts of version 0.1.0 wrote first, and the cache of components does, beside the file.
const NEW: &str = ".new";
/// As a host of version 0.1 that did not understand it put it aside.
const ASIDE: &str = "handed-out.json.unreadable";
/// The journal of what was handed out.
const JOURNAL: &str = "allocations";
/// What components remember, a file for each plugin.
const BLOBS: &str = "state";
/// Notes of callers that something is over, a file for each.
const NOTES: &str = "ended-requests";
/// Components from a registry, by their digests.
const COMPONENTS: &str = "components";
/// Machine code of components, by their digests.
const COMPILED: &str = "compiled";
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
    /// It is something else, or others could change what is in it: why.
    #[error("{0}")]
    Unlike(&'static str),
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
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            look => look?,
        };
        let unlike = |why| Err(NotState::Unlike(why));
        if look.is_symlink() {
            // By the time that something is removed it could lead anywhere.
            return unlike("it is a link; name the directory that it leads to");
        }
        if !look.is_dir() {
            return unlike("it is no directory");
        }
        if look.uid() != 0 && look.uid() != rustix::process::geteuid().as_raw() {
            return unlike("it is neither root's nor this user's");
        }
        // Who may write there could put a link where a directory was just looked at.
        if look.mode() & 0o022 != 0 {
            return unlike("others than its owner can write there; take that from them first (chmod go-w)");
        }
        let list = names(dir)?;
        let has_journal = || {
            let journal = dir.join(JOURNAL);
            let is_dir = fs::symlink_metadata(&journal).is_ok_and(|look| look.is_dir());
            let mut files = names(&journal).into_iter().flatten();
            is_dir && files.any(|name| is_of_journal(&name.to_string_lossy()))
        };
        let is_named = dir.file_name().is_some_and(|name| name == NAME);
        let other = list.iter().find(|name| matches!(is_ours(&[&name.to_string_lossy()]), Ours::Nothing));
        match other {
            Some(other) if !is_named && !has_journal() && !RECORDS.iter().any(|record| is_file(&dir.join(record))) => {
                Err(NotState::Other(devgate_types::escape(&other.to_string_lossy(), 80)))
            }
            _ => Ok(Some(Self(dir.to_owned()))),
        }
    }

    /// The resources of which something was handed out, but for what others than devgate's plugins gave; `None` if what is kept cannot be
    /// understood, and it may be any. Nothing is written.
    #[must_use]
    pub fn given(&self) -> Option<BTreeSet<String>> {
        let recorded = Recorded::read(&self.0).ok()?;
        // What was put aside is what a host did not understand: it may be of pods that still run. One that has learned what pods have
        // writes anew, and what was put aside says no more then.
        let is_aside = || fs::symlink_metadata(self.0.join(ASIDE)).is_ok();
        let is_known = recorded.incomplete.is_none() && !(recorded.is_absent && is_aside());
        is_known.then(|| recorded.resources())
    }
}

impl Cleaner {
    /// Removes what devgate keeps in its state directory, and the directory where nothing else is in it.
    pub fn state(&mut self, dir: &StateDir) {
        self.sweep(&dir.0, &[]);
    }

    /// Removes what a host made in a directory, which is at this place in the state directory, and then the directory where nothing
    /// stays in it.
    fn sweep(&mut self, dir: &Path, place: &[&str]) {
        let what = kind(place);
        let mut names = match names(dir) {
            Ok(names) => names,
            Err(why) => return self.end(what, dir, Err(why)),
        };
        // Last: it keeps hosts out.
        names.sort_by_key(|name| name == state_dir_lock::FILE);
        let stays = [Outcome::Failed, Outcome::Left];
        let before = self.count(&stays);
        for name in names {
            let (path, name) = (dir.join(&name), name.to_string_lossy());
            let place = [place, &[name.as_ref()]].concat();
            let what = kind(&place);
            match (fs::symlink_metadata(&path), is_ours(&place)) {
                (Err(why), _) => self.end(what, &path, Err(why)),
                (Ok(look), Ours::Dir | Ours::Either) if look.is_dir() => self.sweep(&path, &place),
                (Ok(look), Ours::File | Ours::Either) if look.is_file() => self.remove(what, &path),
                (Ok(_), Ours::Dir) => self.judge(what, &path, Ok(Some(false)), "it is no directory"),
                (Ok(_), _) => self.judge(what, &path, Ok(Some(false)), "devgate did not make it"),
            }
        }
        if self.count(&stays) == before {
            self.remove_dir(what, dir);
        }
    }
}

/// What a host makes under a name.
enum Ours {
    File,
    Dir,
    Either,
    Nothing,
}

/// What a host makes at a place in the state directory.
fn is_ours(place: &[&str]) -> Ours {
    let is_file = match place {
        [JOURNAL | BLOBS | NOTES | COMPONENTS | COMPILED] => return Ours::Dir,
        [COMPONENTS, entry] if is_cached(entry) => return Ours::Either,
        [name] => *name == state_dir_lock::FILE || is_record(name),
        [JOURNAL, name] => is_of_journal(name),
        [BLOBS, name] => is_temporary(name) || PluginName::try_new(name.strip_suffix(NEW).unwrap_or(name)).is_ok(),
        [NOTES, name] => is_temporary(name) || name.contains('='),
        [COMPONENTS, _, name] => is_cache_file(name),
        [COMPILED, name] => is_temporary(name) || (name.ends_with(".code") && is_cached(name)),
        _ => false,
    };
    if is_file { Ours::File } else { Ours::Nothing }
}

fn kind(place: &[&str]) -> &'static str {
    if matches!(place.first(), Some(&(COMPONENTS | COMPILED))) { "cache" } else { "state" }
}

/// The names in a directory, sorted.
fn names(dir: &Path) -> io::Result<Vec<OsString>> {
    let names: io::Result<Vec<_>> = fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name())).collect();
    let mut names = names?;
    names.sort();
    Ok(names)
}

fn is_record(name: &str) -> bool {
    let mut records = RECORDS.iter().filter_map(|record| name.strip_prefix(record));
    is_temporary(name) || records.any(|rest| FORMS.contains(&rest))
}

/// Whether a host gives a file of the journal this name.
fn is_of_journal(name: &str) -> bool {
    let name = name.strip_suffix(".unreadable").unwrap_or(name);
    let number = name.strip_prefix("journal.").or_else(|| name.strip_prefix("snapshot."));
    name == "snapshot.new" || number.is_some_and(|number| number.parse::<u64>().is_ok())
}

/// Whether the cache gives a file of a component this name.
fn is_cache_file(name: &str) -> bool {
    let name = name.strip_suffix(NEW).unwrap_or(name);
    let number = name.strip_prefix("manifest.").and_then(|rest| rest.strip_suffix(".json"));
    name == "layer" || name == "signatures.json" || number.is_some_and(|n| n.parse::<u32>().is_ok())
}

/// Whether a name has a digest in it, as those of cached components have.
fn is_cached(name: &str) -> bool {
    let digits = |part: &str| part.len() == DIGITS && part.bytes().all(|b| b.is_ascii_hexdigit());
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(digits)
}
