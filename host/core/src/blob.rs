//! One small blob for each plugin that survives restarts: a file of the state directory, replaced as a whole.

use crate::state::Dir;
use devgate_types::{CallError, HostFault, PluginName};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;

/// The largest blob, in bytes, as the contract says.
pub(crate) const MOST_BYTES: usize = 64 << 10;
/// How long a turn is waited for. Calls end by themselves long before, as their deadlines do.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether a write has ended.
const LOOK: Duration = Duration::from_millis(10);
/// Beneath the state directory.
const DIRECTORY: &str = "state";

/// A plugin's blob. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Blob(Arc<Inner>);

struct Inner {
    /// Nothing: it ends with the process.
    file: Option<Place>,
    /// What is stored, once it has been read.
    kept: Mutex<Option<Arc<[u8]>>>,
    /// One writer at a time, however long the disk takes.
    writing: Mutex<()>,
    /// The calls that may store: one at a time. Whoever waits for a call holds it, not the call: one that never returns must not
    /// keep the plugin from all others.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The newest ticket. Older ones are worth nothing any more.
    newest: AtomicU64,
}

/// Where it is kept: a file in a directory beneath the state directory, which is made with the first of them.
struct Place {
    state: Dir,
    plugin: String,
}

impl Place {
    fn read(&self) -> io::Result<Vec<u8>> {
        let Some(dir) = self.state.inner(DIRECTORY, false)? else {
            return Ok(Vec::new());
        };
        Ok(dir.read(&self.plugin, MOST_BYTES as u64)?.unwrap_or_default())
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let dir = self.state.inner(DIRECTORY, true);
        self.state.notes(DIRECTORY, dir.as_ref().err());
        match dir? {
            Some(dir) => dir.write(&self.plugin, bytes),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Removes what a host that was killed had not finished, before any plugin stores something: they share the directory.
pub(crate) fn tidy(state: &Dir) {
    // One that cannot be opened is told of to each plugin that wants to keep something there.
    if let Ok(Some(dir)) = state.inner(DIRECTORY, false) {
        let _ = dir.tidy();
    }
}

/// The turn of a call that may store. Ends when dropped.
pub(crate) struct Turn {
    ticket: Ticket,
    _held: OwnedMutexGuard<()>,
}

impl Turn {
    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }
}

/// Leave to store, until the next turn begins: a call that hung and that nobody waits for any more stores nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// Why a blob was not stored.
#[derive(Debug)]
pub(crate) enum NotStored {
    /// It is too large.
    TooLarge,
    /// The call took too long, and another one has begun.
    Late,
    /// The disk says no.
    Disk(io::Error),
}

impl Blob {
    /// The blob of a plugin, in a state directory if there is one.
    pub(crate) fn new(state: Option<&Dir>, plugin: &PluginName) -> Self {
        Self(Arc::new(Inner {
            // A plugin's name is a DNS label: it has neither slash nor dot.
            file: state.map(|state| Place {
                state: state.clone(),
                plugin: plugin.to_string(),
            }),
            kept: Mutex::default(),
            writing: Mutex::default(),
            turn: Arc::default(),
            newest: AtomicU64::new(0),
        }))
    }

    /// A copy of what is stored, which ends with the process.
    pub(crate) fn copy(&self) -> Self {
        Self(Arc::new(Inner {
            file: None,
            // One that cannot be read is none: whoever asks the original is told.
            kept: Mutex::new(self.load().ok()),
            writing: Mutex::default(),
            turn: Arc::default(),
            newest: AtomicU64::new(0),
        }))
    }

    /// Waits until no other call that may store is under way, and nothing is being written, but not forever: a disk may hang.
    pub(crate) async fn turn(&self) -> Result<Turn, CallError> {
        self.turn_within(PATIENCE).await
    }

    async fn turn_within(&self, patience: Duration) -> Result<Turn, CallError> {
        let turn = async {
            let held = Arc::clone(&self.0.turn).lock_owned().await;
            loop {
                // Not waited for on this thread, which serves others.
                if let Some(ticket) = self.try_ticket() {
                    return Turn { ticket, _held: held };
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        let turn = tokio::time::timeout(patience, turn).await;
        turn.map_err(|_| {
            let message =
                format!("its state has not been written within {patience:?}: the state directory's disk hangs");
            CallError::Host(HostFault(message))
        })
    }

    /// A turn where nobody else asks for one.
    pub(crate) fn ticket(&self) -> Ticket {
        let writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.next(&writing)
    }

    fn try_ticket(&self) -> Option<Ticket> {
        match self.0.writing.try_lock() {
            Ok(writing) => Some(self.next(&writing)),
            Err(TryLockError::Poisoned(writing)) => Some(self.next(&writing.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// While nothing is written: what an older call began to write is there, or never will be.
    fn next(&self, _: &MutexGuard<'_, ()>) -> Ticket {
        Ticket(self.0.newest.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// What was last stored, or nothing at all. Blocks while the file is read for the first time.
    pub(crate) fn load(&self) -> io::Result<Arc<[u8]>> {
        let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*kept {
            return Ok(Arc::clone(kept));
        }
        let bytes: Arc<[u8]> = match &self.0.file {
            Some(file) => file.read()?.into(),
            None => Arc::default(),
        };
        *kept = Some(Arc::clone(&bytes));
        Ok(bytes)
    }

    /// Replaces what is stored, on the disk as well: whole, or not at all.
    pub(crate) fn store(&self, ticket: Ticket, bytes: &[u8]) -> Result<(), NotStored> {
        if bytes.len() > MOST_BYTES {
            return Err(NotStored::TooLarge);
        }
        let _writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.newest.load(Ordering::Acquire) != ticket.0 {
            return Err(NotStored::Late);
        }
        if self.is(bytes) {
            return Ok(());
        }
        if let Some(file) = &self.0.file {
            file.write(bytes).map_err(|error| {
                // It may be in place all the same: only the disk knows.
                *self.0.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
                NotStored::Disk(error)
            })?;
        }
        *self.0.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes.into());
        Ok(())
    }

    /// Whether this is what is stored: a component stores the same at every look, and that costs nothing.
    fn is(&self, bytes: &[u8]) -> bool {
        let kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().is_some_and(|kept| **kept == *bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn name(name: &str) -> PluginName {
        PluginName::try_new(name).unwrap()
    }

    #[test]
    fn a_blob_survives_a_restart_and_is_its_plugins_own() {
        let dir = tempfile::tempdir().unwrap();
        let open = |plugin| Blob::new(Some(&Dir::open(dir.path()).unwrap()), &name(plugin));
        let blob = open("gpus");
        assert_eq!(*blob.load().unwrap(), *b"");
        blob.store(blob.ticket(), b"one").unwrap();
        blob.store(blob.ticket(), b"two").unwrap();
        assert_eq!(*blob.load().unwrap(), *b"two");
        assert_eq!(*open("gpus").load().unwrap(), *b"two");
        assert_eq!(*open("nics").load().unwrap(), *b"");
        let copy = blob.copy();
        copy.store(copy.ticket(), b"on trial").unwrap();
        assert_eq!(
            (&*copy.load().unwrap(), &*blob.load().unwrap()),
            (&b"on trial"[..], &b"two"[..])
        );
        let forgetful = Blob::new(None, &name("gpus"));
        forgetful.store(forgetful.ticket(), b"x").unwrap();
        assert_eq!(*forgetful.clone().load().unwrap(), *b"x");
    }

    #[test]
    fn what_one_plugin_reads_and_stores_leaves_alone_what_another_one_is_writing() {
        let dir = tempfile::tempdir().unwrap();
        let state = Dir::open(dir.path()).unwrap();
        let gpus = Blob::new(Some(&state), &name("gpus"));
        gpus.store(gpus.ticket(), b"one").unwrap();
        let others = dir.path().join("state/.devgate-ffffffff.new");
        fs::write(&others, b"ha").unwrap();
        gpus.store(gpus.ticket(), b"two").unwrap();
        Blob::new(Some(&state), &name("nics")).load().unwrap();
        assert!(others.exists());
        // What is there when a host starts was left by one that is gone.
        tidy(&state);
        assert!(!others.exists());
        assert_eq!(*gpus.load().unwrap(), *b"two");
    }

    #[test]
    fn a_file_that_was_half_written_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let open = || Blob::new(Some(&Dir::open(dir.path()).unwrap()), &name("gpus"));
        let blob = open();
        blob.store(blob.ticket(), b"whole").unwrap();
        fs::write(dir.path().join("state/.devgate-0.new"), b"ha").unwrap();
        assert_eq!(*open().load().unwrap(), *b"whole");
        // And it is in nobody's way.
        let blob = open();
        blob.store(blob.ticket(), b"next").unwrap();
        assert_eq!(*open().load().unwrap(), *b"next");
    }

    #[test]
    fn a_blob_has_at_most_64_kib() {
        let dir = tempfile::tempdir().unwrap();
        let blob = Blob::new(Some(&Dir::open(dir.path()).unwrap()), &name("gpus"));
        blob.store(blob.ticket(), &vec![1; MOST_BYTES]).unwrap();
        let more = blob.store(blob.ticket(), &vec![2; MOST_BYTES + 1]);
        assert!(matches!(more, Err(NotStored::TooLarge)));
        assert_eq!(*blob.load().unwrap(), *vec![1; MOST_BYTES]);
        fs::write(dir.path().join("state/gpus"), vec![3; MOST_BYTES + 1]).unwrap();
        assert!(
            Blob::new(Some(&Dir::open(dir.path()).unwrap()), &name("gpus"))
                .load()
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_call_that_took_too_long_stores_nothing() {
        let blob = Blob::new(None, &name("gpus"));
        let late = blob.turn().await.unwrap();
        let ticket = late.ticket();
        blob.store(ticket, b"in time").unwrap();
        // Nobody waits for it any more.
        drop(late);
        let next = blob.turn().await.unwrap();
        assert!(matches!(blob.store(ticket, b"late"), Err(NotStored::Late)));
        blob.store(next.ticket(), b"next").unwrap();
        assert_eq!(*blob.load().unwrap(), *b"next");
    }

    #[tokio::test]
    async fn turns_come_one_after_another() {
        let blob = Blob::new(None, &name("gpus"));
        let first = blob.turn().await.unwrap();
        assert!(blob.0.turn.try_lock().is_err());
        let waiting = blob.clone();
        let second = tokio::spawn(async move { waiting.turn().await.unwrap().ticket() });
        let ticket = first.ticket();
        drop(first);
        assert_ne!(second.await.unwrap(), ticket);
    }

    #[tokio::test]
    async fn no_turn_begins_while_something_is_written() {
        let blob = Blob::new(None, &name("gpus"));
        let ticket = blob.ticket();
        let writing = blob.0.writing.lock().unwrap();
        assert_eq!(blob.try_ticket(), None);
        assert_eq!(blob.0.newest.load(Ordering::Acquire), ticket.0);
        drop(writing);
        assert_ne!(blob.turn().await.unwrap().ticket(), ticket);
    }

    #[tokio::test]
    async fn a_turn_that_never_ends_is_not_waited_for_forever() {
        let blob = Blob::new(None, &name("gpus"));
        let _hangs = blob.turn().await.unwrap();
        let Err(error) = blob.turn_within(LOOK).await else {
            panic!("two turns")
        };
        assert!(
            error.to_string().contains("the state directory's disk hangs"),
            "{error}"
        );
    }

    #[test]
    fn what_may_or_may_not_have_been_stored_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let blob = Blob::new(Some(&Dir::open(dir.path()).unwrap()), &name("gpus"));
        blob.store(blob.ticket(), b"one").unwrap();
        // A directory in the file's place: not even root can put a file there.
        fs::remove_file(dir.path().join("state/gpus")).unwrap();
        fs::create_dir_all(dir.path().join("state/gpus/in the way")).unwrap();
        assert!(matches!(blob.store(blob.ticket(), b"two"), Err(NotStored::Disk(_))));
        fs::remove_dir_all(dir.path().join("state/gpus")).unwrap();
        fs::write(dir.path().join("state/gpus"), b"three").unwrap();
        assert_eq!(*blob.load().unwrap(), *b"three");
    }
}
