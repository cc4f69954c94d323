//! Devices that come and go: shown unhealthy for longer and longer, so that a list goes out ever less often.
//!
//! Only good news waits. What is not healthy, or not there, is shown so in the next list; what is healthy again has to stay so
//! for some time before that is believed: not at all the first time, then for twice as long each time, up to 30 s. Whatever it
//! does meanwhile, it is shown healthy again 30 s after it stopped being shown so, or as soon after that as it is: what fails for
//! a moment every few seconds is of use in between. So a device that flaps is shown healthy twice a minute in the end, which
//! costs four lists, and no list ever says of a dead device that it is healthy.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use devgate_core::offer::{Device, DeviceList};
use tokio::time::Instant;

/// The first wait that is one, in pauses between two lists; each one after it is twice as long.
const FIRST_WAIT: u32 = 2;
/// The longest wait in pauses between two lists: with 500 ms, 30 s.
const LONGEST_WAIT: u32 = 60;
/// How long a device must be the same for its past to be forgotten, likewise: one minute. More than the longest wait.
const CALM: u32 = 120;

/// What is known of devices that were not healthy lately.
pub(super) struct Flaps {
    pause: Duration,
    /// By id; nothing of those that are just healthy, or have not been for long.
    known: HashMap<String, Flap>,
    /// What was shown last.
    shown: Arc<DeviceList>,
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

/// A list to show.
pub(super) struct Shown {
    pub(super) list: Arc<DeviceList>,
    /// When there will be another one although nothing changes.
    pub(super) until: Option<Instant>,
    /// The ids that are healthy and not shown so, each with when it will be.
    pub(super) hidden: Vec<(String, Instant)>,
}

impl Flaps {
    /// Nothing is known yet. `pause` is the least time between two lists.
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, known: HashMap::new(), shown: Arc::default() }
    }

    /// What is shown of a list at `now`.
    pub(super) fn show(&mut self, list: &Arc<DeviceList>, now: Instant) -> Shown {
        self.note(list, now);
        let longest = self.pause.saturating_mul(LONGEST_WAIT);
        let held = |device: &Device| {
            let flap = self.known.get(&device.id).filter(|flap| flap.healthy)?;
            let until = (flap.since + flap.wait).min(flap.hidden + longest);
            (now < until).then_some((flap.wait, until))
        };
        let hidden = list.devices.iter().filter_map(|device| Some((device.id.clone(), held(device)?.1)));
        let hidden: Vec<_> = hidden.collect();
        let until = hidden.iter().map(|(_, until)| *until).min();
        let shown = if until.is_some() {
            let show = |device: &Device| match held(device) {
                Some((wait, _)) => Device {
                    unhealthy: Some(format!("comes and goes; healthy once it stays so for {wait:?}").into()),
                    ..device.clone()
                },
                None => device.clone(),
            };
            Arc::new(DeviceList { devices: list.devices.iter().map(show).collect() })
        } else {
            Arc::clone(list)
        };
        self.shown = Arc::clone(&shown);
        Shown { list: shown, until, hidden }
    }

    /// Notes what has changed since the list that was shown last.
    fn note(&mut self, list: &DeviceList, now: Instant) {
        let calm = self.pause.saturating_mul(CALM);
        self.known.retain(|_, flap| now.duration_since(flap.since) < calm);
        let is_healthy = |id: &str| {
            let found = list.devices.binary_search_by(|device| device.id.as_str().cmp(id));
            let found = found.ok().and_then(|n| list.devices.get(n));
            found.is_some_and(|device| device.unhealthy.is_none())
        };
        for (id, flap) in &mut self.known {
            let healthy = is_healthy(id);
            if healthy != flap.healthy {
                (flap.healthy, flap.since) = (healthy, now);
            }
        }
        let was_shown = self.shown.devices.iter().filter(|device| device.unhealthy.is_none());
        for lost in was_shown.filter(|device| !is_healthy(&device.id)) {
            let first = self.pause.saturating_mul(FIRST_WAIT);
            let longest = self.pause.saturating_mul(LONGEST_WAIT);
            let flap = Flap { wait: Duration::ZERO, healthy: false, since: now, hidden: now };
            self.known
                .entry(lost.id.clone())
                .and_modify(|flap| {
                    flap.wait = (flap.wait * 2).clamp(first, longest);
                    flap.hidden = now;
                })
                .or_insert(flap);
        }
    }
}

#[cfg(test)]
mod tests;
