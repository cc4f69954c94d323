//! What a host leaves on a node when it has ended, and its removal.
//!
//! A file goes where its name and its content say that it is devgate's. No link is followed, and of directories only those that
//! devgate made are looked into. Everything else that is found there is told and stays.

mod state;

pub use state::StateDir;

use crate::device_info::left_behind;
use crate::labels;
use crate::state::is_temporary;
use serde::Serialize;
use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

/// Something that was found, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leftover {
    /// What it is, such as `labels`.
    pub what: &'static str,
    /// Where it is, or was.
    pub path: PathBuf,
    /// What became of it.
    #[serde(rename = "fate")]
    pub outcome: Outcome,
    /// Why it is still there, if that was not asked for.
    pub why: Option<String>,
}

/// What became of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is gone.
    Removed,
    /// It would be, had this been asked for.
    WouldRemove,
    /// It is not devgate's, or not for sure.
    Left,
    /// It could not be looked at or removed.
    Failed,
}

/// Removes, or only tells what it would remove.
#[derive(Debug)]
pub struct Cleaner {
    dry: bool,
    found: Vec<Leftover>,
}

impl Cleaner {
    /// One that removes, or with `dry` only tells.
    #[must_use]
    pub fn new(dry: bool) -> Self {
        Self { dry, found: Vec::new() }
    }

    /// What was found so far.
    #[must_use]
    pub fn found(self) -> Vec<Leftover> {
        self.found
    }

    /// Of how much that was found this became.
    fn count(&self, outcomes: &[Outcome]) -> usize {
        self.found.iter().filter(|found| outcomes.contains(&found.outcome)).count()
    }

    /// Removes a file or a socket. One that has gone by itself is none.
    pub fn remove(&mut self, what: &'static str, path: &Path) {
        let removed = if self.dry { Ok(()) } else { fs::remove_file(path) };
        self.end(what, path, removed);
    }

    /// Tells of something that is devgate's and stays.
    pub fn leave(&mut self, what: &'static str, path: &Path, why: &str) {
        self.tell(what, path, Outcome::Left, Some(why.to_owned()));
    }

    /// Removes devgate's file for Node Feature Discovery from `dir`, what it was written as, and its lock.
    pub fn labels(&mut self, dir: &Path) {
        const WHAT: &str = "labels";
        let file = dir.join(labels::FILE);
        self.judge(WHAT, &file, labels::is_ours(&file), "devgate did not write it");
        let names = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let unfinished = names.filter(|name| name.to_str().is_some_and(is_temporary));
        // What was not finished may have been cut off before its first line was whole; no other program uses these names.
        let names = iter::once(labels::TEMPORARY.into()).chain(unfinished);
        for name in names.chain([labels::LOCK.into()]) {
            let path = dir.join(name);
            if is_file(&path) {
                self.remove(WHAT, &path);
            }
        }
    }

    /// Removes the files for a meta network plugin in `dir` that the record in the state directory names and that say what was written,
    /// then the record.
    pub fn device_info(&mut self, dir: &Path, state_dir: &Path) {
        const WHAT: &str = "device-info";
        let (record, files) = match left_behind(dir, state_dir) {
            Ok(Some(left)) => left,
            Ok(None) => return,
            Err(why) => return self.end(WHAT, state_dir, Err(why)),
        };
        let before = self.count(&[Outcome::Failed]);
        for (file, is_ours) in files {
            self.judge(WHAT, &file, is_ours, "says something else than devgate wrote");
        }
        // What could not be removed must be known the next time.
        if self.count(&[Outcome::Failed]) == before {
            self.remove(WHAT, &record);
        }
    }

    /// Removes a file that is devgate's, and leaves another; `None` if there is none.
    fn judge(&mut self, what: &'static str, path: &Path, is_ours: io::Result<Option<bool>>, why_not: &str) {
        match is_ours {
            Ok(Some(true)) => self.remove(what, path),
            Ok(Some(false)) => self.tell(what, path, Outcome::Left, Some(why_not.to_owned())),
            Ok(None) => {}
            Err(why) => self.end(what, path, Err(why)),
        }
    }

    /// Removes an empty directory.
    fn remove_dir(&mut self, what: &'static str, path: &Path) {
        use io::ErrorKind::{DirectoryNotEmpty, ReadOnlyFilesystem, ResourceBusy};
        match if self.dry { Ok(()) } else { fs::remove_dir(path) } {
            // A mount's, also one in a container whose own root is read-only; or another program has put something in it meanwhile.
            Err(why) if matches!(why.kind(), ResourceBusy | ReadOnlyFilesystem | DirectoryNotEmpty) => {
                self.tell(what, path, Outcome::Left, Some(why.to_string()));
            }
            removed => self.end(what, path, removed),
        }
    }

    /// What became of something that was to be looked at or removed. What is not there is nothing to tell of.
    fn end(&mut self, what: &'static str, path: &Path, removed: io::Result<()>) {
        match removed {
            Ok(()) if self.dry => self.tell(what, path, Outcome::WouldRemove, None),
            Ok(()) => self.tell(what, path, Outcome::Removed, None),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => self.tell(what, path, Outcome::Failed, Some(why.to_string())),
        }
    }

    fn tell(&mut self, what: &'static str, path: &Path, outcome: Outcome, why: Option<String>) {
        // What is only told is found again, as part of something else.
        if self.dry && self.found.iter().any(|found| found.path == path) {
            return;
        }
        let path = path.to_owned();
        self.found.push(Leftover { what, path, outcome, why });
    }
}

/// Whether there is a regular file and no link.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|look| look.is_file())
}

#[cfg(test)]
mod tests;
