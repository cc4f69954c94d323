//! The file system that a recording is kept in: directories by path, so that neither depth nor deletion recurses.

use devgate_node::path::{above, base, follow, problem};
use devgate_node::tree::{IS_LINK, Kind, Look};
use devgate_node::{KernelLine, ReadError};
use devgate_types::NodeNumber;
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The most directories, files, links and nodes of one recording together: what stops a short text from becoming a
/// large world, as each path makes all the directories on its way.
const MAX_ENTRIES: usize = 2_000_000;
/// The most components of a path. The deepest device of a real node has some twenty.
const MAX_DEPTH: usize = 64;

/// The most lines of the kernel's log that a recording has, and the most bytes of one (`PRINTKRB_RECORD_MAX`, escaped).
const MAX_LINES: usize = 100_000;
const MAX_LINE_BYTES: usize = 4_096;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Directory,
    File {
        content: Arc<[u8]>,
        for_all: bool,
    },
    /// An attribute that cannot be read, and the kernel's error.
    Failing(Errno),
    Link(String),
    Node(NodeNumber),
    Socket,
}

impl Entry {
    /// A file that everybody may read.
    pub(crate) fn file(content: impl Into<Arc<[u8]>>) -> Self {
        Self::File { content: content.into(), for_all: true }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Directory => Kind::Directory,
            Self::File { .. } | Self::Failing(_) => Kind::File,
            Self::Link(_) => Kind::Link,
            Self::Node(number) => Kind::Node(*number),
            Self::Socket => Kind::Socket,
        }
    }

    /// What its mode is where nothing else is said.
    fn mode(&self) -> u32 {
        match self {
            Self::Directory | Self::Socket => 0o755,
            Self::File { for_all: true, .. } | Self::Failing(_) => 0o644,
            Self::File { for_all: false, .. } | Self::Node(_) => 0o600,
            Self::Link(_) => 0o777,
        }
    }
}

pub(crate) type Entries = BTreeMap<String, Entry>;

/// All directories of a recorded node by their paths, the root's being empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct World {
    directories: HashMap<String, Entries>,
    /// Owner and mode of what is not root's with the usual mode, by path.
    rights: BTreeMap<String, (u32, u32)>,
    entries: usize,
    /// What the kernel has said, oldest first.
    pub(crate) log: Vec<KernelLine>,
    /// What its clock is at least at, in milliseconds since the start.
    pub(crate) time: u64,
    /// What was announced, oldest first: of which device, by its location, and in which words, one a line.
    pub(crate) announced: Vec<(String, String)>,
}

impl World {
    /// An empty node on which nothing is mounted and nothing swapped to: the least that questions about block devices
    /// need.
    pub(crate) fn new() -> Self {
        let mut world = Self {
            directories: HashMap::from([(String::new(), Entries::new())]),
            rights: BTreeMap::new(),
            entries: 0,
            log: Vec::new(),
            time: 0,
            announced: Vec::new(),
        };
        for (path, entry) in [
            ("proc/1/mountinfo", Entry::file([])),
            ("proc/swaps", Entry::file([])),
            ("dev", Entry::Directory),
            ("sys/devices", Entry::Directory),
            ("sys/bus", Entry::Directory),
            ("sys/class", Entry::Directory),
            ("sys/dev", Entry::Directory),
        ] {
            // Cannot fail: the paths are plain and the world is empty.
            let _ = world.put(path, entry);
        }
        world
    }

    /// What is at a path. As with the kernel, a link on the way is refused and a file on the way is nothing.
    pub(crate) fn get(&self, path: &str) -> Result<&Entry, ReadError> {
        let directory = above(path).unwrap_or_default();
        self.directory(directory)?.get(base(path)).ok_or(ReadError::NotFound)
    }

    /// What is at a path, whose it is and who may do what with it.
    pub(crate) fn look(&self, path: &str) -> Result<Look, ReadError> {
        let (kind, mode) = match path {
            "" => (Kind::Directory, Entry::Directory.mode()),
            _ => self.get(path).map(|entry| (entry.kind(), entry.mode()))?,
        };
        let (uid, mode) = self.rights.get(path).copied().unwrap_or((0, mode));
        Ok(Look { kind, uid, mode })
    }

    /// Says whose something is and who may do what with it.
    pub(crate) fn set_rights(&mut self, path: &str, uid: u32, mode: u32) -> Result<(), String> {
        self.look(path).map_err(|error| error.to_string())?;
        self.rights.insert(path.to_owned(), (uid, mode & 0o7777));
        Ok(())
    }

    /// Owner and mode of what is not root's with the usual mode, by path.
    pub(crate) fn rights(&self) -> &BTreeMap<String, (u32, u32)> {
        &self.rights
    }

    /// Adds a line to the kernel's log.
    ///
    /// # Errors
    /// Where it is no line as the kernel writes one, or older than the last.
    pub(crate) fn say(&mut self, micros: u64, text: &str) -> Result<(), String> {
        if self.log.len() >= MAX_LINES {
            return Err(format!("the log has {MAX_LINES} lines, which is the most"));
        }
        if text.len() > MAX_LINE_BYTES || !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(format!(
                "the line must have at most {MAX_LINE_BYTES} bytes of printable ASCII; any other is written as \\x0a"
            ));
        }
        if self.log.last().is_some_and(|last| last.micros > micros) {
            return Err("the line is older than the one before it".to_owned());
        }
        self.log.push(KernelLine { sequence: self.log.len() as u64, micros, text: text.to_owned() });
        Ok(())
    }

    /// What its clock is never before, in microseconds since the start: what the kernel has said last was said.
    pub(crate) fn not_before(&self) -> u64 {
        let last = self.log.last().map_or(0, |line| line.micros);
        last.max(self.time.saturating_mul(1_000))
    }

    /// A driver announces that something of its device has changed.
    ///
    /// # Errors
    /// Where this has happened too often, or what it says is no words.
    pub(crate) fn announce(&mut self, location: &str, words: &str) -> Result<(), String> {
        let is_word = |line: &str| line.split_once('=').is_some_and(|(name, _)| !name.is_empty());
        if words.contains('\0') || words.len() > MAX_LINE_BYTES || !words.lines().all(is_word) {
            return Err(format!("words are NAME=value, one a line, of at most {MAX_LINE_BYTES} bytes together"));
        }
        if self.announced.len() >= MAX_LINES {
            return Err(format!("{MAX_LINES} were announced, which is the most"));
        }
        self.announced.push((location.to_owned(), words.to_owned()));
        Ok(())
    }

    /// All directories with what is in them, by path.
    pub(crate) fn all(&self) -> BTreeMap<&str, &Entries> {
        let all = self.directories.iter();
        all.map(|(path, entries)| (path.as_str(), entries)).collect()
    }

    /// The paths of all directories, in no order.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.directories.keys().map(String::as_str)
    }

    /// What is in a directory, if it is one.
    pub(crate) fn entries(&self, path: &str) -> Option<&Entries> {
        self.directories.get(path)
    }

    /// The entries of a directory.
    pub(crate) fn directory(&self, path: &str) -> Result<&Entries, ReadError> {
        match self.directories.get(path) {
            Some(entries) => Ok(entries),
            None if self.has_link_on(path) => Err(IS_LINK),
            None => Err(ReadError::NotFound),
        }
    }

    /// Whether the first part of `path` that is not a directory is a link.
    fn has_link_on(&self, path: &str) -> bool {
        let mut at = path;
        loop {
            let parent = above(at).unwrap_or_default();
            if let Some(entries) = self.directories.get(parent) {
                return matches!(entries.get(base(at)), Some(Entry::Link(_)));
            }
            at = parent;
        }
    }

    /// Puts something at a path, in the place of a file, link or node that was there, and makes the directories on the
    /// way. The error is for people.
    pub(crate) fn put(&mut self, path: &str, entry: Entry) -> Result<(), String> {
        if let Some(problem) = problem(path) {
            return Err(problem.to_owned());
        }
        if path.split('/').count() > MAX_DEPTH {
            return Err(format!("path has more than {MAX_DEPTH} components"));
        }
        let mut ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        if entry == Entry::Directory {
            ends.push(path.len());
        }
        for end in ends {
            self.make_directory(path.get(..end).unwrap_or_default())?;
        }
        if entry == Entry::Directory {
            return Ok(());
        }
        if self.directories.contains_key(path) {
            return Err("a directory is there already".to_owned());
        }
        let Some(entries) = self.directories.get_mut(above(path).unwrap_or_default()) else {
            return Ok(());
        };
        if entries.insert(base(path).to_owned(), entry).is_none() {
            self.count()?;
        }
        Ok(())
    }

    fn make_directory(&mut self, path: &str) -> Result<(), String> {
        if self.directories.contains_key(path) {
            return Ok(());
        }
        if let Some(entries) = self.directories.get_mut(above(path).unwrap_or_default()) {
            if entries.contains_key(base(path)) {
                return Err(format!("{} is no directory", devgate_types::escape(path, 128)));
            }
            entries.insert(base(path).to_owned(), Entry::Directory);
        }
        self.directories.insert(path.to_owned(), Entries::new());
        self.count()
    }

    fn count(&mut self) -> Result<(), String> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(format!("the node has more than {MAX_ENTRIES} entries"));
        }
        Ok(())
    }

    /// Removes what is at a path, with everything beneath it. Whether anything was there.
    pub(crate) fn remove(&mut self, path: &str) -> bool {
        let Some(entries) = self.directories.get_mut(above(path).unwrap_or_default()) else {
            return false;
        };
        if entries.remove(base(path)).is_none() {
            return false;
        }
        let beneath = format!("{path}/");
        self.directories.remove(path);
        self.directories.retain(|directory, _| !directory.starts_with(&beneath));
        self.rights.retain(|at, _| at != path && !at.starts_with(&beneath));
        self.entries = self.directories.values().map(|entries| entries.len()).sum();
        true
    }

    /// Removes every link in a directory, and in those directly beneath it, that leads to `target` or beneath it.
    pub(crate) fn remove_links_to(&mut self, directory: &str, target: &str) {
        let beneath = format!("{target}/");
        let inside = format!("{directory}/");
        for (path, entries) in &mut self.directories {
            if path != directory && !path.starts_with(&inside) {
                continue;
            }
            entries.retain(|_, entry| match entry {
                Entry::Link(text) => follow(path, text).is_none_or(|to| to != target && !to.starts_with(&beneath)),
                _ => true,
            });
        }
        self.entries = self.directories.values().map(|entries| entries.len()).sum();
    }

    /// The paths of all directories at or beneath a path, sorted.
    pub(crate) fn directories_at(&self, path: &str) -> Vec<String> {
        let (mut found, mut open) = (Vec::new(), vec![path.to_owned()]);
        while let Some(at) = open.pop() {
            let Some(entries) = self.entries(&at) else { continue };
            let inside = entries.iter().filter(|(_, entry)| **entry == Entry::Directory);
            open.extend(inside.map(|(name, _)| format!("{at}/{name}")));
            found.push(at);
        }
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_found_with_all_beneath_and_none_beside() {
        let mut world = World::new();
        for path in ["a/x", "a-b/x", "a/b/c/x", "a.b/x", "ab/x", "a0/x"] {
            world.put(path, Entry::file(*b"")).unwrap();
        }
        assert_eq!(world.directories_at("a"), ["a", "a/b", "a/b/c"]);
        assert_eq!(world.directories_at("a/b/c"), ["a/b/c"]);
        assert_eq!(world.directories_at("b"), [""; 0]);
    }

    #[test]
    fn links_are_refused_and_files_are_no_directories() {
        let mut world = World::new();
        world.put("a/b", Entry::file(*b"x")).unwrap();
        world.put("l", Entry::Link("a".to_owned())).unwrap();
        assert_eq!(world.get("a/b").unwrap().kind(), Kind::File);
        assert_eq!(world.get("l/b"), Err(IS_LINK));
        assert_eq!(world.get("l/b/c/d"), Err(IS_LINK));
        assert_eq!(world.get("a/b/c"), Err(ReadError::NotFound));
        assert_eq!(world.get("x/y/z"), Err(ReadError::NotFound));
        assert!(world.put("a/b/c", Entry::file([])).unwrap_err().contains("a/b is no directory"));
        assert!(world.put("a", Entry::file([])).is_err());
    }

    #[test]
    fn depth_is_limited() {
        let mut world = World::new();
        let deep = vec!["d"; MAX_DEPTH].join("/");
        assert_eq!(world.put(&deep, Entry::file([])), Ok(()));
        let deeper = vec!["e"; MAX_DEPTH + 1].join("/");
        assert!(world.put(&deeper, Entry::file([])).unwrap_err().contains("components"));
    }

    #[test]
    fn what_is_removed_takes_everything_beneath_it_along() {
        let mut world = World::new();
        let before = world.entries;
        world.put("a/b/c", Entry::file([])).unwrap();
        world.put("ab/c", Entry::file([])).unwrap();
        assert!(world.remove("a") && !world.remove("a"));
        assert!(world.get("a/b/c").is_err() && world.get("ab/c").is_ok());
        assert!(world.remove("ab"));
        assert_eq!(world.entries, before);
    }

    #[test]
    fn everything_is_roots_with_the_usual_mode_unless_something_else_is_said() {
        let mut world = World::new();
        world.put("a/b", Entry::file([])).unwrap();
        let look = |world: &World, path| world.look(path).map(|l| (l.uid, l.mode));
        assert_eq!(look(&world, ""), Ok((0, 0o755)));
        assert_eq!(look(&world, "a"), Ok((0, 0o755)));
        assert_eq!(look(&world, "a/b"), Ok((0, 0o644)));
        world.set_rights("a/b", 1000, 0o666).unwrap();
        assert_eq!(look(&world, "a/b"), Ok((1000, 0o666)));
        assert!(world.set_rights("a/c", 0, 0o600).is_err());
        // What comes in its place is another thing.
        world.remove("a");
        world.put("a/b", Entry::file([])).unwrap();
        assert_eq!(look(&world, "a/b"), Ok((0, 0o644)));
    }
}
