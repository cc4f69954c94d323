//! Directories that are watched by inotify, on a thread of their own: opening one that is on a network may hang, and then
//! nothing else may wait for it.

use super::{Sink, Told};
use crate::events::NodeEvent;
use crate::live::Live;
use crate::path::{above, problem};
use devgate_types::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch};
use rustix::fs::{OFlags, fstatfs};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The most directories that are watched; a user of the system has 8,192 at least.
const MAX_DIRECTORIES: usize = 256;
/// How much is taken of what has happened before it is told, give or take a read.
const AT_ONCE: usize = 1_024;
/// How often the way to the directories is looked at again, as long as it is another one each time.
const MAX_LOOKS: usize = 4;
/// `PROC_SUPER_MAGIC` and `SYSFS_MAGIC`: file systems whose contents the kernel makes up, of which inotify tells nothing.
const WITHOUT_EVENTS: [u64; 2] = [0x9fa0, 0x6265_6572];

type Wanted = BTreeMap<String, Told>;

/// Watches directories of a live node until it is dropped.
pub(super) struct PathWatch {
    /// What the thread has not heard of yet.
    wanted: Arc<Mutex<Option<Wanted>>>,
    /// The thread has the other end.
    word: UnixStream,
}

impl PathWatch {
    pub(super) fn start(live: Arc<Live>, sink: Sink) -> std::io::Result<Self> {
        let (word, other) = UnixStream::pair()?;
        word.set_nonblocking(true)?;
        other.set_nonblocking(true)?;
        let wanted = Arc::default();
        let paths = Paths {
            live,
            inotify: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            word: other,
            slot: Arc::clone(&wanted),
            wanted: Wanted::new(),
            watched: BTreeMap::new(),
        };
        let thread = std::thread::Builder::new().name("node-paths".to_owned());
        thread.spawn(move || paths.run(&move |event| sink(event)))?;
        Ok(Self { wanted, word })
    }

    /// Watches these, or what is nearest above them, and nothing else. Returns at once.
    pub(super) fn set(&self, wanted: Wanted) {
        *self.wanted.lock() = Some(wanted);
        // Where there is no room, there is word enough; where it is not read, nothing is watched any more.
        let _ = (&self.word).write(&[0]);
    }
}

struct Paths {
    live: Arc<Live>,
    inotify: OwnedFd,
    word: UnixStream,
    slot: Arc<Mutex<Option<Wanted>>>,
    wanted: Wanted,
    /// The directories by their watches.
    watched: BTreeMap<i32, String>,
}

impl Paths {
    fn run(mut self, tell: &dyn Fn(NodeEvent)) {
        loop {
            match self.wait() {
                Ok(true) => {}
                Ok(false) => return,
                // Out of memory, at worst: not a reason to spin.
                Err(_) => std::thread::sleep(super::live::AFTER_FAILURE),
            }
            let wanted = self.slot.lock().take();
            let mut look = wanted.is_some();
            self.wanted = wanted.unwrap_or(std::mem::take(&mut self.wanted));
            let mut happened = Vec::new();
            match self.drain(&mut happened) {
                Ok(moved) => look |= moved,
                // The poll goes on without it.
                Err(_) => return tell(NodeEvent::Lost),
            }
            // Before what happened is told: what is made in a directory of which it is told that it is there must not be missed.
            if look {
                let new = self.place().into_iter();
                happened.extend(new.map(|directory| NodeEvent::Path(format!("/{directory}"))));
            }
            happened.into_iter().for_each(tell);
        }
    }

    /// Waits until there is more; whether to go on.
    fn wait(&self) -> Result<bool, Errno> {
        let mut polled = [PollFd::new(&self.word, PollFlags::IN), PollFd::new(&self.inotify, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        match (&self.word).read(&mut [0; 64]) {
            Ok(0) => Ok(false),
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            _ => Ok(true),
        }
    }

    /// Watches what is wanted as it is now, and nothing else; the directories that were not watched before.
    fn place(&mut self) -> BTreeSet<String> {
        let mut new = BTreeSet::new();
        // What was made on the way to a directory while it was looked for is found by looking again.
        for _ in 0..MAX_LOOKS {
            let watched: BTreeMap<_, _> = self
                .nearest()
                .into_iter()
                .filter_map(|(directory, (opened, told))| {
                    // What was opened beneath the root, and not what its path leads to now. A directory that is watched
                    // already keeps its watch; another one in its place gets one.
                    let itself = format!("/proc/self/fd/{}", opened.as_raw_fd());
                    Some((add_watch(&self.inotify, itself.as_str(), flags(told)).ok()?, directory))
                })
                .collect();
            for old in self.watched.keys().filter(|watch| !watched.contains_key(watch)) {
                let _ = remove_watch(&self.inotify, *old);
            }
            let is_new = |(watch, directory): &(&i32, &String)| self.watched.get(watch) != Some(directory);
            new.extend(watched.iter().filter(is_new).map(|(_, directory)| directory.clone()));
            let same = watched == self.watched;
            self.watched = watched;
            if same {
                break;
            }
        }
        new
    }

    /// What is nearest to each directory that is wanted, opened.
    fn nearest(&self) -> BTreeMap<String, (OwnedFd, Told)> {
        let mut found = BTreeMap::new();
        for (wanted, told) in self.wanted.iter().take(MAX_DIRECTORIES) {
            let Some(wanted) = wanted.strip_prefix('/') else {
                continue;
            };
            let Some((directory, opened)) = nearest(&self.live, wanted) else {
                continue;
            };
            let told = if directory == wanted { *told } else { Told::Entries };
            let (_, most) = found.entry(directory).or_insert((opened, told));
            *most = told.max(*most);
        }
        found
    }

    /// Takes what has happened, the rest the next time; whether a directory that is wanted may be another one now.
    fn drain(&self, happened: &mut Vec<NodeEvent>) -> Result<bool, Errno> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut moved = false;
        loop {
            if happened.len() >= AT_ONCE && reader.is_buffer_empty() {
                return Ok(moved);
            }
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(moved),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                happened.push(NodeEvent::Lost);
                moved = true;
                continue;
            }
            let Some(directory) = self.watched.get(&event.wd()) else {
                continue;
            };
            let path = match event.file_name().map(|name| name.to_string_lossy()) {
                Some(name) if directory.is_empty() => format!("/{name}"),
                Some(name) => format!("/{directory}/{name}"),
                None => format!("/{directory}"),
            };
            moved |= self.wanted.keys().any(|wanted| {
                let rest = wanted.strip_prefix(&path);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            happened.push(NodeEvent::Path(path));
        }
    }
}

fn flags(told: Told) -> WatchFlags {
    let entries = WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVE
        | WatchFlags::ATTRIB
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    match told {
        Told::Entries => entries,
        Told::Contents => entries | WatchFlags::CLOSE_WRITE,
    }
}

/// The nearest directory at or above a path that is there, opened; nothing where inotify tells nothing of it, or it is the root and was not
/// asked for.
fn nearest(live: &Live, path: &str) -> Option<(String, OwnedFd)> {
    if !path.is_empty() && problem(path).is_some() {
        return None;
    }
    let mut at = path;
    loop {
        if let Ok(directory) = live.open(at, OFlags::PATH | OFlags::DIRECTORY) {
            let tells = fstatfs(&directory).is_ok_and(|stat| {
                let magic = u64::try_from(stat.f_type).unwrap_or_default();
                !WITHOUT_EVENTS.contains(&magic)
            });
            return tells.then(|| (at.to_owned(), directory));
        }
        at = above(at)?;
    }
}
