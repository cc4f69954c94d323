//! Pauses between attempts of what keeps failing.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use std::time::Duration;

/// Pauses without an end, each about twice as long as the one before. Those who failed together do not try again together.
pub struct Backoff {
    pauses: ExponentialBackoff,
    longest: Duration,
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
