//! How far a pull or push is, for the caller that waits for it.

use devgate_types::Mutex;

/// How far one transfer is: what is done, and of how much. Shared with the thread that does it.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Option<(u64, u64)>>);

impl Progress {
    /// It is under way, and it is not known how much there is.
    pub(crate) fn start(&self) {
        self.begin(0);
    }

    /// Whether it is under way.
    pub(crate) fn is_begun(&self) -> bool {
        self.0.lock().is_some()
    }

    /// So much is to be done, and nothing is.
    pub fn begin(&self, total: u64) {
        *self.0.lock() = Some((0, total));
    }

    /// So much more is done.
    pub fn add(&self, bytes: usize) {
        if let Some((done, _)) = self.0.lock().as_mut() {
            *done = done.saturating_add(u64::try_from(bytes).unwrap_or(0));
        }
    }

    /// `3.1 of 18.3 MB`; nothing where it is not known yet how much there is.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let (done, total) = self.0.lock().filter(|(_, total)| *total > 0)?;
        Some(format!("{} of {} MB", mega(done), mega(total)))
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
