//! Pauses between attempts of what keeps failing, and between looks.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

/// Pauses without an end, each about twice as long as the one before. Those who failed together do not try again together.
pub struct Backoff {
    pauses: ExponentialBackoff,
    longest: Duration,
}

impl Default for Backoff {
    /// For what concerns this node alone.
    fn default() -> Self {
        Self::new(Duration::from_secs(1), Duration::from_secs(60))
    }
}

impl Backoff {
    /// Pauses from `shortest` to `longest`.
    #[must_use]
    pub fn new(shortest: Duration, longest: Duration) -> Self {
        let pauses = ExponentialBuilder::new().with_min_delay(shortest).with_max_delay(longest);
        let pauses = pauses.with_jitter().without_max_times().build();
        Self { pauses, longest }
    }

    /// The next one.
    pub fn pause(&mut self) -> Duration {
        self.pauses.next().unwrap_or(self.longest)
    }
}

/// A pause, up to a tenth more or less: those who began together must not ask together for ever.
#[must_use]
pub fn jittered(pause: Duration) -> Duration {
    let part = u32::try_from(RandomState::new().build_hasher().finish() % 201).unwrap_or_default();
    pause.saturating_mul(900 + part) / 1_000
}

#[cfg(test)]
mod tests {
    use super::jittered;
    use std::collections::BTreeSet;
    use std::time::Duration;

    #[test]
    fn a_pause_is_a_tenth_more_or_less_and_not_always_the_same() {
        let pauses: BTreeSet<_> = (0..100).map(|_| jittered(Duration::from_secs(10))).collect();
        assert!(pauses.len() > 10, "{pauses:?}");
        assert!(pauses.first().unwrap() >= &Duration::from_secs(9), "{pauses:?}");
        assert!(pauses.last().unwrap() <= &Duration::from_secs(11), "{pauses:?}");
    }
}
