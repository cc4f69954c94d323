//! Saving before an allocation is answered, and not for ever.

use super::Memory;
use std::io;
use std::time::Duration;

/// What saving may take before an allocation goes on without it.
const PATIENCE: Duration = Duration::from_secs(2);

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
        let saved = tokio::time::timeout(PATIENCE, self.write()).await;
        saved.unwrap_or_else(|_| Err(late()))
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
        if known.saved >= version {
            return Ok(());
        }
        let (handed_out, version) = (known.handed_out.clone(), known.version);
        drop(known);
        file.write(&handed_out)?;
        self.lock().saved = version;
        Ok(())
    }
}
