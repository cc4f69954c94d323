//! Devices that come and go: shown unhealthy for longer and longer, so that a list goes out ever less often.
//!
//! Only good news waits. What is not healthy, or not there, is shown so in the next list; what is healthy again has to stay so
//! for some time before that is believed: not at all the first time, then for twice as long each time, up to 60 pauses between two
//! lists. Whatever it does meanwhile, it is shown healthy again so long after it stopped being shown so, or as soon after that as it is:
//! what fails for a moment every few seconds is of use in between. So a device that flaps is shown healthy only so often in the end,
//! and no list ever says of a dead device that it is healthy.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// The first wait that is one, in pauses between two lists; each one after it is twice as long.
const FIRST_WAIT: u32 = 2;
/// The longest wait in pauses between two lists: with 500 ms, 30 s.
const LONGEST_WAIT: u32 = 60;
/// How long a device must be the same for its past to be forgotten, likewise: one minute. More than the longest wait.
const CALM: u32 = 120;

/// What is known of devices that were not healthy lately.
pub struct Flaps {
    pause: Duration,
    /// By id; nothing of those that are just healthy, or have not been for long.
    known: HashMap<String, Flap>,
}

struct Flap {
    /// How long it must be healthy before it is shown so.
    wait: Duration,
    healthy: bool,
    /// When it became healthy, or stopped being it.
    since: Instant,
    /// When it stopped being shown healthy the last time.
    hidden: Instant,
}

impl Flaps {
    /// Nothing is known yet. `pause` is the least time between two lists.
    #[must_use]
    pub fn new(pause: Duration) -> Self {
        Self { pause, known: HashMap::new() }
    }

    /// Of how many devices something is known.
    #[must_use]
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// How long a device has to stay healthy, and until when it is not shown so at the latest; nothing where it is shown as it is.
    #[must_use]
    pub fn hidden(&self, id: &str, now: Instant) -> Option<(Duration, Instant)> {
        let longest = self.pause.saturating_mul(LONGEST_WAIT);
        let flap = self.known.get(id).filter(|flap| flap.healthy)?;
        let until = (flap.since + flap.wait).min(flap.hidden + longest);
        (now < until).then_some((flap.wait, until))
    }

    /// Notes what has changed since the list that was shown last, in which these were healthy.
    pub fn note<'a>(
        &mut self,
        is_healthy: impl Fn(&str) -> bool,
        shown_healthy: impl Iterator<Item = &'a str>,
        now: Instant,
    ) {
        let calm = self.pause.saturating_mul(CALM);
        self.known.retain(|_, flap| now.duration_since(flap.since) < calm);
        for (id, flap) in &mut self.known {
            let healthy = is_healthy(id);
            if healthy != flap.healthy {
                (flap.healthy, flap.since) = (healthy, now);
            }
        }
        for lost in shown_healthy.filter(|id| !is_healthy(id)) {
            let first = self.pause.saturating_mul(FIRST_WAIT);
            let longest = self.pause.saturating_mul(LONGEST_WAIT);
            let flap = Flap { wait: Duration::ZERO, healthy: false, since: now, hidden: now };
            self.known
                .entry(lost.to_owned())
                .and_modify(|flap| {
                    flap.wait = (flap.wait * 2).clamp(first, longest);
                    flap.hidden = now;
                })
                .or_insert(flap);
        }
    }
}
