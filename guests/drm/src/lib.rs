//! What GPUs of the kernel's DRM have in common: whether a driver has made its devices, and what driver and log say of those that
//! were reset or are wedged.
//!
//! A driver announces a wedged device by a uevent of its card, with the ways out in words (`WEDGED=rebind,bus-reset`; see "Device
//! Wedging" in the kernel's `Documentation/gpu/drm-uapi.rst`). It stays wedged until one of them is taken, and each binds the driver
//! anew, which makes another card, of which nothing was announced yet. `none` says that it has recovered by itself. A host that is
//! restarted has forgotten events; the log it reads from the start.
//!
//! Whatever the driver, DRM writes `device wedged, needs recovery` where it announces a wedged device (`drm_dev_wedged_event` in
//! `drm_drv.c`), and `Initialized DRIVER … for 0000:03:00.0 on minor 1` where a driver has made one (`drm_dev_register`). amdgpu writes
//! `GPU reset(2) failed` or `GPU reset(2) succeeded!` besides, and at the end of one that failed `GPU reset end with ret = -22`. Since Linux 6.16
//! that is all that it writes where the hardware could not be reset (`amdgpu_device_gpu_recover`). `GPU reset succeeded, trying to resume`
//! is only half of a reset.
//!
//! The policy's patterns capture the GPU's PCI address and a word, in any order: `failed`, `end with ret`, `succeeded`,
//! `needs recovery`, `Initialized`. All
//! that the host still holds is gone through each time, so that nothing has to be remembered.
#![forbid(unsafe_code)]

use devgate_sdk::kernel_log::{self, Event};
use devgate_sdk::{Device, Error, Presence, uevents};
use std::collections::BTreeMap;

/// The most events that are asked for; the host holds no more than 1,024.
const MAX_EVENTS: u32 = 4_096;

/// What is wrong with GPUs by what the log said last of each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Resets {
    broken: BTreeMap<String, (&'static str, u64)>,
}

impl Resets {
    /// As the log has it now; nothing where this host cannot read it.
    #[must_use]
    pub fn now() -> Self {
        let batch = kernel_log::since("", MAX_EVENTS);
        batch.map(|batch| Self::of(&batch.events)).unwrap_or_default()
    }

    /// From what was captured, oldest first.
    fn of(events: &[Event]) -> Self {
        let mut resets = Self::default();
        for event in events {
            let captures = || event.captures.iter().map(String::as_str);
            let Some(address) = captures().find(|text| text.contains(':')) else {
                continue;
            };
            let said = match captures().find(|text| !text.contains(':')) {
                Some("failed" | "end with ret") => "its reset failed",
                Some("needs recovery") => "it is wedged and has to be recovered",
                // Good again, and whatever else a pattern of the admin's captures says nothing against it.
                Some("succeeded" | "Initialized") => {
                    resets.broken.remove(address);
                    continue;
                }
                _ => continue,
            };
            resets.broken.insert(address.to_owned(), (said, event.time));
        }
        resets
    }

    /// What is wrong with the GPU at an address, for people.
    #[must_use]
    pub fn problem(&self, address: &str) -> Option<String> {
        let (said, time) = self.broken.get(address)?;
        let second = time / 1_000_000;
        Some(format!("{said}, {second} s after boot; until its driver is loaded again"))
    }
}

/// What the driver of a PCI function has announced of its GPU, if that is wedged, for people.
///
/// # Errors
/// When what lies beneath the device cannot be listed.
pub fn wedged(function: &Device) -> Result<Option<String>, Error> {
    let mut last: Option<(u64, String)> = None;
    // A connector is a DRM device, too, and beneath a card: `card0-DP-1`.
    let is_card = |device: &Device| device.name().strip_prefix("card").is_some_and(|rest| !rest.contains('-'));
    for card in function.children("drm")?.iter().filter(|device| is_card(device)) {
        // On a host that hears of no events, the log is left.
        for event in uevents::recent(card).unwrap_or_default() {
            let said = event.words.into_iter().find(|word| word.name == "WEDGED");
            if let Some(word) = said.filter(|_| last.as_ref().is_none_or(|(time, _)| *time <= event.time)) {
                last = Some((event.time, word.value));
            }
        }
    }
    Ok(last.filter(|(_, how)| how != "none").map(|(time, how)| {
        let second = time / 1_000;
        format!("it is wedged, {second} s after boot (WEDGED={how}); until its driver is loaded again")
    }))
}

/// Whether a driver has made a DRM device for what it drives, whatever of it is granted. The link to the driver is there before its
/// probe ends, and some drivers stay bound to what they cannot start.
///
/// # Errors
/// When what lies beneath the device cannot be listed.
pub fn is_made(device: &Device) -> Result<bool, Error> {
    let names = device.entries("drm").if_present()?.unwrap_or_default();
    Ok(names.iter().any(|name| ["card", "renderD"].iter().any(|kind| name.starts_with(kind))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(lines: &[&[&str]]) -> Vec<Event> {
        let event = |(n, captures): (usize, &&[&str])| Event {
            pattern: 0,
            captures: captures.iter().map(|text| (*text).to_owned()).collect(),
            time: 1_000_000 * (n as u64 + 1),
        };
        lines.iter().enumerate().map(event).collect()
    }

    const GPU: &str = "0000:05:00.0";

    #[test]
    fn a_failed_reset_counts_until_something_better_is_said() {
        for bad in ["failed", "end with ret"] {
            let resets = Resets::of(&events(&[&[GPU, "succeeded"], &[GPU, bad]]));
            let problem = "its reset failed, 2 s after boot; until its driver is loaded again";
            assert_eq!(resets.problem(GPU).as_deref(), Some(problem), "{bad}");
            assert_eq!(resets.problem("0000:06:00.0"), None);
        }
        for good in [&[GPU, "succeeded"][..], &["Initialized", GPU]] {
            let healed = events(&[&[GPU, "failed"], good]);
            assert_eq!(Resets::of(&healed), Resets::default());
        }
    }

    #[test]
    fn a_wedged_gpu_is_broken() {
        let resets = Resets::of(&events(&[&[GPU, "needs recovery"]]));
        assert!(resets.problem(GPU).unwrap().starts_with("it is wedged"));
    }

    #[test]
    fn other_captures_say_nothing() {
        for captures in [&[GPU][..], &["failed"], &[], &[GPU, "a tenant's word"]] {
            assert_eq!(Resets::of(&events(&[captures])), Resets::default(), "{captures:?}");
        }
    }
}
