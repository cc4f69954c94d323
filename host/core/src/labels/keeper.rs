//! Keeps the file as the desk has it.
//!
//! Its lines expire: a host that is gone for good leaves labels for a quarter of an hour, and one that is replaced in a rolling update
//! leaves them for its successor, which goes on from them. What other hosts and other people do with the file and its directory is looked
//! at every few seconds.

use super::desk::{Desk, Entry};
use super::file::{self, FILE, LOCK};
use super::text::{self, MOST_BYTES, Section, Sections};
use crate::lock;
use devgate_types::{PluginName, escape};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long labels stand after they were written last.
pub(super) const LEASE: Duration = Duration::from_secs(15 * 60);
/// They are written again when they stand for less than this.
pub(super) const RENEWED: Duration = Duration::from_secs(10 * 60);
/// How often it is looked whether the file is still what was written.
const LOOK: Duration = Duration::from_secs(5);
/// Changes that come within this are one.
const TOGETHER: Duration = Duration::from_millis(500);

/// Keeps the file in `dir` until it is dropped. The file stays then.
pub(crate) async fn keep(desk: Desk, dir: PathBuf) {
    let mut keeper = Keeper::new(dir);
    loop {
        let known = desk.look();
        let turn = move || {
            let again = keeper.turn(&known, SystemTime::now());
            (keeper, again)
        };
        // Only a bug of the host ends it otherwise.
        let Ok((back, again)) = tokio::task::spawn_blocking(turn).await else {
            tracing::error!(
                family = "host",
                "labels: whoever writes them has failed; restart devgate"
            );
            return;
        };
        keeper = back;
        tokio::select! {
            () = desk.news() => tokio::time::sleep(TOGETHER).await,
            () = tokio::time::sleep(LOOK), if again => {}
        }
    }
}

/// The file, and what is known of it.
pub(super) struct Keeper {
    dir: PathBuf,
    /// Locked while there are labels: one host writes the file.
    lock: Option<File>,
    /// What an earlier host wrote, of plugins that have not told anything yet.
    before: Option<Sections>,
    until: Option<SystemTime>,
    written: Option<Written>,
    /// What is wrong, as it was said last.
    problem: Option<String>,
}

struct Written {
    text: String,
    id: Id,
}

/// Which file it is: device, inode, and when it was changed.
type Id = (u64, u64, i64, i64);

impl Keeper {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            lock: None,
            before: None,
            until: None,
            written: None,
            problem: None,
        }
    }

    /// Makes the file what it should be now. Whether to look again although there is no news.
    pub(super) fn turn(&mut self, known: &BTreeMap<PluginName, Entry>, now: SystemTime) -> bool {
        let problem = self.write(known, now).err();
        for entry in known.values() {
            entry.board.labels_fail(problem.as_deref());
        }
        let again = !known.is_empty() || problem.is_some();
        if problem != self.problem {
            match &problem {
                Some(problem) => tracing::warn!(family = "host", "labels: {problem}"),
                None => tracing::info!("labels: {} is written again", self.dir.join(FILE).display()),
            }
            self.problem = problem;
        }
        again
    }

    fn write(&mut self, known: &BTreeMap<PluginName, Entry>, now: SystemTime) -> Result<(), String> {
        let file = self.dir.join(FILE);
        let shown = escape(&file.display().to_string(), 512);
        if known.is_empty() && !matches!(file::is_ours(&file), Ok(Some(true))) {
            self.let_go();
            return Ok(());
        }
        let unusable = |why: io::Error| {
            format!(
                "{shown}: could not be written: {why}; look at the directory, and at its mount where the host runs in a container (--nfd-dir)"
            )
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&self.dir)
            .map_err(unusable)?;
        self.take_lock(&shown).map_err(|error| error.unwrap_or_else(unusable))?;
        if file::is_ours(&file).map_err(unusable)? == Some(false) {
            return Err(format!(
                "{shown}: devgate did not write it; remove it if nobody else keeps it"
            ));
        }
        let rules = || {
            let rules = known.iter();
            rules
                .map(|(plugin, entry)| (plugin.clone(), entry.rules.clone()))
                .collect()
        };
        if self.before.is_none() {
            // Unreadable is as good as not there: it is written anew.
            let text = read(&file).unwrap_or_default();
            self.before = Some(text::read(&text, now, LEASE, &rules()));
        }
        let sections = self.sections(known, now);
        let (text, left_out) = text::write(&sections);
        self.put(&file, text).map_err(unusable)?;
        if known.is_empty() {
            self.let_go();
        }
        match left_out.first() {
            Some(plugin) => Err(format!(
                "there is no room for those of plugin {plugin} in {shown}, which has at most {MOST_BYTES} bytes"
            )),
            None => Ok(()),
        }
    }

    fn sections(&mut self, known: &BTreeMap<PluginName, Entry>, now: SystemTime) -> Sections {
        // Also where the clock was set back.
        let fresh = self.until.filter(|until| (now + RENEWED..=now + LEASE).contains(until));
        let until = fresh.unwrap_or(now + LEASE);
        self.until = Some(until);
        let before = self.before.get_or_insert_default();
        before.retain(|plugin, section| known.contains_key(plugin) && section.until > now);
        let mut sections = Sections::new();
        for (plugin, entry) in known {
            let section = match &entry.told {
                Some(told) => {
                    before.remove(plugin);
                    let labels = told.labels.clone();
                    Some(Section { until, labels })
                }
                None => before.get(plugin).cloned(),
            };
            sections.extend(section.map(|section| (plugin.clone(), section)));
        }
        sections
    }

    /// Puts this text in place, unless it is there. Without text, the file goes.
    fn put(&mut self, file: &Path, text: String) -> io::Result<()> {
        if text.is_empty() {
            self.written = None;
            return match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let there = identity(file);
        if self
            .written
            .as_ref()
            .is_some_and(|w| w.text == text && Some(w.id) == there)
        {
            return Ok(());
        }
        self.written = None;
        file::put(file, text.as_bytes())?;
        self.written = identity(file).map(|id| Written { text, id });
        Ok(())
    }

    /// Leaves the file to others, and nothing beside it.
    fn let_go(&mut self) {
        if let Some(lock) = self.lock.take() {
            let path = self.dir.join(LOCK);
            // What stays where this fails, the next host or `cleanup` takes.
            if lock::is_at(&lock, &path) {
                drop(fs::remove_file(path));
            }
        }
        self.written = None;
    }

    /// Sees to it that nobody else writes the file. An error of the system, or what to say.
    fn take_lock(&mut self, shown: &str) -> Result<(), Failed> {
        let there = fs::metadata(&self.dir).map_err(Failed::System)?;
        if there.nlink() == 0 {
            let why = "its directory was deleted under its mount; restart the pod, so that it is mounted again";
            return Err(Failed::Said(format!("{shown}: {why}")));
        }
        let path = self.dir.join(LOCK);
        if self.lock.as_ref().is_some_and(|lock| lock::is_at(lock, &path)) {
            return Ok(());
        }
        // Somebody has removed it, or put another directory in place: whatever is there now is another host's as well.
        (self.lock, self.written, self.before) = (None, None, None);
        let lock = lock::open(&path, true).map_err(Failed::System)?;
        match lock.try_lock() {
            Ok(()) if lock::is_at(&lock, &path) => self.lock = Some(lock),
            // It was another one's, who has just let it go.
            Ok(()) | Err(TryLockError::WouldBlock) => {
                let why = "another devgate keeps it; these labels wait until that one ends";
                return Err(Failed::Said(format!("{shown}: {why}")));
            }
            Err(TryLockError::Error(error)) => return Err(Failed::System(error)),
        }
        Ok(())
    }
}

enum Failed {
    System(io::Error),
    Said(String),
}

impl Failed {
    fn unwrap_or_else(self, say: impl FnOnce(io::Error) -> String) -> String {
        match self {
            Self::System(error) => say(error),
            Self::Said(text) => text,
        }
    }
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(MOST_BYTES as u64).read_to_string(&mut text)?;
    Ok(text)
}

fn identity(file: &Path) -> Option<Id> {
    let look = fs::symlink_metadata(file).ok()?;
    Some((look.dev(), look.ino(), look.ctime(), look.ctime_nsec()))
}
