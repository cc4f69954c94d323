//! Why a unit is not for the consumer that asks next: every cause that is true now, not the first that was found.

use devgate_types::words;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What may speak against a unit. The order is that in which they are shown: what is certain before what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Its very id is another unit's, so that it cannot even be listed: the kubelet looks health up by id alone.
    IdTaken,
    /// Another unit has hardware of it.
    Conflict,
    /// The host finds that a device or node of it is gone, or another.
    HardwareGone,
    /// A pod has it, and the component lists other hardware under its id.
    HardwareChanged,
    /// A pod has it, and the component does not list it any more.
    Unlisted,
    /// It is something else than what was handed out under its id before the host started.
    HeldAsOther,
    /// Preparing or releasing it failed.
    Unreleased,
    /// It is not known what pods have, or cannot be recorded what they get; and no consumer is known to have it.
    StateUnknown,
    /// Its plugin has failed for so long that its list does not stand any more.
    PluginFailing,
    /// Its component does not find it healthy, or has not yet.
    Unhealthy,
    /// The policy does not offer it any more, and its component cannot describe it now.
    NotGranted,
    /// Its allocations have failed too often in a row.
    AllocationsFailing,
}

words! {
    Cause:
    IdTaken "id-taken",
    Conflict "conflict",
    HardwareGone "hardware-gone",
    HardwareChanged "hardware-changed",
    Unlisted "unlisted",
    HeldAsOther "held-as-other",
    Unreleased "unreleased",
    StateUnknown "state-unknown",
    PluginFailing "plugin-failing",
    Unhealthy "unhealthy",
    NotGranted "not-granted",
    AllocationsFailing "allocations-failing",
}

/// All that speaks against a unit now, each cause with its reason in words for people; nothing where it may be given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Causes(BTreeMap<Cause, Arc<str>>);

impl Causes {
    /// Whether nothing speaks against it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is among them.
    #[must_use]
    pub fn has(&self, cause: Cause) -> bool {
        self.0.contains_key(&cause)
    }

    /// The reason to show where there is room for one.
    #[must_use]
    pub fn reason(&self) -> Option<&Arc<str>> {
        self.0.values().next()
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, &Arc<str>)> {
        self.0.iter().map(|(cause, reason)| (*cause, reason))
    }

    /// Sets or takes away one. Returns whether that is another than before.
    pub(crate) fn set(&mut self, cause: Cause, reason: Option<Arc<str>>) -> bool {
        match reason {
            Some(reason) => self.0.insert(cause, Arc::clone(&reason)) != Some(reason),
            None => self.0.remove(&cause).is_some(),
        }
    }
}

/// Why a unit cannot be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) reason: Arc<str>,
    /// Whether its very id is another unit's, so that it cannot even be listed: the kubelet looks health up by id alone.
    pub(crate) id_taken: bool,
}

/// Another consumer's unit that a write would act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldByOther {
    /// `plugin x` or, where no plugin has it now, `resource y`.
    pub(crate) of: String,
    pub(crate) id: String,
    /// The name of the part of it that the write would act on.
    pub(crate) device: String,
}
