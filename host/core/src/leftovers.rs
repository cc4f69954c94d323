//! What a host leaves on a node when it has ended, and its removal.
//!
//! A file goes where its name and its content say that it is devgate's. No link is followed, and of directories only those that
//! devgate made are looked into. Everything else that is found there is told and stays.

mod state;

pub use state::{NotState, StateDir};

use crate::device_info::left_behind;
use crate::labels;
use crate::state::is_temporary;
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Something that was found, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leftover {
    /// What it is, such as `labels`.
    pub what: &'static str,
    /// Where it is, or was.
    pub path: PathBuf,
    /// What became of it.
    pub fate: Fate,
    /// Why it is still there, if that was not asked for.
    pub why: Option<String>,
}

/// What became of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
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
pub struct Broom {
    dry: bool,
    found: Vec<Leftover>,
}

impl Broom {
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

    /// How much of what was found stays.
    fn staying(&self) -> usize {
        let stays = |found: &&Leftover| matches!(found.fate, Fate::Failed | Fate::Left);
        self.found.iter().filter(stays).count()
    }

    /// Removes a file or a socket. One that has gone by itself is none.
    pub fn remove(&mut self, what: &'static str, path: &Path) {
        self.end(what, path, |path| fs::remove_file(path));
    }

    /// Tells of something that stays.
    pub fn leave(&mut self, what: &'static str, path: &Path, why: &str) {
        self.tell(what, path, Fate::Left, Some(why.to_owned()));
    }

    /// Tells of something that could not be looked at. What is not there is nothing to tell of.
    pub fn fail(&mut self, what: &'static str, path: &Path, why: &io::Error) {
        if why.kind() != io::ErrorKind::NotFound {
            self.tell(what, path, Fate::Failed, Some(why.to_string()));
        }
    }

    /// Removes devgate's file for Node Feature Discovery from `dir`, and what it was written as.
    pub fn labels(&mut self, dir: &Path) {
        const WHAT: &str = "labels";
        for name in [labels::FILE, labels::TEMPORARY] {
            let path = dir.join(name);
            // It may have been cut off before its first line was whole, and nobody else uses the name.
            let is_cut = || name == labels::TEMPORARY && is_file(&path);
            let is_ours = labels::is_ours(&path).map(|ours| ours.map(|ours| ours || is_cut()));
            self.judge(WHAT, &path, is_ours, "devgate did not write it");
        }
        let names = fs::read_dir(dir).into_iter().flatten().flatten();
        let unfinished = names.filter(|entry| entry.file_name().to_str().is_some_and(is_temporary));
        for path in unfinished.map(|entry| entry.path()).chain([dir.join(labels::LOCK)]) {
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
            Err(why) => return self.fail(WHAT, state_dir, &why),
        };
        // What could not be removed must be known the next time.
        let failures = |broom: &Self| broom.found.iter().filter(|found| found.fate == Fate::Failed).count();
        let before = failures(self);
        for (file, is_ours) in files {
            self.judge(WHAT, &file, is_ours, "says something else than devgate wrote");
        }
        if failures(self) == before {
            self.remove(WHAT, &record);
        }
    }

    /// Removes a file that is devgate's, and leaves another; `None` if there is none.
    fn judge(&mut self, what: &'static str, path: &Path, is_ours: io::Result<Option<bool>>, why_not: &str) {
        match is_ours {
            Ok(Some(true)) => self.remove(what, path),
            Ok(Some(false)) => self.leave(what, path, why_not),
            Ok(None) => {}
            Err(why) => self.fail(what, path, &why),
        }
    }

    /// Removes an empty directory. It stays where it is a mount's, also one in a container whose own root is read-only, or where
    /// somebody has put something in it meanwhile.
    fn remove_dir(&mut self, what: &'static str, path: &Path) {
        let removed = if self.dry { Ok(()) } else { fs::remove_dir(path) };
        match removed {
            Err(why)
                if matches!(
                    why.kind(),
                    io::ErrorKind::ResourceBusy | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::DirectoryNotEmpty
                ) =>
            {
                self.leave(what, path, &why.to_string());
            }
            removed => self.end(what, path, |_| removed),
        }
    }

    fn end(&mut self, what: &'static str, path: &Path, remove: impl FnOnce(&Path) -> io::Result<()>) {
        if self.dry {
            self.tell(what, path, Fate::WouldRemove, None);
            return;
        }
        match remove(path) {
            Ok(()) => self.tell(what, path, Fate::Removed, None),
            Err(why) => self.fail(what, path, &why),
        }
    }

    fn tell(&mut self, what: &'static str, path: &Path, fate: Fate, why: Option<String>) {
        // What is only told is found again, as part of something else.
        if self.dry && self.found.iter().any(|found| found.path == path) {
            return;
        }
        self.found.push(Leftover {
            what,
            path: path.to_owned(),
            fate,
            why,
        });
    }
}

/// Whether there is a regular file and no link.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|look| look.is_file())
}

#[cfg(test)]
mod tests;
