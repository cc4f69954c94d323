//! The files: written before an allocation is answered, removed when nobody has the id any more.
//!
//! What is written is noted first and on disk, so that a host that ends in between still knows what is its own. Everything that
//! touches the disk happens under one turn; what is over is marked at once and removed when the turn comes, unless the id was
//! handed out again by then.

use super::file_name;
use super::record::{Record, Written};
use devgate_model::{ResourceName, UnitId, escape};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
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

#[derive(Default)]
struct Known {
    written: BTreeMap<String, Written>,
    /// Names that were written before this host started, and not looked at since: a restart of the node empties `/run`.
    unseen: Vec<String>,
}

impl Files {
    /// The files in `dir`, which is made with the first of them. What was written before is read from `state`.
    pub(crate) fn open(dir: &Path, state: Option<&Path>) -> io::Result<Self> {
        let record = Record::in_dir(state);
        let written = record.read()?;
        let unseen = written.keys().cloned().collect();
        Ok(Self(Arc::new(Inner {
            dir: dir.to_owned(),
            record,
            known: Mutex::new(Known { written, unseen }),
            turn: Mutex::default(),
        })))
    }

    /// Writes what is to be told. Blocks.
    ///
    /// # Errors
    /// What could not be written, where and why.
    pub(crate) fn write(&self, all: &[Tells]) -> Result<(), String> {
        let _turn = self.0.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut known, mut new) = (self.lock(), false);
        for tells in all {
            let (name, now) = (file_name(&tells.resource, &tells.id), Written::of(tells));
            match known.written.get(&name) {
                Some(then) if !then.over && !now.is_of(then) => {
                    let (id, resource) = (escape(&then.id, 80), escape(&then.resource, 80));
                    return Err(format!("file {name} tells of {id} of {resource} already"));
                }
                None if known.written.len() >= MOST => {
                    return Err(format!("there are {MOST} files already"));
                }
                then => new |= then != Some(&now),
            }
            known.unseen.retain(|unseen| *unseen != name);
            known.written.insert(name, now);
        }
        let written = new.then(|| known.written.clone());
        drop(known);
        if let Some(written) = written {
            let noted = self.0.record.write(&written);
            noted.map_err(|why| format!("it could not be noted in the state directory (--state-dir): {why}"))?;
        }
        for tells in all {
            let file = self.0.dir.join(file_name(&tells.resource, &tells.id));
            let put = put(&file, tells.text.as_bytes());
            put.map_err(|why| {
                let shown = escape(&file.display().to_string(), 512);
                format!("file {shown} could not be written: {why}; look at the directory (--device-info-dir)")
            })?;
        }
        Ok(())
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
        let _turn = self.0.turn.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Puts a file in place as a whole, for everybody to read. A restart of the node may take it, so that nothing is forced to the
/// disk.
fn put(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new(""));
    fs::DirBuilder::new().recursive(true).mode(0o755).create(dir)?;
    let mut name = std::ffi::OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    let new = dir.join(name);
    // What an earlier host left there, or somebody's link.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut opened = options.write(true).create_new(true).mode(0o644).open(&new)?;
    // Whatever the umask is: others than root read it.
    opened.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    opened.write_all(bytes)?;
    fs::rename(&new, file)
}

/// Removes a file that says this; one that is gone, or says something else, is left alone.
fn take_away(file: &Path, text: &str) -> io::Result<()> {
    let look = match fs::symlink_metadata(file) {
        Ok(look) => look,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let is_own = look.is_file() && look.len() == text.len() as u64 && fs::read(file)? == text.as_bytes();
    if !is_own {
        let shown = escape(&file.display().to_string(), 512);
        tracing::warn!("{shown}: says something else than this host wrote, and is left there");
        return Ok(());
    }
    fs::remove_file(file)
}
