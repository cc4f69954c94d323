//! Which of a component's functions a call is about, and so what it may do.

use super::CallHost;
use crate::blob::Ticket;
use devgate_policy::Control;
use std::fmt;

/// Which of a component's functions a call is about. Those that carry a ticket are never under way at the same time for one
/// plugin, and may store its blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Enumerate(Ticket),
    Health(Ticket),
    Release(Ticket),
    Allocate,
    Choose,
    /// Before units are given to a container, while no pod has them.
    Prepare,
    /// Before a container starts that has them already, maybe not for the first time: `prepare`, but nothing is written.
    Start,
}

impl Moment {
    /// Leave to store the blob, if the moment gives it.
    pub(super) fn ticket(self) -> Option<Ticket> {
        match self {
            Self::Enumerate(ticket) | Self::Health(ticket) | Self::Release(ticket) => Some(ticket),
            Self::Allocate | Self::Choose | Self::Prepare | Self::Start => None,
        }
    }

    /// Whether a policy's entry lets its attribute be written now.
    pub(super) fn allows(self, control: &Control) -> bool {
        match self {
            Self::Prepare => control.prepare,
            Self::Release(_) => control.release,
            _ => false,
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enumerate(_) => "enumerate",
            Self::Health(_) => "health",
            Self::Release(_) => "release",
            Self::Allocate => "allocate",
            Self::Choose => "choose",
            Self::Prepare => "prepare",
            Self::Start => "prepare before a container's start",
        })
    }
}

impl CallHost {
    /// Says what the call is about. Until then it may do no more than any: it reads.
    ///
    /// What a component says in an allocation is logged even if it has said so lately: each is news, a look is not.
    pub(crate) fn during(&mut self, moment: Moment) {
        self.moment = moment;
        self.every_line = matches!(
            moment,
            Moment::Allocate | Moment::Prepare | Moment::Start | Moment::Release(_)
        );
    }
}
