//! The files: written before an allocation is answered, removed when no consumer has the id any more.
//!
//! What is written is noted first and on disk, so that a host that ends in between still knows what is its own: it removes these and no
//! others. Everything that touches the disk happens under one turn; what is over is marked at once and removed when the turn comes, unless
//! the id was handed out again by then.

use super::{SUFFIX, file_name};
use crate::state::{self, Dir, StateFile, Style};
use devgate_types::{Mutex, ResourceName, UnitId, escape};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};
use tokio_util::sync::CancellationToken;

/// The most files at once: far more functions than a node has.
const MAX_FILES: usize = 8_192;
/// The record of what was written.
const NAME: &str = "device-info.json";
/// The record's version, and the largest one that is read.
const FORMAT: u32 = 1;
const MAX_BYTES: u64 = 64 << 20;

/// Why a file is not what it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotWritten {
    #[error("this allocation is not waited for any more")]
    Late,
    #[error("file {file} tells of {} of {} already", escape(id, 80), escape(resource, 80))]
    Taken { file: String, id: String, resource: String },
    #[error("there are {MAX_FILES} files already")]
    Full,
    #[error(
        "file {} is there, was not written by this host, and says something else; remove it if no other program keeps it \
         (--device-info-dir)",
        shown(.0)
    )]
    Foreign(PathBuf),
    #[error("it could not be noted in the state directory (--state-dir): {0}")]
    NotNoted(#[source] io::Error),
    #[error("file {} could not be written: {why}; look at the directory (--device-info-dir)", shown(file))]
    Disk { file: PathBuf, why: io::Error },
}

/// What one file tells.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tells {
    resource: String,
    /// The id as it is offered.
    id: String,
    /// The id without a replica's number.
    unit: String,
    /// What is in the file. One that says something else by now is another program's.
    pub(super) text: String,
    /// Whether no consumer has the id any more, so that the file goes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    over: bool,
    /// Whether it was written before this host started, and not again since.
    #[serde(skip)]
    before: bool,
    /// Whether it was not looked at since then: a restart of the node empties `/run`.
    #[serde(skip)]
    unseen: bool,
}

impl Tells {
    /// What the file of an id, as it is offered, says of a unit.
    pub(crate) fn new(resource: &ResourceName, id: String, unit: &UnitId, text: String) -> Self {
        Self { resource: resource.to_string(), id, unit: unit.to_string(), text, ..Self::default() }
    }

    fn name(&self) -> String {
        file_name(&self.resource, &self.id)
    }

    fn is_like(&self, other: &Self) -> bool {
        (&self.resource, &self.id) == (&other.resource, &other.id)
    }
}

/// The files that were written, by their names.
pub(super) type Written = BTreeMap<String, Tells>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    written: Written,
}

fn record(dir: &Dir) -> StateFile {
    StateFile { dir: dir.clone(), name: NAME, version: FORMAT, most: MAX_BYTES }
}

/// The files of one host. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Files(pub(super) Arc<Inner>);

pub(super) struct Inner {
    dir: PathBuf,
    record: Option<StateFile>,
    pub(super) written: Mutex<Written>,
    /// The turn to touch the disk.
    turn: Mutex<()>,
}

impl Files {
    /// The files in `dir`, which is made with the first of them. What was written before is read from `state`.
    pub(crate) fn open(dir: &Path, state: Option<&Dir>) -> Self {
        let record = state.map(record);
        let read = |file: &StateFile| file.read_or_put_aside::<Content>("files that it named are not removed");
        let mut written = record.as_ref().and_then(read).map_or_else(Written::new, |content| content.written);
        for tells in written.values_mut() {
            (tells.before, tells.unseen) = (true, true);
        }
        Self(Arc::new(Inner { dir: dir.to_owned(), record, written: Mutex::new(written), turn: Mutex::new(()) }))
    }

    /// Writes what is to be told, unless the caller has given up: what has not begun by `stop` is not written. Blocks.
    pub(crate) fn write(&self, all: &[Tells], stop: &CancellationToken) -> Result<(), NotWritten> {
        let _turn = self.0.turn.lock();
        match self.put(all, |_| !stop.is_cancelled())? {
            true => Ok(()),
            false => Err(NotWritten::Late),
        }
    }

    /// Writes again what was told before and is gone; what is over or there by now stays as it is. Blocks.
    pub(crate) fn write_again(&self, all: &[Tells]) -> Result<(), NotWritten> {
        let _turn = self.0.turn.lock();
        for tells in all {
            let is_told = |written: &Written| {
                let then = written.get(&tells.name());
                then.is_some_and(|then| !then.over && then.is_like(tells))
            };
            if fs::symlink_metadata(self.file(tells)).is_err() {
                self.put(std::slice::from_ref(tells), is_told)?;
            }
        }
        Ok(())
    }

    /// Notes these, and writes them: whether they were wanted before, and still when they had been noted.
    fn put(&self, all: &[Tells], is_wanted: impl Fn(&Written) -> bool) -> Result<bool, NotWritten> {
        let (mut written, mut is_new) = (self.0.written.lock().clone(), false);
        if !is_wanted(&written) {
            return Ok(false);
        }
        for tells in all {
            let (name, file) = (tells.name(), self.file(tells));
            match written.get(&name) {
                Some(then) if !then.over && !then.is_like(tells) => {
                    let (id, resource) = (then.id.clone(), then.resource.clone());
                    return Err(NotWritten::Taken { file: name, id, resource });
                }
                None if written.len() >= MAX_FILES => return Err(NotWritten::Full),
                // What cannot be looked at cannot be written either, and that is said then.
                None if says(&file, &tells.text).is_ok_and(|says| says == Some(false)) => {
                    return Err(NotWritten::Foreign(file));
                }
                then => is_new |= then.is_none_or(|then| then.over || then.text != tells.text),
            }
            written.insert(name, tells.clone());
        }
        if is_new {
            self.note(written).map_err(NotWritten::NotNoted)?;
        }
        let mut known = self.0.written.lock();
        // A caller that gave up meanwhile has forgotten what was not known yet.
        if !is_wanted(&known) {
            return Ok(false);
        }
        known.extend(all.iter().map(|tells| (tells.name(), tells.clone())));
        drop(known);
        for tells in all {
            let file = self.file(tells);
            let put = state::put(&file, tells.text.as_bytes(), Style::PASSING);
            put.map_err(|why| NotWritten::Disk { file, why })?;
        }
        Ok(true)
    }

    fn note(&self, written: Written) -> io::Result<()> {
        let Some(record) = &self.0.record else { return Ok(()) };
        record.write(&Content { version: FORMAT, written })
    }

    /// Resource and id of files that were written before this host started, and not again since.
    pub(crate) fn of_before(&self) -> Vec<(String, String)> {
        let known = self.0.written.lock();
        let before = known.values().filter(|tells| tells.before && !tells.over);
        before.map(|tells| (tells.resource.clone(), tells.unit.clone())).collect()
    }

    /// No consumer has these any more: their files go.
    pub(crate) fn forget<'a>(&self, ids: impl Iterator<Item = (&'a str, &'a str)>) {
        let over: HashSet<_> = ids.collect();
        self.keep_only(|resource, unit| !over.contains(&(resource, unit)));
    }

    /// Forgets every file but those of these units: the others go, in the background where there is a runtime.
    pub(crate) fn keep_only(&self, is_held: impl Fn(&str, &str) -> bool) {
        let mut known = self.0.written.lock();
        let over = known.values_mut().filter(|tells| !is_held(&tells.resource, &tells.unit));
        let count = over.map(|tells| tells.over = true).count();
        drop(known);
        if count == 0 {
            return;
        }
        let files = self.clone();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || files.remove())),
            Err(_) => files.remove(),
        }
    }

    /// The ids of a unit whose files were written before the host started and are not there now; each is told once.
    pub(crate) fn lost(&self, resource: &ResourceName, unit: &UnitId) -> Vec<String> {
        let mut known = self.0.written.lock();
        let of =
            |tells: &&mut Tells| tells.unseen && (&*tells.resource, &*tells.unit) == (resource.as_str(), unit.as_str());
        let lost = known.values_mut().filter(of).filter_map(|tells| {
            tells.unseen = false;
            (!tells.over && !self.file(tells).exists()).then(|| tells.id.clone())
        });
        lost.collect()
    }

    /// Whether there is nothing that [`Self::lost`] could tell.
    pub(crate) fn has_seen_all(&self) -> bool {
        !self.0.written.lock().values().any(|tells| tells.unseen)
    }

    /// Removes what is over.
    fn remove(&self) {
        let _turn = self.0.turn.lock();
        let mut over = self.0.written.lock().clone();
        over.retain(|_, tells| tells.over);
        over.retain(|_, tells| {
            let file = self.file(tells);
            let removed = take_away(&file, &tells.text);
            if let Err(why) = &removed {
                tracing::error!(family = "host", "{}: could not be removed: {why}", file.display());
            }
            removed.is_ok()
        });
        let mut known = self.0.written.lock();
        known.retain(|name, _| !over.contains_key(name));
        let written = known.clone();
        drop(known);
        if let Err(why) = self.note(written) {
            tracing::error!(
                family = "host",
                "which device-info files are there could not be noted: {why}; look at the state directory (--state-dir)"
            );
        }
    }

    fn file(&self, tells: &Tells) -> PathBuf {
        self.0.dir.join(tells.name())
    }
}

/// A file, and whether what is there is what was written; `None` if nothing is there.
type LeftFile = (PathBuf, io::Result<Option<bool>>);

/// The record in the state directory of a host that has ended, and the files in `dir` that it names: each with whether what is there is
/// what was written, `None` if nothing is. Nothing is changed.
pub(crate) fn left_behind(dir: &Path, state: &Path) -> io::Result<Option<(PathBuf, Vec<LeftFile>)>> {
    let Some(opened) = Dir::look(state)? else {
        return Ok(None);
    };
    let Some(content) = record(&opened).read_or_refuse::<Content>("files that it names stay")? else {
        return Ok(None);
    };
    let is_plain = |name: &str| !name.starts_with('.') && !name.contains('/') && name.ends_with(SUFFIX);
    let named = content.written.into_iter().filter(|(name, _)| is_plain(name));
    let files = named.map(|(name, tells)| (dir.join(name), tells.text));
    let files = files.map(|(file, text)| (file.clone(), says(&file, &text)));
    Ok(Some((state.join(NAME), files.collect())))
}

/// Removes a file that says this; one that is gone, or says something else, is left alone.
fn take_away(file: &Path, text: &str) -> io::Result<()> {
    match says(file, text)? {
        Some(true) => fs::remove_file(file),
        Some(false) => {
            tracing::warn!("{}: says something else than this host wrote, and is left there", shown(file));
            Ok(())
        }
        None => Ok(()),
    }
}

/// Whether what is there is a file that says this; `None` if nothing is there.
fn says(file: &Path, text: &str) -> io::Result<Option<bool>> {
    let look = match fs::symlink_metadata(file) {
        Ok(look) => look,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let same = look.is_file() && look.len() == text.len() as u64 && fs::read(file)? == text.as_bytes();
    Ok(Some(same))
}

fn shown(file: &Path) -> String {
    escape(&file.display().to_string(), 512).to_string()
}
