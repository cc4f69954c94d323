//! What compiling one component may take.

use crate::memory::COMPILER_MEMORY;
use devgate_types::ByteSize;
use std::time::Duration;

/// What compiling one component may take. JavaScript's 3 s, Go's 6 and Python's 16 are less than half of it on a slow machine, and the
/// memory of the shipped ones less than 64 MiB, of Python's some 20 times its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    /// Of the processor.
    pub(super) seconds: u64,
    /// Address space; no page is given back before the end.
    pub(super) memory: ByteSize,
    /// Whether that is what there is, and not what the component might need.
    is_short: bool,
    size: u64,
}

impl Allowance {
    pub(super) const fn of(size: u64) -> Self {
        Self {
            seconds: 20 + size / (128 << 10),
            memory: ByteSize(COMPILER_MEMORY.0 + (size.saturating_mul(64).div_ceil(1 << 20) << 20)),
            is_short: false,
            size,
        }
    }

    /// Never more than there is.
    pub(super) fn within(self, most: ByteSize) -> Self {
        Self { memory: self.memory.min(most), is_short: self.memory > most, ..self }
    }

    /// By the clock. What computes without end is ended by what it uses; this is for nodes where it gets next to nothing.
    pub(super) const fn patience(self) -> Duration {
        Duration::from_secs(self.seconds * 30)
    }

    /// The most machine code, in bytes.
    pub(super) fn code(self) -> usize {
        let most = self.size.saturating_mul(16).saturating_add(16 << 20);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// The memory, for people.
    pub(super) fn memory_in_words(self) -> String {
        let memory = self.memory;
        match self.is_short {
            true => format!(
                "{memory}, which is what this container or service may have beside the host and the plugins' processes"
            ),
            false => memory.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_taken_grows_with_the_component() {
        let small = Allowance::of(43 << 10);
        assert_eq!((small.seconds, small.memory, small.code() >> 20), (20, ByteSize::mib(131), 16));
        let python = Allowance::of(18 << 20);
        assert_eq!((python.seconds, python.memory, python.code() >> 20), (164, ByteSize::mib(1_280), 304));
        assert!(python.patience() > Duration::from_secs(python.seconds));
    }

    #[test]
    fn nothing_may_take_more_than_there_is() {
        let there = ByteSize::mib(192);
        assert_eq!(Allowance::of(1 << 10).within(there), Allowance::of(1 << 10));
        let short = Allowance::of(18 << 20).within(there);
        assert_eq!(short.memory, there);
        assert!(short.memory_in_words().starts_with("192MiB, which is what this container"));
    }
}
