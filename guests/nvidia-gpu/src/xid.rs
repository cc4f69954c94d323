//! What an Xid asks for: NVIDIA's catalogue as data, one action for each code, and the policy's word before it.
//!
//! After "Analyzing Xid Errors with the Xid Catalog" (docs.nvidia.com/deploy/xid-errors), column "immediate action". A code that
//! it calls unused is not here, and one that is not here takes no GPU away: it is said in the log, and `config.xid` can say more.

use std::collections::BTreeMap;

/// What has to be done after an Xid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing.
    Ignore,
    /// The program that used the GPU has to be started again; the GPU is fit for the next one.
    RestartApp,
    /// The GPU has to be reset: the driver loaded again does it, and so does a restart of the node.
    Reset,
    /// The node has to be restarted.
    Restart,
}

use Action::{Ignore, Reset, Restart, RestartApp};

/// The words that a policy uses for them.
pub(crate) const WORDS: [(&str, Action); 4] =
    [("ignore", Ignore), ("restart-app", RestartApp), ("reset", Reset), ("restart", Restart)];

impl Action {
    /// From the word that a policy uses.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let named = WORDS.iter().find(|(name, _)| *name == word);
        named.map(|(_, action)| *action)
    }
}

/// How bad an error of an NVLink of the fifth generation is, as its line says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Fatal,
    Nonfatal,
}

/// The codes whose action depends on how bad their line says that it is.
const GRADED: std::ops::RangeInclusive<u32> = 144..=150;
/// GPU has fallen off the bus: also said in lines without a code.
pub(crate) const FALLEN: u32 = 79;
/// GPU memory remapping event: rows are taken out of use with the next reset.
pub(crate) const REMAPPED: u32 = 63;
/// GPU recovery action changed: its line says what to do.
pub(crate) const RECOVERY: u32 = 154;

/// First code, last code, action, and in words what happened. Sorted.
const TABLE: &[(u32, u32, Action, &str)] = &[
    (8, 8, RestartApp, "GPU stopped processing"),
    (11, 11, RestartApp, "invalid or corrupted push buffer stream"),
    (13, 13, RestartApp, "graphics engine exception"),
    (14, 14, Ignore, "unused"),
    (25, 25, RestartApp, "invalid or illegal push buffer stream"),
    (31, 31, RestartApp, "GPU memory page fault"),
    (32, 32, RestartApp, "invalid or corrupted push buffer stream"),
    (37, 38, Ignore, "driver firmware error"),
    (39, 41, RestartApp, "copy engine exception"),
    (43, 43, Ignore, "GPU stopped processing"),
    (44, 44, Ignore, "graphics engine fault during context switch"),
    // Its workflow: the cause is another Xid, which counts by itself.
    (45, 45, Ignore, "preemptive cleanup after another error"),
    (46, 46, Reset, "GPU stopped processing"),
    // Its workflow ends in a reset whatever else is found.
    (48, 48, Reset, "double bit ECC error"),
    // "Check mechanicals": somebody has to plug it in, with the node off.
    (54, 54, Restart, "auxiliary power is not connected"),
    (60, 60, RestartApp, "video processor exception"),
    (62, 62, Reset, "internal micro-controller halt"),
    (63, 63, Ignore, "GPU memory remapping event"),
    (64, 64, Reset, "GPU memory remapping failure"),
    (66, 67, Ignore, "illegal access by driver"),
    (68, 68, RestartApp, "video decoder exception"),
    (69, 69, RestartApp, "graphics engine class error"),
    (70, 72, RestartApp, "copy engine exception"),
    // Its workflow: drain, reset, and replace what fails again.
    (74, 74, Reset, "NVLink error"),
    (75, 77, RestartApp, "copy engine exception"),
    (78, 78, Ignore, "vGPU start error"),
    (FALLEN, FALLEN, Restart, "GPU has fallen off the bus"),
    (80, 80, RestartApp, "corrupted data sent to GPU"),
    (82, 82, RestartApp, "JPEG engine error"),
    (83, 84, RestartApp, "video decoder error"),
    (85, 85, RestartApp, "copy engine exception"),
    (86, 86, RestartApp, "optical flow engine exception"),
    (88, 89, RestartApp, "video decoder error"),
    (92, 92, Ignore, "high single-bit ECC error rate"),
    (93, 93, Ignore, "InfoROM wear limit exceeded"),
    (94, 94, RestartApp, "contained memory error"),
    (95, 95, Reset, "uncontained memory error"),
    (96, 98, RestartApp, "video decoder error"),
    (99, 105, RestartApp, "JPEG engine error"),
    (106, 107, Ignore, "test message"),
    (108, 108, Ignore, "NVLink remote translation error"),
    (109, 109, Reset, "context switch timeout"),
    (110, 110, Reset, "security fault"),
    (119, 119, Reset, "GSP RPC timeout"),
    (120, 120, Reset, "GSP error"),
    (121, 121, Ignore, "C2C error"),
    (126, 135, RestartApp, "copy engine exception"),
    (136, 136, Reset, "NVLink training failed"),
    (137, 137, Ignore, "NVLink privilege error"),
    (139, 139, RestartApp, "optical flow engine exception"),
    (140, 140, Reset, "unrecovered ECC error"),
    (141, 141, Ignore, "CUDA fast path error"),
    // "Contact support", as the other encoders' codes that are not in use.
    (142, 142, Ignore, "video encoder error"),
    (143, 143, Reset, "GPU initialization error"),
    // Where the line says that it is fatal, or nothing; see GRADED.
    (144, 150, Reset, "NVLink error"),
    // "Restart the virtual machine", which is the node here.
    (151, 151, Restart, "key rotation error"),
    (152, 153, Ignore, "deep learning accelerator error"),
    // Where the line does not say which action.
    (RECOVERY, RECOVERY, Ignore, "GPU recovery action changed"),
    (155, 155, Reset, "NVLink error"),
    (156, 156, Reset, "resource retirement event"),
    (157, 157, Ignore, "resource retirement failure"),
    (158, 158, Reset, "GPU fatal timeout"),
    (159, 159, Ignore, "C2C non-data error"),
    (160, 160, Ignore, "channel retirement event"),
    (161, 161, Ignore, "channel retirement failure"),
];

fn entry(code: u32) -> Option<&'static (u32, u32, Action, &'static str)> {
    TABLE.iter().find(|(first, last, ..)| (*first..=*last).contains(&code))
}

/// What a code asks for: the policy's word, or the catalogue's; nothing where neither knows it.
pub(crate) fn action(code: u32, severity: Option<Severity>, words: &BTreeMap<u32, Action>) -> Option<Action> {
    if let Some(action) = words.get(&code) {
        return Some(*action);
    }
    if GRADED.contains(&code) && severity == Some(Severity::Nonfatal) {
        return Some(Ignore);
    }
    entry(code).map(|(_, _, action, _)| *action)
}

/// What happened, in words.
pub(crate) fn words(code: u32) -> &'static str {
    entry(code).map_or("not in the catalogue", |(_, _, _, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_each_code_once() {
        for pair in TABLE.windows(2) {
            assert!(pair[0].1 < pair[1].0, "{} and {}", pair[0].1, pair[1].0);
        }
        assert!(TABLE.iter().all(|(first, last, ..)| first <= last));
    }

    /// One action for each code, as the catalogue has it: NVIDIA's own plugin has two of these the other way round.
    #[test]
    fn codes_ask_for_what_the_catalogue_says() {
        let none = BTreeMap::new();
        for (code, expected) in [
            (13, RestartApp),
            (31, RestartApp),
            (43, Ignore),
            (45, Ignore),
            (46, Reset),
            (48, Reset),
            (63, Ignore),
            (64, Reset),
            (74, Reset),
            (79, Restart),
            (94, RestartApp),
            (95, Reset),
            (109, Reset),
            (119, Reset),
            (135, RestartApp),
            (140, Reset),
            (158, Reset),
        ] {
            assert_eq!(action(code, None, &none), Some(expected), "{code}");
        }
        for unknown in [0, 1, 7, 15, 999, 167] {
            assert_eq!(action(unknown, None, &none), None, "{unknown}");
        }
        assert_eq!((words(79), words(7)), ("GPU has fallen off the bus", "not in the catalogue"));
    }

    #[test]
    fn an_nvlink_error_that_is_not_fatal_takes_no_gpu_away() {
        let none = BTreeMap::new();
        for code in 144..=150 {
            assert_eq!(action(code, Some(Severity::Fatal), &none), Some(Reset), "{code}");
            assert_eq!(action(code, Some(Severity::Nonfatal), &none), Some(Ignore), "{code}");
            assert_eq!(action(code, None, &none), Some(Reset), "{code}");
        }
        assert_eq!(action(79, Some(Severity::Nonfatal), &none), Some(Restart));
    }

    #[test]
    fn the_word_of_the_policy_comes_first() {
        let words = BTreeMap::from([(94, Reset), (109, Ignore), (149, Restart), (167, Reset)]);
        assert_eq!(action(94, None, &words), Some(Reset));
        assert_eq!(action(109, None, &words), Some(Ignore));
        assert_eq!(action(149, Some(Severity::Nonfatal), &words), Some(Restart));
        assert_eq!(action(167, None, &words), Some(Reset));
        assert_eq!(action(79, None, &words), Some(Restart));
    }

    #[test]
    fn each_action_has_a_word() {
        let words = ["ignore", "restart-app", "reset", "restart"].map(|word| Action::from_word(word).unwrap());
        assert_eq!(words, [Ignore, RestartApp, Reset, Restart]);
        assert_eq!(Action::from_word("Reset"), None);
    }
}
