//! How far a pull or push is, for the caller that waits for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far one transfer is. Shared with the thread that does it.
#[derive(Debug, Default)]
pub struct Progress {
    begun: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// It is under way, and it is not known how much there is.
    pub(crate) fn start(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Whether it is under way.
    pub(crate) fn is_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// So much is to be done, and nothing is.
    pub fn begin(&self, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// So much more is done.
    pub fn add(&self, bytes: usize) {
        self.done.fetch_add(u64::try_from(bytes).unwrap_or(0), Ordering::Relaxed);
    }

    /// `3.1 of 18.3 MB`; nothing where it is not known yet how much there is.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        (total > 0).then(|| format!("{} of {} MB", mega(done), mega(total)))
    }
}

/// Millions with one digit behind the point.
fn mega(bytes: u64) -> String {
    let tenths = bytes.saturating_add(50_000) / 100_000;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_in_megabytes() {
        let progress = Progress::default();
        assert_eq!(progress.text(), None);
        progress.begin(18_308_906);
        progress.add(3_100_000);
        assert_eq!(progress.text().unwrap(), "3.1 of 18.3 MB");
    }
}
