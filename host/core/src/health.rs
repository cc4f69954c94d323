//! One unit's health over time: what the component says, held for as long as the policy asks before it counts.

use crate::health_store::UnhealthyUnit;
use crate::when::When;
use devgate_policy::Health;
use devgate_types::{GuestText, Verdict};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;

/// What a device is on its way to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Settling {
    /// It may still be given; something is found wrong with it.
    Suspect,
    /// It may not be given yet; it is found healthy again.
    Recovering,
}

/// What is known about one unit.
#[derive(Debug, Clone)]
pub(crate) struct UnitHealth {
    /// Why it counts as unhealthy, escaped, and since when; nothing where it is healthy.
    unhealthy: Option<(Arc<str>, When)>,
    /// Since when it is seen to be otherwise, where that has not lasted long enough yet.
    turning: Option<Instant>,
}

impl UnitHealth {
    /// The state after a first verdict. What has not been found healthy is not handed out; and what was unhealthy when it was seen
    /// last, by this host or before it was restarted, recovers as if it had been seen all the time.
    pub(crate) fn first(verdict: &Verdict, known: Option<&UnhealthyUnit>, policy: &Health, now: Instant) -> Self {
        if let Some(known) = known {
            let mut health = Self { unhealthy: Some((known.reason.as_str().into(), known.since)), turning: None };
            health.update(verdict, policy, now);
            return health;
        }
        let unhealthy = match verdict {
            Verdict::Healthy => None,
            Verdict::Unhealthy(reason) => Some(since_now(reason)),
            Verdict::Unknown(reason) => Some(since_now(&format!("not found healthy yet: {reason}"))),
        };
        Self { unhealthy, turning: None }
    }

    /// The state after another verdict. `unknown` changes nothing.
    pub(crate) fn update(&mut self, verdict: &Verdict, policy: &Health, now: Instant) {
        let new = match verdict {
            Verdict::Healthy => None,
            Verdict::Unhealthy(reason) => Some(since_now(reason)),
            Verdict::Unknown(_) => {
                // That it is well was not seen to last. What was found wrong with it stands until it is found well.
                if self.unhealthy.is_some() {
                    self.turning = None;
                }
                return;
            }
        };
        if self.unhealthy.is_some() == new.is_some() {
            // The same state; only the reason may be another.
            if let (Some((reason, _)), Some((new, _))) = (&mut self.unhealthy, new) {
                *reason = new;
            }
            self.turning = None;
            return;
        }
        let since = *self.turning.get_or_insert(now);
        let needed = if new.is_none() { policy.healthy_after } else { policy.unhealthy_after };
        if now.duration_since(since) >= needed {
            (self.unhealthy, self.turning) = (new, None);
        }
    }

    /// Where it is on its way to, if it is between healthy and not.
    pub(crate) fn settling(&self) -> Option<Settling> {
        let settling = if self.unhealthy.is_some() { Settling::Recovering } else { Settling::Suspect };
        self.turning.map(|_| settling)
    }

    /// Why it counts as unhealthy, if it does, and since when.
    pub(crate) fn unhealthy_since(&self) -> Option<(&str, When)> {
        self.unhealthy.as_ref().map(|(reason, since)| (&**reason, *since))
    }

    /// Why it may not be handed out, if so; escaped.
    pub(crate) fn unhealthy(&self) -> Option<Arc<str>> {
        self.unhealthy.as_ref().map(|(reason, _)| Arc::clone(reason))
    }
}

fn since_now(reason: &str) -> (Arc<str>, When) {
    let reason = if reason.is_empty() { "no reason given" } else { reason };
    (GuestText::new(reason).as_str().into(), When::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn policy(unhealthy: u64, healthy: u64) -> Health {
        Health {
            unhealthy_after: Duration::from_secs(unhealthy),
            healthy_after: Duration::from_secs(healthy),
            ..Health::default()
        }
    }

    fn first(verdict: &Verdict) -> UnitHealth {
        UnitHealth::first(verdict, None, &Health::default(), Instant::now())
    }

    fn bad() -> Verdict {
        Verdict::Unhealthy("too\nhot".into())
    }

    #[test]
    fn a_change_counts_at_once_unless_the_policy_asks_for_more() {
        let now = Instant::now();
        let mut health = first(&Verdict::Healthy);
        health.update(&bad(), &policy(0, 0), now);
        assert_eq!(health.unhealthy().as_deref(), Some("too\\nhot"));
        health.update(&Verdict::Healthy, &policy(0, 0), now);
        assert_eq!(health.unhealthy(), None);
    }

    #[test]
    fn a_change_must_last_as_long_as_the_policy_says() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut health = first(&Verdict::Healthy);
        health.update(&bad(), &policy(2, 30), at(0));
        health.update(&bad(), &policy(2, 30), at(1));
        assert_eq!(health.unhealthy(), None);
        health.update(&Verdict::Healthy, &policy(2, 30), at(1));
        health.update(&bad(), &policy(2, 30), at(3));
        assert_eq!(health.unhealthy(), None, "a flap starts the time anew");
        health.update(&bad(), &policy(2, 30), at(5));
        assert!(health.unhealthy().is_some());
        health.update(&Verdict::Healthy, &policy(2, 30), at(6));
        health.update(&Verdict::Healthy, &policy(2, 30), at(35));
        assert!(health.unhealthy().is_some());
        health.update(&Verdict::Healthy, &policy(2, 30), at(36));
        assert_eq!(health.unhealthy(), None);
    }

    #[test]
    fn unknown_takes_nothing_away_and_gives_nothing() {
        let now = Instant::now();
        let unknown = Verdict::Unknown("no answer".into());
        let mut health = first(&Verdict::Healthy);
        health.update(&unknown, &policy(0, 0), now);
        assert_eq!(health.unhealthy(), None);
        let mut health = first(&unknown);
        assert_eq!(health.unhealthy().as_deref(), Some("not found healthy yet: no answer"));
        health.update(&unknown, &policy(0, 0), now);
        assert!(health.unhealthy().is_some());
        health.update(&Verdict::Healthy, &policy(0, 0), now);
        assert_eq!(health.unhealthy(), None);
    }

    #[test]
    fn what_was_unhealthy_before_recovers_only_as_long_as_the_policy_asks() {
        let now = Instant::now();
        let then = When(std::time::UNIX_EPOCH);
        let known = UnhealthyUnit { reason: "too hot".into(), since: then, boot: None };
        let after =
            |verdict: &Verdict, healthy: u64| UnitHealth::first(verdict, Some(&known), &policy(0, healthy), now);
        let reason = "too hot";
        let unknown = Verdict::Unknown("no answer".into());
        assert_eq!(after(&unknown, 0).unhealthy_since(), Some((reason, then)), "nothing was found out");
        let mut health = after(&Verdict::Healthy, 30);
        assert_eq!((health.settling(), health.unhealthy_since()), (Some(Settling::Recovering), Some((reason, then))));
        health.update(&Verdict::Healthy, &policy(0, 30), now + Duration::from_secs(30));
        assert_eq!((health.settling(), health.unhealthy_since()), (None, None));
        assert_eq!(after(&Verdict::Healthy, 0).unhealthy_since(), None, "found healthy is evidence");
        let worse = after(&bad(), 0);
        assert_eq!(worse.unhealthy().as_deref(), Some("too\\nhot"));
        assert_eq!(worse.unhealthy_since().map(|(_, since)| since), Some(then), "ill all the time");
    }

    #[test]
    fn what_has_not_lasted_is_suspect_or_recovering() {
        let now = Instant::now();
        let mut health = first(&Verdict::Healthy);
        assert_eq!(health.settling(), None);
        health.update(&bad(), &policy(2, 2), now);
        assert_eq!(health.settling(), Some(Settling::Suspect));
        health.update(&bad(), &policy(2, 2), now + Duration::from_secs(2));
        assert_eq!(health.settling(), None);
        health.update(&Verdict::Healthy, &policy(2, 2), now + Duration::from_secs(3));
        assert_eq!(health.settling(), Some(Settling::Recovering));
    }

    #[test]
    fn not_knowing_in_between_does_not_save_what_is_found_unhealthy() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let unknown = Verdict::Unknown("no answer".into());
        let mut health = first(&Verdict::Healthy);
        for second in 0..3 {
            let verdict = if second == 1 { unknown.clone() } else { bad() };
            health.update(&verdict, &policy(2, 2), at(second));
        }
        assert!(health.unhealthy().is_some());
        for (second, verdict) in [(3, Verdict::Healthy), (4, unknown), (5, Verdict::Healthy), (6, Verdict::Healthy)] {
            health.update(&verdict, &policy(2, 2), at(second));
            assert!(health.unhealthy().is_some(), "that it is well must be seen to last");
        }
    }
}
