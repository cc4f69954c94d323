//! The files: written before an allocation is answered, removed when nobody has the id any more.
//!
//! What is written is noted first and on disk, so that a host that ends in between still knows what is its own. Everything that
//! touches the disk happens under one turn; what is over is marked at once and removed when the turn comes, unless the id was
//! handed out again by then.

use super::file_name;
use super::record::{Record, Written};
use crate::state::{self, Dir, Style};
use devgate_types::{ResourceName, UnitId, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most files at once: far more functions than a node has.
const MOST: usize = 8_192;

/// What one file is to tell.
#[derive(Debug, Clone)]
pub(crate) struct Tells {
    pub(crate) resource: ResourceName,
    /// The id as it is offered.
    pub(crate) id: String,
    /// The id without a replica's number.
    pub(crate) unit: UnitId,
    pub(crate) text: String,
}

/// The files of one host. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Files(Arc<Inner>);

struct Inner {
    dir: PathBuf,
    record: Record,
    known: Mutex<Known>,
    /// The turn to touch the disk.
    turn: Mutex<()>,
}

/// Whether somebody still waits for files to be written. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted(Arc<AtomicBool>);

impl Wanted {
    /// Nobody does: what has not begun to be written is not written any more.
    pub(crate) fn end(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Default)]
pub(super) struct Known {
    pub(super) written: BTreeMap<String, Written>,
    /// Names that were written before this host started, and not again since.
    before: BTreeSet<String>,
    /// Names that were written before this host started, and not looked at since: a restart of the node empties `/run`.
    unseen: Vec<String>,
}

impl Files {
    /// The files in `dir`, which is made with the first of them. What was written before is read from `state`.
    pub(crate) fn open(dir: &Path, state: Option<&Dir>) -> io::Result<Self> {
        let record = Record::in_dir(state);
        let written = record.read()?;
        let unseen: Vec<_> = written.keys().cloned().collect();
        let before = unseen.iter().cloned().collect();
        Ok(Self(Arc::new(Inner {
            dir: dir.to_owned(),
            record,
            known: Mutex::new(Known {
                written,
                before,
                unseen,
            }),
            turn: Mutex::default(),
        })))
    }

    /// Writes what is to be told, unless nobody waits for it any more. Blocks.
    ///
    /// # Errors
    /// What could not be written, where and why; also where there is a file already that this host did not write, and that says
    /// something else.
    pub(crate) fn write(&self, all: &[Tells], wanted: &Wanted) -> Result<(), String> {
        let _turn = self.turn();
        self.look(all)?;
        let mut known = self.lock();
        if wanted.is_over() {
            return Err("nobody waits for it any more".to_owned());
        }
        // As it was, should this fail.
        let before = known.of(all);
        let written = match known.take(all) {
            Ok(new) => new.then(|| known.written.clone()),
            Err(problem) => {
                known.take_back(all, before);
                return Err(problem);
            }
        };
        drop(known);
        if let Some(written) = written
            && let Err(why) = self.0.record.write(&written)
        {
            self.lock().take_back(all, before);
            return Err(format!(
                "it could not be noted in the state directory (--state-dir): {why}"
            ));
        }
        all.iter().try_for_each(|tells| self.put(tells))
    }

    /// Writes again what was told before and is gone; what is over or there by now stays as it is. Blocks.
    ///
    /// # Errors
    /// What could not be written, where and why.
    pub(crate) fn write_again(&self, all: &[Tells]) -> Result<(), String> {
        let _turn = self.turn();
        for tells in all {
            let (name, now) = (file_name(&tells.resource, &tells.id), Written::of(tells));
            let gone = fs::symlink_metadata(self.0.dir.join(&name)).is_err();
            let mut known = self.lock();
            let then = known.written.get_mut(&name);
            let Some(then) = then.filter(|then| gone && !then.over && now.is_of(then)) else {
                continue;
            };
            let is_new = *then != now;
            *then = now;
            let written = is_new.then(|| known.written.clone());
            drop(known);
            if let Some(written) = written {
                let noted = self.0.record.write(&written);
                noted.map_err(|why| format!("it could not be noted in the state directory (--state-dir): {why}"))?;
            }
            self.put(tells)?;
        }
        Ok(())
    }

    /// Whether there is somebody else's file in a place where one is to be written.
    fn look(&self, all: &[Tells]) -> Result<(), String> {
        for tells in all {
            let name = file_name(&tells.resource, &tells.id);
            if self.lock().written.contains_key(&name) {
                continue;
            }
            let file = self.0.dir.join(name);
            // What cannot be looked at cannot be written either, and that is said then.
            if says(&file, &tells.text).is_ok_and(|says| says == Some(false)) {
                let shown = escape(&file.display().to_string(), 512);
                return Err(format!(
                    "file {shown} is there, was not written by this host, and says something else; remove it if nobody else \
                     keeps it (--device-info-dir)"
                ));
            }
        }
        Ok(())
    }

    fn put(&self, tells: &Tells) -> Result<(), String> {
        let file = self.0.dir.join(file_name(&tells.resource, &tells.id));
        state::put(&file, tells.text.as_bytes(), Style::PASSING).map_err(|why| {
            let shown = escape(&file.display().to_string(), 512);
            format!("file {shown} could not be written: {why}; look at the directory (--device-info-dir)")
        })
    }

    /// Resource and id of files that were written before this host started, and not again since.
    pub(crate) fn of_before(&self) -> Vec<(String, String)> {
        let known = self.lock();
        let written = known.before.iter().filter_map(|name| known.written.get(name));
        let written = written.filter(|written| !written.over);
        written
            .map(|written| (written.resource.clone(), written.unit.clone()))
            .collect()
    }

    /// Nobody has these any more: their files go, in the background where there is a runtime.
    pub(crate) fn forget<'a>(&self, ids: impl Iterator<Item = (&'a str, &'a str)>) {
        let (mut known, mut some) = (self.lock(), false);
        for (resource, unit) in ids {
            let of = |written: &&mut Written| written.resource == resource && written.unit == unit;
            for written in known.written.values_mut().filter(of) {
                written.over = true;
                some = true;
            }
        }
        drop(known);
        if !some {
            return;
        }
        let files = self.clone();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || files.remove())),
            Err(_) => files.remove(),
        }
    }

    /// Forgets every file but those of these units.
    pub(crate) fn keep_only(&self, is_held: impl Fn(&str, &str) -> bool) {
        let known = self.lock();
        let all = known.written.values();
        let over: Vec<_> = all
            .filter(|written| !is_held(&written.resource, &written.unit))
            .map(|written| (written.resource.clone(), written.unit.clone()))
            .collect();
        drop(known);
        self.forget(over.iter().map(|(resource, unit)| (resource.as_str(), unit.as_str())));
    }

    /// The ids of a unit whose files were written before the host started and are not there now; each is told once.
    pub(crate) fn lost(&self, resource: &ResourceName, unit: &UnitId) -> Vec<String> {
        let mut known = self.lock();
        let known = &mut *known;
        let (written, mut lost) = (&known.written, Vec::new());
        known.unseen.retain(|name| match written.get(name) {
            Some(then) if then.resource == resource.as_str() && then.unit == unit.as_str() => {
                if !then.over && !self.0.dir.join(name).exists() {
                    lost.push(then.id.clone());
                }
                false
            }
            Some(_) => true,
            None => false,
        });
        lost
    }

    /// Whether there is nothing that [`Self::lost`] could tell.
    pub(crate) fn has_seen_all(&self) -> bool {
        self.lock().unseen.is_empty()
    }

    /// Removes what is over.
    fn remove(&self) {
        let _turn = self.turn();
        let known = self.lock();
        let over = known.written.iter().filter(|(_, written)| written.over);
        let over: Vec<_> = over
            .map(|(name, written)| (name.clone(), written.text.clone()))
            .collect();
        drop(known);
        let mut failed = Vec::new();
        for (name, text) in &over {
            let file = self.0.dir.join(name);
            if let Err(why) = take_away(&file, text) {
                tracing::error!(family = "host", "{}: could not be removed: {why}", file.display());
                failed.push(name);
            }
        }
        let mut known = self.lock();
        for (name, _) in over.iter().filter(|(name, _)| !failed.contains(&name)) {
            known.written.remove(name);
        }
        let written = known.written.clone();
        drop(known);
        if let Err(why) = self.0.record.write(&written) {
            tracing::error!(
                family = "host",
                "which device-info files are there could not be noted: {why}; look at the state directory (--state-dir)"
            );
        }
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.0.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// What is known of these.
    fn of(&self, all: &[Tells]) -> Self {
        let mut known = Self::default();
        for name in all.iter().map(|tells| file_name(&tells.resource, &tells.id)) {
            known.before.extend(self.before.get(&name).cloned());
            known
                .unseen
                .extend(self.unseen.iter().find(|unseen| **unseen == name).cloned());
            if let Some(then) = self.written.get(&name) {
                known.written.insert(name, then.clone());
            }
        }
        known
    }

    /// Takes in what is to be written: whether any of it is new.
    fn take(&mut self, all: &[Tells]) -> Result<bool, String> {
        let mut new = false;
        for tells in all {
            let (name, now) = (file_name(&tells.resource, &tells.id), Written::of(tells));
            match self.written.get(&name) {
                Some(then) if !then.over && !now.is_of(then) => {
                    let (id, resource) = (escape(&then.id, 80), escape(&then.resource, 80));
                    return Err(format!("file {name} tells of {id} of {resource} already"));
                }
                None if self.written.len() >= MOST => {
                    return Err(format!("there are {MOST} files already"));
                }
                then => new |= then != Some(&now),
            }
            self.unseen.retain(|unseen| *unseen != name);
            self.before.remove(&name);
            self.written.insert(name, now);
        }
        Ok(new)
    }

    /// These were not written after all: they are what they were, but for what has ended since.
    fn take_back(&mut self, all: &[Tells], mut before: Self) {
        for tells in all {
            let name = file_name(&tells.resource, &tells.id);
            let over = self.written.remove(&name).is_some_and(|now| now.over);
            if let Some(mut then) = before.written.remove(&name) {
                then.over |= over;
                self.written.insert(name.clone(), then);
            }
            if before.before.contains(&name) {
                self.before.insert(name.clone());
            }
            if before.unseen.contains(&name) && !self.unseen.contains(&name) {
                self.unseen.push(name);
            }
        }
    }
}

impl Written {
    fn of(tells: &Tells) -> Self {
        Self {
            resource: tells.resource.to_string(),
            id: tells.id.clone(),
            unit: tells.unit.to_string(),
            text: tells.text.clone(),
            over: false,
        }
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.resource, &self.id) == (&other.resource, &other.id)
    }
}

/// Removes a file that says this; one that is gone, or says something else, is left alone.
fn take_away(file: &Path, text: &str) -> io::Result<()> {
    match says(file, text)? {
        Some(true) => fs::remove_file(file),
        Some(false) => {
            let shown = escape(&file.display().to_string(), 512);
            tracing::warn!("{shown}: says something else than this host wrote, and is left there");
            Ok(())
        }
        None => Ok(()),
    }
}

/// Whether what is there is a file that says this; nothing where nothing is there.
pub(super) fn says(file: &Path, text: &str) -> io::Result<Option<bool>> {
    let look = match fs::symlink_metadata(file) {
        Ok(look) => look,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let same = look.is_file() && look.len() == text.len() as u64 && fs::read(file)? == text.as_bytes();
    Ok(Some(same))
}
