//! Saving before an allocation is answered, and not for ever.

use super::Memory;
use super::file::Kept;
use devgate_types::escape;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// What saving may take before an allocation goes on without it.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is tried again to save what could not be.
const AGAIN: Duration = Duration::from_secs(2);

/// What has to be saved before an allocation is answered.
pub(crate) struct Unsaved {
    memory: Memory,
    version: u64,
}

impl Unsaved {
    pub(super) fn new(memory: Memory, version: u64) -> Self {
        Self { memory, version }
    }

    /// Saves it, or waits until somebody else has. A disk that never answers costs one thread of the whole host and each
    /// allocation that wants to save two seconds.
    ///
    /// # Errors
    /// Where it was not saved; the next allocation tries again.
    pub(crate) async fn save(self) -> io::Result<()> {
        let late = || io::Error::new(io::ErrorKind::TimedOut, format!("not written within {PATIENCE:?}"));
        let memory = self.memory.clone();
        let saved = tokio::time::timeout(PATIENCE, self.write()).await;
        let saved = saved.unwrap_or_else(|_| Err(late()));
        if let Err(error) = &saved {
            memory.fails(error);
        }
        saved
    }

    async fn write(self) -> io::Result<()> {
        let turn = std::sync::Arc::clone(&self.memory.0.turn).lock_owned().await;
        let written = tokio::task::spawn_blocking(move || {
            // The turn ends when the disk has answered, not when nobody waits for it any more.
            let _turn = turn;
            self.memory.write(self.version)
        });
        written.await.unwrap_or_else(|panic| Err(io::Error::other(panic)))
    }
}

impl Memory {
    /// Writes what is known now, unless that version is in the file already.
    fn write(&self, version: u64) -> io::Result<()> {
        let Some(file) = &self.0.file else { return Ok(()) };
        let known = self.lock();
        // What is written while it is not known what pods have would be all that the next host knows.
        if known.unknown.is_some() || (known.saved >= version && known.failing.is_none()) {
            return Ok(());
        }
        let kept = Kept {
            handed_out: known.handed_out.clone(),
            doubts: known.doubts.clone(),
        };
        let version = known.version;
        drop(known);
        file.write(kept)?;
        let mut known = self.lock();
        known.saved = known.saved.max(version);
        let failed = known.failing.take().is_some();
        drop(known);
        if failed {
            tracing::info!("state directory: what is handed out can be recorded again");
            self.changed();
        }
        Ok(())
    }

    /// Nothing can be saved: nothing new is given until it can.
    fn fails(&self, error: &io::Error) {
        let why = escape(&error.to_string(), 256);
        let why: Arc<str> =
            format!("what is handed out cannot be recorded: {why}; look at the state directory (--state-dir)").into();
        let before = self.lock().failing.replace(Arc::clone(&why));
        if before.as_ref() != Some(&why) {
            tracing::error!(
                family = "host",
                "state directory: {why}; no device is given until it can be, but for what pods have already"
            );
        }
        if before.is_none() {
            self.0.unsaved.notify_one();
            self.changed();
        }
    }

    /// Something may be given that was not, or the other way round.
    pub(super) fn changed(&self) {
        self.0.forgotten.send_modify(|count| *count += 1);
    }

    /// There is something to save that nobody waits for.
    pub(crate) fn save_soon(&self) {
        self.0.unsaved.notify_one();
    }

    /// Saves what nobody waits for, and what could not be saved until it is, for as long as it is polled.
    pub(crate) async fn keep_saved(self) {
        loop {
            if self.lock().failing.is_some() {
                tokio::time::sleep(AGAIN).await;
            } else {
                self.0.unsaved.notified().await;
            }
            let (memory, version) = (self.clone(), self.lock().version);
            // What is wrong has been said.
            let _ = Unsaved { memory, version }.save().await;
        }
    }
}
