//! What each component keeps across restarts (its policy says `state`): a file of the state directory, replaced as a whole.

use crate::state::Dir;
use devgate_types::{CallError, HostFault, Mutex, PluginName};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

/// The most that is kept, in bytes, as the contract says.
pub(crate) const MAX_BYTES: usize = 64 << 10;
/// How long a turn is waited for. Calls end by themselves long before, as their deadlines do.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Beneath the state directory.
const DIRECTORY: &str = "state";

/// What one component keeps. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ComponentState(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// The state directory and the file's name in [`DIRECTORY`] beneath it, which is made with the first of them; `None` if it ends
    /// with the process.
    file: Option<(Dir, String)>,
    /// What is stored, once it has been read.
    kept: Mutex<Option<Arc<[u8]>>>,
    /// The calls that may store: one at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Held while something is written, however long the disk takes: no turn begins meanwhile.
    writing: tokio::sync::Mutex<()>,
}

/// Removes what a host that was killed had not finished, before any plugin stores something: they share the directory.
pub(crate) fn tidy(state: &Dir) {
    // One that cannot be opened is told of to each plugin that wants to keep something there.
    if let Ok(Some(dir)) = state.inner(DIRECTORY, false) {
        let _ = dir.tidy();
    }
}

/// Why it was not stored.
#[derive(Debug)]
pub(crate) enum NotStored {
    /// It is too large.
    TooLarge,
    /// Its caller has given up on the call, or another one writes.
    Late,
    /// The disk says no.
    Disk(io::Error),
}

impl ComponentState {
    /// That of a plugin's component, in a state directory if there is one.
    pub(crate) fn new(state: Option<&Dir>, plugin: &PluginName) -> Self {
        Self(Arc::new(Inner {
            // A plugin's name is a DNS label: it has neither slash nor dot.
            file: state.map(|state| (state.clone(), plugin.to_string())),
            ..Inner::default()
        }))
    }

    /// A copy of what is stored, which ends with the process.
    pub(crate) fn copy(&self) -> Self {
        Self(Arc::new(Inner {
            // One that cannot be read is none: the original reports why.
            kept: Mutex::new(self.load().ok()),
            ..Inner::default()
        }))
    }

    /// The turn of a call that may store, which its caller has: a call that never returns must not keep the plugin from all others. Waits
    /// until no other such call is waited for and nothing is being written, but not forever: a disk may hang.
    pub(crate) async fn write_turn(&self) -> Result<OwnedMutexGuard<()>, CallError> {
        self.write_turn_within(TIMEOUT).await
    }

    async fn write_turn_within(&self, patience: Duration) -> Result<OwnedMutexGuard<()>, CallError> {
        let turn = async {
            let held = Arc::clone(&self.0.turn).lock_owned().await;
            drop(self.0.writing.lock().await);
            held
        };
        tokio::time::timeout(patience, turn).await.map_err(|_| {
            let message =
                format!("its state has not been written within {patience:?}: the state directory's disk hangs");
            CallError::Host(HostFault(message))
        })
    }

    /// What was last stored, or nothing at all. Blocks while the file is read for the first time.
    pub(crate) fn load(&self) -> io::Result<Arc<[u8]>> {
        let mut kept = self.0.kept.lock();
        if let Some(kept) = &*kept {
            return Ok(Arc::clone(kept));
        }
        let bytes: Arc<[u8]> = match &self.0.file {
            Some((state, plugin)) => match state.inner(DIRECTORY, false)? {
                Some(dir) => dir.read(plugin, MAX_BYTES as u64)?.unwrap_or_default().into(),
                None => Arc::default(),
            },
            None => Arc::default(),
        };
        *kept = Some(Arc::clone(&bytes));
        Ok(bytes)
    }

    /// Replaces what is stored, on the disk as well: whole, or not at all, and not for a call that was given up on.
    pub(crate) fn store(&self, given_up: &CancellationToken, bytes: &[u8]) -> Result<(), NotStored> {
        if bytes.len() > MAX_BYTES {
            return Err(NotStored::TooLarge);
        }
        // Another one writes only where this call is late: turns wait for it.
        let Ok(_writing) = self.0.writing.try_lock() else {
            return Err(NotStored::Late);
        };
        if given_up.is_cancelled() {
            return Err(NotStored::Late);
        }
        // A component stores the same at every look, and that costs nothing.
        if self.0.kept.lock().as_deref() == Some(bytes) {
            return Ok(());
        }
        if let Some((state, plugin)) = &self.0.file {
            write(state, plugin, bytes).map_err(|error| {
                // It may be in place all the same: only the disk knows.
                *self.0.kept.lock() = None;
                NotStored::Disk(error)
            })?;
        }
        *self.0.kept.lock() = Some(bytes.into());
        Ok(())
    }
}

fn write(state: &Dir, plugin: &str, bytes: &[u8]) -> io::Result<()> {
    let dir = state.inner(DIRECTORY, true);
    state.notes(DIRECTORY, dir.as_ref().err());
    match dir? {
        Some(dir) => dir.write(plugin, bytes),
        None => Err(io::ErrorKind::NotFound.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A call that is waited for.
    fn still() -> CancellationToken {
        CancellationToken::new()
    }

    fn name(name: &str) -> PluginName {
        PluginName::try_new(name).unwrap()
    }

    #[test]
    fn a_blob_survives_a_restart_and_is_its_plugins_own() {
        let dir = tempfile::tempdir().unwrap();
        let open = |plugin| ComponentState::new(Some(&Dir::open(dir.path()).unwrap()), &name(plugin));
        let state = open("gpus");
        assert_eq!(*state.load().unwrap(), *b"");
        state.store(&still(), b"one").unwrap();
        state.store(&still(), b"two").unwrap();
        assert_eq!(*state.load().unwrap(), *b"two");
        assert_eq!(*open("gpus").load().unwrap(), *b"two");
        assert_eq!(*open("nics").load().unwrap(), *b"");
        let copy = state.copy();
        copy.store(&still(), b"on trial").unwrap();
        assert_eq!((&*copy.load().unwrap(), &*state.load().unwrap()), (&b"on trial"[..], &b"two"[..]));
        let forgetful = ComponentState::new(None, &name("gpus"));
        forgetful.store(&still(), b"x").unwrap();
        assert_eq!(*forgetful.clone().load().unwrap(), *b"x");
    }

    #[test]
    fn what_one_plugin_reads_and_stores_leaves_alone_what_another_one_is_writing() {
        let dir = tempfile::tempdir().unwrap();
        let state = Dir::open(dir.path()).unwrap();
        let gpus = ComponentState::new(Some(&state), &name("gpus"));
        gpus.store(&still(), b"one").unwrap();
        let others = dir.path().join("state/.devgate-ffffffff.new");
        fs::write(&others, b"ha").unwrap();
        gpus.store(&still(), b"two").unwrap();
        ComponentState::new(Some(&state), &name("nics")).load().unwrap();
        assert!(others.exists());
        // What is there when a host starts was left by one that is gone.
        tidy(&state);
        assert!(!others.exists());
        assert_eq!(*gpus.load().unwrap(), *b"two");
    }

    #[test]
    fn a_file_that_was_half_written_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let open = || ComponentState::new(Some(&Dir::open(dir.path()).unwrap()), &name("gpus"));
        let state = open();
        state.store(&still(), b"whole").unwrap();
        fs::write(dir.path().join("state/.devgate-0.new"), b"ha").unwrap();
        assert_eq!(*open().load().unwrap(), *b"whole");
        // And it is in no way.
        let state = open();
        state.store(&still(), b"next").unwrap();
        assert_eq!(*open().load().unwrap(), *b"next");
    }

    #[test]
    fn a_blob_has_at_most_64_kib() {
        let dir = tempfile::tempdir().unwrap();
        let state = ComponentState::new(Some(&Dir::open(dir.path()).unwrap()), &name("gpus"));
        state.store(&still(), &vec![1; MAX_BYTES]).unwrap();
        let more = state.store(&still(), &vec![2; MAX_BYTES + 1]);
        assert!(matches!(more, Err(NotStored::TooLarge)));
        assert_eq!(*state.load().unwrap(), *vec![1; MAX_BYTES]);
        fs::write(dir.path().join("state/gpus"), vec![3; MAX_BYTES + 1]).unwrap();
        assert!(ComponentState::new(Some(&Dir::open(dir.path()).unwrap()), &name("gpus")).load().is_err());
    }

    #[test]
    fn a_call_that_was_given_up_on_stores_nothing() {
        let state = ComponentState::new(None, &name("gpus"));
        let given_up = CancellationToken::new();
        state.store(&given_up, b"in time").unwrap();
        given_up.cancel();
        assert!(matches!(state.store(&given_up, b"late"), Err(NotStored::Late)));
        assert_eq!(*state.load().unwrap(), *b"in time");
    }

    #[tokio::test]
    async fn turns_come_one_after_another() {
        let state = ComponentState::new(None, &name("gpus"));
        let first = state.write_turn().await.unwrap();
        let waiting = state.clone();
        let second = tokio::spawn(async move { waiting.write_turn().await.map(drop) });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(first);
        second.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn no_turn_begins_while_something_is_written() {
        let state = ComponentState::new(None, &name("gpus"));
        let writing = state.0.writing.lock().await;
        let late = state.write_turn_within(Duration::from_millis(10)).await;
        assert!(late.is_err());
        // A call that is over, and what it had stored before is what is loaded.
        assert!(matches!(state.store(&still(), b"late"), Err(NotStored::Late)));
        assert_eq!(*state.load().unwrap(), *b"");
        drop(writing);
        assert!(state.write_turn().await.is_ok());
    }

    #[tokio::test]
    async fn a_turn_that_never_ends_is_not_waited_for_forever() {
        let state = ComponentState::new(None, &name("gpus"));
        let _hangs = state.write_turn().await.unwrap();
        let Err(error) = state.write_turn_within(Duration::from_millis(10)).await else { panic!("two turns") };
        assert!(error.to_string().contains("the state directory's disk hangs"), "{error}");
    }

    #[test]
    fn what_may_or_may_not_have_been_stored_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let state = ComponentState::new(Some(&Dir::open(dir.path()).unwrap()), &name("gpus"));
        state.store(&still(), b"one").unwrap();
        // A directory in the file's place: not even root can put a file there.
        fs::remove_file(dir.path().join("state/gpus")).unwrap();
        fs::create_dir_all(dir.path().join("state/gpus/in the way")).unwrap();
        assert!(matches!(state.store(&still(), b"two"), Err(NotStored::Disk(_))));
        fs::remove_dir_all(dir.path().join("state/gpus")).unwrap();
        fs::write(dir.path().join("state/gpus"), b"three").unwrap();
        assert_eq!(*state.load().unwrap(), *b"three");
    }
}
