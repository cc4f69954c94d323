//! When a plugin does what it is asked for: the first time at once, then only so often.

use crate::watcher::Asked;
use std::time::{Duration, Instant};

/// A storm of events takes at most one part in this of a plugin's time.
const SHARE: u32 = 10;

/// What is asked for and not done yet.
#[derive(Debug)]
pub(super) struct Debounce {
    pub(super) hardware: Slot,
    health: Slot,
    pub(super) units: Slot,
}

#[derive(Debug)]
pub(super) struct Slot {
    /// The least time between two.
    least: Duration,
    /// When it was done last, with what it cost, at the earliest again.
    not_before: Option<Instant>,
    due: Option<Instant>,
}

impl Default for Debounce {
    /// Looks at the hardware alone, those that ask for health, and enumerations, where events ask for them. A list goes to the kubelet
    /// every 500 ms at most.
    fn default() -> Self {
        let every = |least| Slot { least: Duration::from_millis(least), not_before: None, due: None };
        Self { hardware: every(50), health: every(100), units: every(500) }
    }
}

impl Debounce {
    /// Notes what is asked for.
    pub(super) fn ask(&mut self, asked: Asked, now: Instant) {
        for (what, turn) in
            [(Asked::HARDWARE, &mut self.hardware), (Asked::HEALTH, &mut self.health), (Asked::UNITS, &mut self.units)]
        {
            if asked.has(what) {
                let earliest = turn.not_before.map_or(now, |earliest| earliest.max(now));
                turn.due.get_or_insert(earliest);
            }
        }
    }

    /// When the next of it is due, if anything is asked for.
    pub(super) fn due(&self) -> Option<Instant> {
        let turns = [&self.hardware, &self.health, &self.units];
        turns.into_iter().filter_map(|turn| turn.due).min()
    }

    /// Notes that units' health has been asked for, which looks at the hardware as well. What the component took for it is
    /// not what a look costs: a slow one must not make the host see later what is gone.
    pub(super) fn did_health(&mut self, began: Instant, now: Instant) {
        self.health.did(began, now);
        self.hardware.did(now, now);
    }
}

impl Slot {
    /// Whether it is time for it; it is begun then.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }

    /// Notes that it has been done.
    pub(super) fn did(&mut self, began: Instant, now: Instant) {
        let cost = now.duration_since(began);
        self.not_before = Some(now + self.least.max(cost.saturating_mul(SHARE)));
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn the_first_is_at_once_and_a_storm_is_bounded() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        assert_eq!(debounce.due(), None);
        let (mut looks, mut lists) = (Vec::new(), Vec::new());
        // An event every millisecond for two seconds; a look takes no time, an enumeration 20 ms.
        for n in 0..2_000 {
            let now = start + ms(n);
            debounce.ask(Asked::HARDWARE | Asked::UNITS, now);
            if debounce.hardware.begin(now) {
                looks.push(n);
                debounce.hardware.did(now, now);
            }
            if debounce.units.begin(now) {
                lists.push(n);
                debounce.units.did(now, now + ms(20));
            }
        }
        assert_eq!(looks[..3], [0, 50, 100]);
        assert_eq!(lists, [0, 520, 1_040, 1_560]);
    }

    #[test]
    fn what_costs_more_is_done_less_often() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        debounce.units.did(start, start + ms(200));
        debounce.ask(Asked::UNITS, start + ms(300));
        assert_eq!(debounce.due(), Some(start + ms(2_200)));
        assert!(!debounce.units.begin(start + ms(2_199)));
        assert!(debounce.units.begin(start + ms(2_200)));
        assert!(!debounce.units.begin(start + ms(9_000)), "it was asked for once");
    }

    #[test]
    fn a_look_that_asks_for_health_is_one_at_the_hardware() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        debounce.ask(Asked::HARDWARE | Asked::HEALTH, start);
        debounce.did_health(start, start);
        assert_eq!(debounce.due(), None);
        debounce.ask(Asked::HEALTH, start);
        assert_eq!(debounce.due(), Some(start + ms(100)));
    }

    #[test]
    fn a_component_that_takes_long_does_not_put_off_looks_at_the_hardware() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        debounce.did_health(start, start + ms(2_000));
        debounce.ask(Asked::HARDWARE, start + ms(2_001));
        assert_eq!(debounce.due(), Some(start + ms(2_050)));
        debounce.did_health(start, start + ms(2_000));
        debounce.ask(Asked::HEALTH, start + ms(2_001));
        assert_eq!(debounce.due(), Some(start + ms(22_000)), "asking it again is");
    }
}
