//! Devices whose calls keep failing: not given to any pod for a while, then tried again, with growing pauses.
//!
//! The kubelet takes a device for good as long as it is called healthy, and sends it one pod after the other, each of which fails for
//! good. Several failed calls in a row are evidence against the device, or against the whole component where they were about
//! several devices; one that succeeds is evidence for it.

use devgate_types::{Mutex, UnitId};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls in a row that must fail.
const STRIKES: u32 = 3;
/// The first and the longest pause of a whole component.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// A device's own pauses are longer by this factor, so that what has not failed yet is tried first.
const OWN: u32 = 2;

/// What is held against one plugin and its units.
#[derive(Default)]
pub(crate) struct Breaker(Mutex<Record>);

#[derive(Default)]
struct Record {
    units: HashMap<UnitId, Strikes>,
    /// Calls since the last one that succeeded, whatever they were about.
    all: Strikes,
    /// What these were about.
    failed: BTreeSet<UnitId>,
}

#[derive(Default)]
struct Strikes {
    count: u32,
    /// Pauses so far.
    pauses: u32,
    /// The pause that is on or was last, and why.
    pause: Option<(Instant, Arc<str>)>,
}

impl Strikes {
    /// Why it is not given now, if so.
    fn why(&self, now: Instant) -> Option<&Arc<str>> {
        let (until, why) = self.pause.as_ref()?;
        (now < *until).then_some(why)
    }

    /// Begins a pause, unless one is on: what fails then was begun before it.
    fn rest(&mut self, times: u32, reason: &str, now: Instant) -> bool {
        if self.why(now).is_some() {
            return false;
        }
        let pause = FIRST.saturating_mul(1_u32.checked_shl(self.pauses).unwrap_or(u32::MAX));
        let pause = pause.min(LONGEST).saturating_mul(times);
        let seconds = pause.as_secs();
        let why = format!("{reason}; calls keep failing, so it is given again after {seconds}s, to be tried");
        self.pauses = self.pauses.saturating_add(1);
        self.pause = Some((now + pause, why.into()));
        true
    }

    /// Whether one more failure is enough: after a pause, any is.
    fn is_out(&self) -> bool {
        self.pauses > 0 || self.count >= STRIKES
    }
}

impl Breaker {
    /// A call about these broke. Whether something is not given any more because of it.
    pub(crate) fn failed<'a>(&self, ids: impl IntoIterator<Item = &'a UnitId>, reason: &str, now: Instant) -> bool {
        let mut record = self.0.lock();
        let Record { units, all, failed } = &mut *record;
        let mut paused = false;
        for id in ids {
            let unit = units.entry(id.clone()).or_default();
            unit.count = unit.count.saturating_add(1);
            if unit.is_out() {
                paused |= unit.rest(OWN, reason, now);
            }
            failed.insert(id.clone());
        }
        all.count = all.count.saturating_add(1);
        // About one device alone they say nothing of the others.
        if failed.len() > 1 && all.is_out() && all.rest(1, reason, now) {
            paused = true;
            for id in failed.iter() {
                units.entry(id.clone()).or_default().rest(OWN, reason, now);
            }
        }
        paused
    }

    /// A call about these succeeded.
    pub(crate) fn succeeded<'a>(&self, ids: impl IntoIterator<Item = &'a UnitId>) {
        let mut record = self.0.lock();
        for id in ids {
            record.units.remove(id);
        }
        record.all = Strikes::default();
        record.failed.clear();
    }

    /// Everything is another one now: nothing is held against it.
    pub(crate) fn forgive(&self) {
        *self.0.lock() = Record::default();
    }

    /// What there is not any more is forgotten.
    pub(crate) fn retain(&self, is_there: impl Fn(&UnitId) -> bool) {
        let mut record = self.0.lock();
        record.units.retain(|id, _| is_there(id));
        record.failed.retain(is_there);
    }

    /// Which of these units are not given now, and why.
    pub(crate) fn problems<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a UnitId>,
        now: Instant,
    ) -> HashMap<UnitId, Arc<str>> {
        let record = self.0.lock();
        let all = record.all.why(now);
        // As a rule nothing failed, and there are many units.
        if record.units.is_empty() && all.is_none() {
            return HashMap::new();
        }
        let why = |id: &UnitId| record.units.get(id).and_then(|unit| unit.why(now)).or(all).cloned();
        ids.into_iter().filter_map(|id| Some((id.clone(), why(id)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<UnitId> {
        names.iter().map(|name| UnitId::try_new(name).unwrap()).collect()
    }

    fn is_given(breaker: &Breaker, name: &str, now: Instant) -> bool {
        breaker.problems(&ids(&[name]), now).is_empty()
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_device_rests_after_three_failures_in_a_row_and_longer_after_each_that_follows() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        let a = ids(&["a"]);
        let fail = |now| breaker.failed(&a, "plugin p: allocate trapped: x", now);
        assert!(!fail(start) && !fail(start));
        breaker.succeeded(&a);
        assert!(!fail(start) && !fail(start), "not in a row");
        assert!(fail(start));
        assert!(!is_given(&breaker, "a", start));
        assert!(is_given(&breaker, "b", start), "it says nothing of the others");
        assert!(!fail(start), "it was begun before");
        let mut now = start;
        for pause in [2, 4, 8, 16, 32, 64, 120, 120] {
            assert!(!is_given(&breaker, "a", now + SECOND * pause - Duration::from_millis(1)));
            now += SECOND * pause;
            assert!(is_given(&breaker, "a", now));
            assert!(fail(now), "one failure is enough now");
        }
        breaker.succeeded(&a);
        assert!(is_given(&breaker, "a", now));
        assert!(!fail(now), "all is forgotten");
    }

    #[test]
    fn a_component_that_fails_for_several_devices_rests_as_a_whole() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for (n, name) in ["a", "b", "c"].into_iter().enumerate() {
            assert_eq!(breaker.failed(&ids(&[name]), "x", now), n == 2, "{name}");
        }
        assert!(["a", "b", "c", "d"].iter().all(|name| !is_given(&breaker, name, now)));
        // What has not failed is tried before what has.
        let later = now + SECOND;
        assert!(is_given(&breaker, "d", later) && !is_given(&breaker, "a", later));
        assert!(breaker.failed(&ids(&["d"]), "x", later));
        assert!(!is_given(&breaker, "e", later + SECOND) && is_given(&breaker, "e", later + SECOND * 2));
        breaker.succeeded(&ids(&["e"]));
        assert!(is_given(&breaker, "f", later));
        assert!(!is_given(&breaker, "d", later), "it has to show it itself");
        breaker.forgive();
        assert!(is_given(&breaker, "d", later));
    }

    #[test]
    fn what_is_not_there_any_more_is_forgotten() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..3 {
            breaker.failed(&ids(&["a"]), "x", now);
        }
        breaker.retain(|_| false);
        assert!(is_given(&breaker, "a", now));
        assert!(breaker.0.lock().failed.is_empty());
    }

    #[test]
    fn it_is_said_why_and_for_how_long() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..3 {
            breaker.failed(&ids(&["a"]), "plugin p: allocate trapped: x", now);
        }
        let problems = breaker.problems(&ids(&["a"]), now);
        insta::assert_snapshot!(problems.values().next().unwrap(), @"plugin p: allocate trapped: x; calls keep failing, so it is given again after 2s, to be tried");
    }
}
