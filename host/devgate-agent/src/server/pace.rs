//! How fast the API server may be asked.

use devgate_types::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// One request each 200 ms, and ten at once after a rest.
const EACH: Duration = Duration::from_millis(200);
const BURST: u32 = 10;

/// Turns to ask, for all that ask about slices.
#[derive(Clone)]
pub(crate) struct Pace(Arc<Mutex<Turns>>);

struct Turns {
    /// When all turns that were taken have been earned.
    paid: Instant,
    /// No turn is given before.
    pause: Instant,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Turns { paid: Instant::now(), pause: Instant::now() })))
    }

    /// Takes a turn, or says when there is one.
    pub(crate) fn turn(&self) -> Result<(), Instant> {
        let (mut turns, now) = (self.0.lock(), Instant::now());
        if now < turns.pause {
            return Err(turns.pause);
        }
        let paid = turns.paid.max(now) + EACH;
        let earliest = paid.checked_sub(EACH * BURST).unwrap_or(now);
        if now < earliest {
            return Err(earliest);
        }
        turns.paid = paid;
        Ok(())
    }

    /// Waits for a turn.
    pub(crate) async fn wait(&self) {
        while let Err(until) = self.turn() {
            sleep_until(until).await;
        }
    }

    /// Gives no turn for so long: the API server said so.
    pub(crate) fn pause(&self, length: Duration) {
        let mut turns = self.0.lock();
        turns.pause = turns.pause.max(Instant::now() + length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_at_once_and_then_five_in_a_second() {
        let (start, pace) = (Instant::now(), Pace::new());
        assert!((0..10).all(|_| pace.turn().is_ok()));
        let until = pace.turn().unwrap_err() - start;
        assert!((EACH..EACH * 2).contains(&until), "{until:?}");
        let rest = EACH * 3;
        {
            let mut turns = pace.0.lock();
            turns.paid -= rest;
        }
        assert_eq!((0..10).take_while(|_| pace.turn().is_ok()).count(), 3);
        pace.pause(Duration::from_secs(7));
        pace.pause(Duration::from_secs(3));
        let until = pace.turn().unwrap_err() - Instant::now();
        assert!(until > Duration::from_secs(6), "{until:?}");
    }
}
