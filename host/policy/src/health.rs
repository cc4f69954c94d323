//! When a device's state counts as changed, and how often the host looks.

use crate::fields::Item;
use crate::key;
use std::time::Duration;

/// `health:` of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// How long a device must be found unhealthy before it is reported so. Default 0: at once.
    pub unhealthy_after: Duration,
    /// How long a device must be found healthy again before it is reported so. Default 0.
    pub healthy_after: Duration,
    /// How long the last good list stands while the component fails. Default 60 s.
    pub stale_after: Duration,
    /// How often `health` is called. Default 2 s.
    pub check_every: Duration,
    /// How often `enumerate` is called where no event asks for it earlier. Default 5 s.
    pub enumerate_every: Duration,
    /// Whether what was unhealthy when the node was booted anew counts as unhealthy no more, until it is found so again.
    pub new_boot_forgives: bool,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            unhealthy_after: Duration::ZERO,
            healthy_after: Duration::ZERO,
            stale_after: Duration::from_secs(60),
            check_every: Duration::from_secs(2),
            enumerate_every: Duration::from_secs(5),
            new_boot_forgives: false,
        }
    }
}

impl Health {
    pub(crate) fn read(item: &Item<'_>, plugin: &str) -> Self {
        let mut health = Self::default();
        let place = format!("health of {plugin}");
        let Some(fields) = item.open(&place, &key::HEALTH) else {
            return health;
        };
        fields.duration("unhealthy-after", &mut health.unhealthy_after);
        fields.duration("healthy-after", &mut health.healthy_after);
        fields.duration("stale-after", &mut health.stale_after);
        fields.duration("check-every", &mut health.check_every);
        fields.duration("enumerate-every", &mut health.enumerate_every);
        health.new_boot_forgives = fields.word("new-boot") == Some("forgives");
        health
    }
}
