//! Which of a component's functions a call is about, and so what it may do.

use super::CallHost;
use crate::status::CallKind;
use devgate_policy::Control;
use std::fmt;

/// Which of a component's functions a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallPurpose {
    Enumerate,
    Health,
    Release,
    Allocate,
    Choose,
    /// Before units are given to a container, while no pod has them.
    Prepare,
    /// Before a container starts that has them already, maybe not for the first time: `prepare`, but nothing is written.
    Start,
}

impl CallPurpose {
    /// What the call is counted as.
    pub(super) fn kind(self) -> CallKind {
        match self {
            Self::Enumerate => CallKind::Enumerate,
            Self::Health => CallKind::Health,
            Self::Release => CallKind::Release,
            Self::Allocate => CallKind::Allocate,
            Self::Choose => CallKind::Choose,
            Self::Prepare | Self::Start => CallKind::Prepare,
        }
    }

    /// Whether a component says the same in each call: in an allocation each line is news, in a look it is not.
    pub(super) fn is_look(self) -> bool {
        matches!(self, Self::Enumerate | Self::Health | Self::Choose)
    }

    /// Whether the component may store its state. Of these calls one is under way at a time: see
    /// [`ComponentState::write_turn`](crate::component_state::ComponentState::write_turn).
    pub(super) fn may_store(self) -> bool {
        matches!(self, Self::Enumerate | Self::Health | Self::Release)
    }

    /// Whether a policy's entry lets its attribute be written now.
    pub(super) fn allows(self, control: &Control) -> bool {
        match self {
            Self::Prepare => control.prepare,
            Self::Release => control.release,
            _ => false,
        }
    }
}

impl fmt::Display for CallPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().as_str())?;
        f.write_str(if *self == Self::Start { " before a container's start" } else { "" })
    }
}

impl CallHost {
    /// Says what the call is about. Until then it may do no more than any: it reads.
    pub(crate) fn during(&mut self, purpose: CallPurpose) {
        self.purpose = purpose;
    }
}
