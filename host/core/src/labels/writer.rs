//! Makes the file what it should be, and tells devgate's own from others.

use super::text::{self, HEADER, MAX_BYTES, Section, Sections};
use super::{Entry, Known};
use crate::lockfile;
use crate::state::{self, Style};
use devgate_types::{PluginName, escape};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Where Node Feature Discovery's worker reads feature files, unless it is told otherwise.
pub const DEFAULT_DIR: &str = "/etc/kubernetes/node-feature-discovery/features.d";
/// The name of devgate's file there.
pub const FILE: &str = "devgate.features";
/// What hosts of version 0.1.0 wrote it as before it was put in place. Node Feature Discovery reads no dot-files.
pub(crate) const TEMPORARY: &str = ".devgate.features.new";
/// What the host locks that writes the file.
pub(crate) const LOCK: &str = ".devgate.features.lock";
/// How long labels stand after they were written last.
pub(super) const LEASE: Duration = Duration::from_secs(15 * 60);
/// They are written again when they stand for less than this.
pub(super) const RENEWED: Duration = Duration::from_secs(10 * 60);

/// Why the file is not what it should be; the file's name comes before it.
#[derive(Debug, thiserror::Error)]
enum NotWritten {
    #[error(
        "could not be written: {0}; look at the directory, and at its mount where the host runs in a container (--nfd-dir)"
    )]
    System(#[from] io::Error),
    #[error("its directory was deleted under its mount; restart the pod, so that it is mounted again")]
    Deleted,
    #[error("another devgate keeps it; these labels wait until that one ends")]
    Kept,
    #[error("devgate did not write it; remove it if no other program keeps it")]
    Foreign,
    #[error("there is no room for those of plugin {0}: it has at most {MAX_BYTES} bytes")]
    Full(PluginName),
}

/// The one that writes the file.
#[derive(Default)]
pub(super) struct Writer {
    dir: PathBuf,
    /// Locked while there are labels: one host writes the file.
    lock: Option<File>,
    /// What an earlier host wrote, of plugins that have not told anything yet.
    before: Option<Sections>,
    until: Option<SystemTime>,
    /// What is wrong, as it was said last.
    problem: Option<String>,
}

impl Writer {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, ..Self::default() }
    }

    /// Makes the file what it should be now. Whether to look again although there is no news.
    pub(super) fn turn(&mut self, known: &Known, now: SystemTime) -> bool {
        let file = self.dir.join(FILE);
        let shown = escape(&file.display().to_string(), 512);
        let problem = self.write(&file, known, now).err();
        let problem = problem.map(|why| format!("{shown}: {why}"));
        for entry in known.values() {
            entry.recorder.set_labels_problem(problem.as_deref());
        }
        let again = !known.is_empty() || problem.is_some();
        if problem != self.problem {
            match &problem {
                Some(problem) => tracing::warn!(family = "host", "labels: {problem}"),
                None => tracing::info!("labels: {shown} is written again"),
            }
            self.problem = problem;
        }
        again
    }

    fn write(&mut self, file: &Path, known: &Known, now: SystemTime) -> Result<(), NotWritten> {
        if known.is_empty() && !matches!(is_ours(file), Ok(Some(true))) {
            self.let_go();
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o755).create(&self.dir)?;
        self.take_lock()?;
        let there = read(file)?;
        if there.as_deref().is_some_and(|text| !text.starts_with(HEADER)) {
            return Err(NotWritten::Foreign);
        }
        if self.before.is_none() {
            let is_granted = |plugin: &PluginName, name: &str, value: &str| {
                known.get(plugin).is_some_and(|entry| entry.rules.grants(name, value))
            };
            let text = there.as_deref().unwrap_or_default();
            self.before = Some(text::read(text, now, LEASE, is_granted));
        }
        let sections = self.sections(known, now);
        let (text, left_out) = text::write(&sections);
        match there {
            Some(_) if text.is_empty() => fs::remove_file(file)?,
            Some(there) if there == text => {}
            None if text.is_empty() => {}
            // Its reader need not be root.
            _ => state::put(file, text.as_bytes(), Style::SHOWN)?,
        }
        if known.is_empty() {
            self.let_go();
        }
        match left_out.first() {
            Some(plugin) => Err(NotWritten::Full((*plugin).clone())),
            None => Ok(()),
        }
    }

    fn sections(&mut self, known: &Known, now: SystemTime) -> Sections {
        // Also where the clock was set back.
        let fresh = self.until.filter(|until| (now + RENEWED..=now + LEASE).contains(until));
        let until = fresh.unwrap_or(now + LEASE);
        self.until = Some(until);
        let before = self.before.get_or_insert_default();
        let is_open = |entry: &Entry| entry.told.is_none();
        before.retain(|plugin, section| known.get(plugin).is_some_and(is_open) && section.until > now);
        let told = known.iter().filter_map(|(plugin, entry)| {
            let labels = entry.told.as_ref()?.labels.clone();
            Some((plugin.clone(), Section { until, labels }))
        });
        before.clone().into_iter().chain(told).collect()
    }

    /// Leaves the file to others, and nothing beside it.
    fn let_go(&mut self) {
        if let Some(lock) = self.lock.take() {
            let path = self.dir.join(LOCK);
            // What stays where this fails, the next host or `cleanup` takes.
            if lockfile::is_at(&lock, &path) {
                drop(fs::remove_file(path));
            }
        }
    }

    /// Sees to it that no other process writes the file.
    fn take_lock(&mut self) -> Result<(), NotWritten> {
        if fs::metadata(&self.dir)?.nlink() == 0 {
            return Err(NotWritten::Deleted);
        }
        let path = self.dir.join(LOCK);
        if self.lock.as_ref().is_some_and(|lock| lockfile::is_at(lock, &path)) {
            return Ok(());
        }
        // It was removed, or another directory put in place: whatever is there now is another host's as well.
        (self.lock, self.before) = (None, None);
        let lock = lockfile::open(&path, true)?;
        match lock.try_lock() {
            Ok(()) if lockfile::is_at(&lock, &path) => self.lock = Some(lock),
            // It was another one's, who has just let it go.
            Ok(()) | Err(TryLockError::WouldBlock) => return Err(NotWritten::Kept),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Whether what is at `path` is a file that devgate wrote; nothing where nothing is there. No link is followed.
pub(crate) fn is_ours(path: &Path) -> io::Result<Option<bool>> {
    Ok(read(path)?.map(|text| text.starts_with(HEADER)))
}

/// The beginning of what is at a path, as much as the file may have; empty where it is no file, or no text. No link is followed.
fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::symlink_metadata(path) {
        Ok(look) if !look.is_file() => return Ok(Some(String::new())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        look => look?,
    };
    // Should it become a link or a pipe in between.
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let opened = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    let mut bytes = Vec::new();
    opened.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
