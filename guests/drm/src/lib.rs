//! What the kernel's log says of GPUs that were reset or are wedged: the only place that tells of it to one who reads files.
//!
//! Whatever the driver, DRM writes `device wedged, needs recovery` where it announces a wedged device (`drm_dev_wedged_event` in
//! `drm_drv.c`), and `Initialized DRIVER … for 0000:03:00.0 on minor 1` where a driver has made one (`drm_dev_register`). amdgpu writes
//! `GPU reset(2) failed` or `GPU reset(2) succeeded!` besides (`amdgpu_device.c`).
//!
//! The policy's patterns capture the GPU's PCI address and a word, in any order: `failed`, `succeeded`, `needs recovery`, `Initialized`. All
//! that the host still holds is gone through each time, so that nothing has to be remembered.
#![forbid(unsafe_code)]

use devgate_sdk::kernel_log::{self, Event};
use std::collections::BTreeMap;

/// The most events that are asked for; the host holds no more than 1,024.
const MOST: u32 = 4_096;

/// What is wrong with GPUs by what the log said last of each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Resets {
    broken: BTreeMap<String, (&'static str, u64)>,
}

impl Resets {
    /// As the log has it now; nothing where this host cannot read it.
    #[must_use]
    pub fn now() -> Self {
        let batch = kernel_log::since("", MOST);
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
                Some("failed") => "its reset failed",
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
        Some(format!(
            "{said}, {second} s after boot; until its driver is loaded again"
        ))
    }
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
        let failed = events(&[&[GPU, "succeeded"], &[GPU, "failed"]]);
        let resets = Resets::of(&failed);
        let problem = "its reset failed, 2 s after boot; until its driver is loaded again";
        assert_eq!(resets.problem(GPU).as_deref(), Some(problem));
        assert_eq!(resets.problem("0000:06:00.0"), None);
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
