//! Devices that come and go, in lists: a device that flaps is shown healthy twice a minute in the end, which costs four lists.

use std::sync::Arc;
use std::time::Duration;

use devgate_core::offer::{Device, DeviceList};
use tokio::time::Instant;

/// What is known of devices that were not healthy lately.
pub(super) struct Flaps {
    flaps: devgate_kubelet::flaps::Flaps,
    /// What was shown last.
    shown: Arc<DeviceList>,
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
        Self { flaps: devgate_kubelet::flaps::Flaps::new(pause), shown: Arc::default() }
    }

    /// What is shown of a list at `now`.
    pub(super) fn show(&mut self, list: &Arc<DeviceList>, now: Instant) -> Shown {
        let is_healthy = |id: &str| {
            let found = list.devices.binary_search_by(|device| device.id.as_str().cmp(id));
            let found = found.ok().and_then(|n| list.devices.get(n));
            found.is_some_and(|device| device.unhealthy.is_none())
        };
        let shown = self.shown.devices.iter().filter(|device| device.unhealthy.is_none());
        self.flaps.note(is_healthy, shown.map(|device| device.id.as_str()), now);
        let hidden = list.devices.iter();
        let hidden = hidden.filter_map(|device| Some((device.id.clone(), self.flaps.hidden(&device.id, now)?.1)));
        let hidden: Vec<_> = hidden.collect();
        let until = hidden.iter().map(|(_, until)| *until).min();
        let shown = if until.is_some() {
            let show = |device: &Device| match self.flaps.hidden(&device.id, now) {
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
}

#[cfg(test)]
mod tests;
