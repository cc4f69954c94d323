//! Why a call of a component did not give a result: it said so itself, it broke, or the host did.
//!
//! The third family, *refused*, is the policy's: see `devgate_core`. Each has its own counter, log line and remedy,
//! so they are never mixed.

use crate::{ByteSize, Failure, GuestText};
use std::time::Duration;

/// Why a call of a component gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The component answered, with an error of its own.
    #[error("failed: {0}")]
    Failed(#[source] Failure),
    /// The component broke: a trap, a limit, or an answer outside the contract.
    #[error(transparent)]
    Guest(#[from] GuestFault),
    /// The host or the operating system failed; the component is not to blame.
    #[error(transparent)]
    Host(#[from] HostFault),
}

/// What a component did wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuestFault {
    /// It trapped.
    #[error("trapped: {0}")]
    Trap(GuestText),
    /// It asked to exit, which a component has no reason to do.
    #[error("exited with status {0}")]
    Exited(i32),
    /// Its process ended, or had to be ended.
    #[error("ended its process: {0}")]
    Ended(GuestText),
    /// It used up what one call may use.
    #[error("exceeded {0}")]
    Limit(Limit),
    /// Its answer, or a handle that it used, is not what the contract allows.
    #[error("broke the contract: {0}")]
    Contract(GuestText),
}

impl GuestFault {
    /// An answer outside the contract.
    #[must_use]
    pub fn contract(message: &str) -> Self {
        Self::Contract(GuestText::new(message))
    }
}

/// A failure of the host or the operating system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("host fault: {0}")]
pub struct HostFault(pub String);

/// One of a call's limits, with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Processor time.
    Cpu(Duration),
    /// Wall-clock time.
    Deadline(Duration),
    /// Linear memory.
    Memory(ByteSize),
    /// Table elements.
    TableElements(u32),
    /// The stack, in bytes; the same for all components.
    Stack(ByteSize),
    /// Handles.
    Handles(u32),
    /// Bytes between component and host.
    Transfer(ByteSize),
    /// Calls to the host.
    HostCalls(u32),
    /// Bytes read from the node.
    Read(ByteSize),
}

impl Limit {
    /// The policy's key for it; `None` where it is fixed.
    #[must_use]
    pub fn key(self) -> Option<&'static str> {
        self.parts().2
    }

    /// How much it is, of what, and the policy's key for it.
    fn parts(self) -> (String, &'static str, Option<&'static str>) {
        let time = |time: Duration, what, key| (format!("{time:?}"), what, Some(key));
        let count = |count: u32, what, key| (count.to_string(), what, Some(key));
        let size = |size: ByteSize, what, key| (size.to_string(), what, Some(key));
        match self {
            Self::Cpu(d) => time(d, "of processor time", "limits.cpu"),
            Self::Deadline(d) => time(d, "deadline", "limits.deadline"),
            Self::Memory(n) => size(n, "of memory", "limits.memory"),
            Self::TableElements(n) => count(n, "table elements", "limits.table-elements"),
            Self::Stack(n) => (n.to_string(), "stack", None),
            Self::Handles(n) => count(n, "handles", "limits.handles"),
            Self::Transfer(n) => size(n, "passed to and from the host", "limits.transfer"),
            Self::HostCalls(n) => count(n, "calls to the host", "limits.host-calls"),
            Self::Read(n) => size(n, "read from the node", "limits.read"),
        }
    }
}

impl std::fmt::Display for Limit {
    /// Completes "exceeded": `its 500ms deadline (limits.deadline)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (much, what, key) = self.parts();
        write!(f, "its {much} {what}")?;
        key.map_or(Ok(()), |key| write!(f, " ({key})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_which_limit_and_which_key() {
        let fault = |limit| GuestFault::Limit(limit).to_string();
        assert_eq!(fault(Limit::Deadline(Duration::from_millis(200))), "exceeded its 200ms deadline (limits.deadline)");
        assert_eq!(fault(Limit::Memory(ByteSize::mib(16))), "exceeded its 16MiB of memory (limits.memory)");
        assert_eq!(fault(Limit::Stack(ByteSize::kib(256))), "exceeded its 256KiB stack");
    }

    #[test]
    fn a_components_own_words_are_escaped() {
        let failure = Failure::new(crate::FailureKind::Busy, "reset\nunder way").with_code("a\tb");
        assert_eq!(CallError::Failed(failure).to_string(), "failed: reset\\nunder way (a\\tb)");
    }
}
