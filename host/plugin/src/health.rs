//! One unit's health over time: what the component says, held for as long as the policy asks before it counts.

use devgate_model::{GuestText, Verdict};
use devgate_policy::Health;
use std::sync::Arc;
use std::time::Instant;

/// What is known about one unit.
#[derive(Debug, Clone)]
pub(crate) struct UnitHealth {
    state: State,
    /// A change that has not lasted long enough yet, and since when it is seen.
    pending: Option<(State, Instant)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Healthy,
    Unhealthy(Arc<str>),
}

impl UnitHealth {
    /// The state after a first verdict. Nobody hands out what nobody has found healthy.
    pub(crate) fn first(verdict: &Verdict) -> Self {
        let state = match verdict {
            Verdict::Healthy => State::Healthy,
            Verdict::Unhealthy(reason) => State::unhealthy(reason),
            Verdict::Unknown(reason) => State::unhealthy(&format!("not found healthy yet: {reason}")),
        };
        Self { state, pending: None }
    }

    /// The state after another verdict. `unknown` changes nothing.
    pub(crate) fn update(&mut self, verdict: &Verdict, policy: &Health, now: Instant) {
        let new = match verdict {
            Verdict::Healthy => State::Healthy,
            Verdict::Unhealthy(reason) => State::unhealthy(reason),
            Verdict::Unknown(_) => {
                // What was seen before was not seen to last.
                self.pending = None;
                return;
            }
        };
        if std::mem::discriminant(&new) == std::mem::discriminant(&self.state) {
            // The same state; only the reason may be another.
            self.state = new;
            self.pending = None;
            return;
        }
        let since = match &self.pending {
            Some((_, since)) => *since,
            None => now,
        };
        let needed = if new == State::Healthy {
            policy.healthy_after
        } else {
            policy.unhealthy_after
        };
        if now.duration_since(since) >= needed {
            self.state = new;
            self.pending = None;
        } else {
            self.pending = Some((new, since));
        }
    }

    /// Why it may not be handed out, if so; escaped.
    pub(crate) fn unhealthy(&self) -> Option<Arc<str>> {
        match &self.state {
            State::Healthy => None,
            State::Unhealthy(reason) => Some(Arc::clone(reason)),
        }
    }
}

impl State {
    fn unhealthy(reason: &str) -> Self {
        let reason = if reason.is_empty() { "no reason given" } else { reason };
        Self::Unhealthy(GuestText::new(reason).as_str().into())
    }
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

    fn bad() -> Verdict {
        Verdict::Unhealthy("too\nhot".into())
    }

    #[test]
    fn a_change_counts_at_once_unless_the_policy_asks_for_more() {
        let now = Instant::now();
        let mut health = UnitHealth::first(&Verdict::Healthy);
        health.update(&bad(), &policy(0, 0), now);
        assert_eq!(health.unhealthy().as_deref(), Some("too\\nhot"));
        health.update(&Verdict::Healthy, &policy(0, 0), now);
        assert_eq!(health.unhealthy(), None);
    }

    #[test]
    fn a_change_must_last_as_long_as_the_policy_says() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut health = UnitHealth::first(&Verdict::Healthy);
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
        let mut health = UnitHealth::first(&Verdict::Healthy);
        health.update(&unknown, &policy(0, 0), now);
        assert_eq!(health.unhealthy(), None);
        let mut health = UnitHealth::first(&unknown);
        assert_eq!(health.unhealthy().as_deref(), Some("not found healthy yet: no answer"));
        health.update(&unknown, &policy(0, 0), now);
        assert!(health.unhealthy().is_some());
        health.update(&Verdict::Healthy, &policy(0, 0), now);
        assert_eq!(health.unhealthy(), None);
    }
}
