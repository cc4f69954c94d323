//! Saving before an allocation is answered, and not for ever.

use super::Allocations;
use super::journal::Next;
use super::store::{NAME, Store, Writing};
use devgate_types::escape;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// What saving may take before an allocation goes on without it.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How often it is tried again to save what could not be.
const AGAIN: Duration = Duration::from_secs(2);

impl Allocations {
    /// Saves a step and all before it, or waits until another caller has. A disk that never answers costs one thread of the whole host and
    /// each allocation that wants to save two seconds. Fails where it was not saved; the next allocation tries again.
    #[tracing::instrument(name = "core.record", level = "trace", skip_all)]
    pub(crate) async fn save(&self, step: u64) -> io::Result<()> {
        let late = || io::Error::new(io::ErrorKind::TimedOut, format!("not written within {TIMEOUT:?}"));
        let saved = tokio::time::timeout(TIMEOUT, self.save_in_turn(step)).await;
        let saved = saved.unwrap_or_else(|_| Err(late()));
        if let Err(error) = &saved {
            self.fails(error);
        }
        saved
    }

    async fn save_in_turn(&self, step: u64) -> io::Result<()> {
        let Some(store) = &self.0.store else {
            return Ok(());
        };
        let (mut writing, allocations) = (Arc::clone(store).lock_owned().await, self.clone());
        // The turn ends when the disk has answered, not when the caller stops waiting.
        let written = tokio::task::spawn_blocking(move || allocations.write(&mut writing, step));
        written.await.unwrap_or_else(|panic| Err(io::Error::other(panic)))
    }

    /// Writes what was noted by now, unless this step is on the disk already: one sync for all who wait.
    fn write(&self, writing: &mut Writing, step: u64) -> io::Result<()> {
        let mut known = self.lock();
        // What is written while it is not known what pods have would be all that the next host knows.
        if known.unknown.is_some() || (known.book.is_durable(step) && !known.is_news && known.failing.is_none()) {
            return Ok(());
        }
        let batch = known.book.take(writing.journal.needs_all());
        let last = batch.last;
        drop(known);
        writing.write(batch)?;
        self.is_written(last);
        if writing.journal.wants_next().is_some() {
            self.save_soon();
        }
        Ok(())
    }

    fn is_written(&self, last: u64) {
        let mut known = self.lock();
        known.book.written(last);
        known.is_news = false;
        let failed = known.failing.take().is_some();
        drop(known);
        if failed {
            tracing::info!("state directory: what is handed out can be recorded again");
            self.changed();
        }
    }

    /// Goes on in another file where this one grew long; no call waits for that.
    fn compact(&self) {
        let Some(store) = &self.0.store else { return };
        let Err(error) = self.begin_next(store) else { return };
        self.notes_journal(Some(&error));
        tracing::warn!(
            family = "host",
            "state directory: the journal of what is handed out cannot go on in another file, and grows: {}",
            escape(&error.to_string(), 256)
        );
        store.blocking_lock().journal.put_off();
    }

    /// Keeps in mind whether the journal can go on in another file.
    fn notes_journal(&self, problem: Option<&io::Error>) {
        if let Some(dir) = self.dir() {
            dir.notes(NAME, problem);
        }
    }

    fn begin_next(&self, store: &Store) -> io::Result<()> {
        let writing = store.blocking_lock();
        let Some((number, disk)) = writing.journal.wants_next() else {
            return Ok(());
        };
        drop(writing);
        let next = Next::make(&*disk, number)?;
        let mut writing = store.blocking_lock();
        let mut known = self.lock();
        if known.unknown.is_some() {
            return Ok(());
        }
        let batch = known.book.take(true);
        drop(known);
        let last = batch.last;
        let snapshot = writing.journal.go_on(batch, next)?;
        drop(writing);
        self.is_written(last);
        if let Some(snapshot) = snapshot {
            let bytes = snapshot.write(false)?;
            store.blocking_lock().journal.has_snapshot_of(bytes);
        }
        self.notes_journal(None);
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

    /// Something is to be saved that no call waits for.
    pub(crate) fn save_soon(&self) {
        self.0.unsaved.notify_one();
    }

    /// Saves what no call waits for, and what could not be saved until it is, for as long as it is polled.
    pub(crate) async fn keep_saved(self) {
        loop {
            // That ends when the disk answers, and no allocation waits for it.
            let allocations = self.clone();
            let _ = tokio::task::spawn_blocking(move || allocations.compact()).await;
            if self.lock().failing.is_some() {
                tokio::time::sleep(AGAIN).await;
            } else {
                self.0.unsaved.notified().await;
            }
            let step = self.lock().book.last();
            // What is wrong has been said.
            let _ = self.save(step).await;
        }
    }

    /// Leaves what a host of version 0.1 reads, when this one ends. Fails where it cannot be written; that one asks the kubelet then.
    pub fn leave(&self) -> io::Result<()> {
        let Some(store) = &self.0.store else { return Ok(()) };
        let mut writing = store.blocking_lock();
        let last = self.lock().book.last();
        self.write(&mut writing, last)?;
        let known = self.lock();
        if known.unknown.is_some() {
            return Ok(());
        }
        let contents = known.book.contents().clone();
        drop(known);
        writing.older.write(&contents)
    }
}
