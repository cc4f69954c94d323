//! Word to a plugin that there is something to look at.

use super::away::Away;
use std::ops::BitOr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a list that is to be made anew waits: for the answer to who takes something, which is not to be slower by it, and for who
/// takes something next.
const SOON: Duration = Duration::from_millis(5);

/// What a plugin is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Asked(u8);

impl Asked {
    /// To look at what its units are made of, before anything else.
    pub(crate) const HARDWARE: Self = Self(1);
    /// To look at that, and to ask its component for the units' health.
    pub(crate) const HEALTH: Self = Self(2);
    /// To ask its component for its units.
    pub(crate) const UNITS: Self = Self(4);
    /// To make its list anew, and to ask nothing.
    pub(crate) const LIST: Self = Self(8);

    /// Whether it is asked for this.
    pub(crate) fn has(self, what: Self) -> bool {
        self.0 & what.0 == what.0
    }
}

impl BitOr for Asked {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Many may ask, one plugin does it: whatever was asked for in the meantime is asked for once.
#[derive(Default)]
pub(crate) struct Wake {
    asked: AtomicU8,
    word: Notify,
    /// What has gone meanwhile of what something is done to.
    pub(crate) away: Away,
}

impl Wake {
    /// Asks for something. Returns at once.
    pub(crate) fn ask(&self, what: Asked) {
        self.asked.fetch_or(what.0, Ordering::SeqCst);
        self.word.notify_one();
    }

    /// Waits until something is asked for.
    pub(crate) async fn asked(&self) -> Asked {
        loop {
            if self.asked.load(Ordering::SeqCst) == Asked::LIST.0 {
                tokio::time::sleep(SOON).await;
            }
            if let Some(asked) = self.take() {
                return asked;
            }
            self.word.notified().await;
        }
    }

    /// What is asked for now, if anything.
    pub(super) fn take(&self) -> Option<Asked> {
        let asked = self.asked.swap(0, Ordering::SeqCst);
        (asked != 0).then_some(Asked(asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_asked_for_is_there_once_however_often_it_was() {
        let wake = Wake::default();
        for _ in 0..1_000 {
            wake.ask(Asked::HARDWARE);
            wake.ask(Asked::UNITS);
        }
        let asked = wake.asked().await;
        assert!(asked.has(Asked::HARDWARE) && asked.has(Asked::UNITS) && !asked.has(Asked::HEALTH));
        assert_eq!(wake.take(), None);
        wake.ask(Asked::HEALTH);
        assert_eq!(wake.asked().await, Asked::HEALTH);
        // A list waits for more of its kind, and is not lost where the wait is given up.
        wake.ask(Asked::LIST);
        assert!(tokio::time::timeout(Duration::ZERO, wake.asked()).await.is_err());
        assert_eq!(wake.asked().await, Asked::LIST);
    }
}
