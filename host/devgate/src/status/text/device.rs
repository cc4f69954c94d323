//! One device's line.

use super::short;
use crate::output::BAD;
use devgate_core::status::{ConditionStatus, DeviceStatus, Settling, When};
use devgate_types::Effect;
use std::fmt::Write as _;

/// Whether something is to be said of it although no one has it.
pub(super) fn is_odd(device: &DeviceStatus) -> bool {
    device.unhealthy.is_some() || device.settling.is_some() || !device.conditions.is_empty()
}

/// Its id, how it is, and who has it.
pub(super) fn row(device: &DeviceStatus, now: When) -> [String; 2] {
    let since = device.since.map(|since| format!(" for {}", short(since.ago(now))));
    let since = since.unwrap_or_default();
    let mut says = match &device.unhealthy {
        Some(why) => format!("{BAD}UNHEALTHY{BAD:#}{since}: {why}"),
        None => format!("healthy{since}"),
    };
    match device.settling {
        Some(Settling::Suspect) => says += ", but found unhealthy a moment ago (health.unhealthy-after)",
        Some(Settling::Recovering) => says += "; found healthy again, for not long enough yet (health.healthy-after)",
        None => {}
    }
    for ConditionStatus { key, effect, message } in &device.conditions {
        let effect = if effect == Effect::Inform.as_str() { String::new() } else { format!(" ({effect})") };
        let _ = write!(says, "; {key}{effect}: {message}");
    }
    let holders = device.held_by();
    if !holders.is_empty() {
        let _ = write!(says, "; held by {}", holders.join(", "));
    } else if device.held {
        says += "; handed out";
    }
    [device.id.clone(), says]
}
