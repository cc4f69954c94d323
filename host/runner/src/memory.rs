//! The memory of the host and all of its children, within what their container or service may have: where a kubelet has the kernel end the
//! processes of a container together, one that takes too much would end all plugins of the node.

mod budget;
mod cgroup;

pub(crate) use budget::{Budget, Reserved};
pub use cgroup::memory_limit;

use devgate_types::{ByteSize, Limits};

/// What the host itself needs.
pub const HOST_MEMORY: ByteSize = ByteSize::mib(64);
/// What compiling the smallest component may take.
pub const COMPILER_MEMORY: ByteSize = ByteSize::mib(128);

/// What is reserved for each memory of an instance; a memory that outgrows it is there twice for a moment.
const RESERVED: ByteSize = ByteSize::mib(33);
/// What an element of a table takes.
const ELEMENT: u64 = 16;
/// What a runner computes with besides: all that its calls ask and answer, 20 MiB where a component lists 5,000 devices.
const HEAP: ByteSize = ByteSize::mib(40);
/// What a runner that is hostile can make the kernel use for its own: 65,530 mappings, and tables of its pages.
const KERNEL: ByteSize = ByteSize::mib(20);
/// Address space that is no memory: the program, its allocator's arenas, stacks.
const BESIDES: ByteSize = ByteSize::mib(192);
/// Calls that a runner has under way at the same time.
const LANES: u64 = 2;

/// What the kernel lets a runner have, whatever it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunnerMemory {
    /// Bytes that may be mapped, used or not.
    pub(crate) address_space: u64,
    /// Bytes that may be written to.
    pub(crate) data: u64,
}

impl RunnerMemory {
    /// For a component with these limits and so many bytes of machine code.
    pub(crate) fn of(limits: &Limits, code: u64) -> Self {
        let tables = u64::from(limits.tables).saturating_mul(limits.table_elements.into());
        let tables = tables.saturating_mul(ELEMENT);
        let copies = if limits.memory > RESERVED { 2 } else { 1 };
        let call = limits.memory.0.saturating_mul(copies).saturating_add(tables);
        let mapped = limits.memory.0.saturating_mul(2).saturating_add(tables);
        let mapped = mapped.saturating_add(RESERVED.0.saturating_mul(limits.memories.into()));
        let code = code.saturating_mul(3);
        Self {
            address_space: mapped.saturating_mul(LANES).saturating_add(code).saturating_add(BESIDES.0),
            data: call.saturating_mul(LANES).saturating_add(code).saturating_add(HEAP.0),
        }
    }

    /// What of it can be used up, with what the kernel needs for it.
    pub(crate) fn used(self) -> ByteSize {
        ByteSize(self.data.saturating_add(KERNEL.0))
    }
}

/// The most memory that a plugin's process may take, for a component of so many bytes with these limits.
#[must_use]
pub fn runner_memory(limits: &Limits, component: u64) -> ByteSize {
    // Machine code is some three times as large as what it was made from.
    RunnerMemory::of(limits, component.saturating_mul(3)).used()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_plugins_with_the_default_limits_fit_into_what_the_chart_gives() {
        let each = runner_memory(&Limits::default(), 100 << 10);
        assert_eq!(each.0 >> 20, 94);
        let all = HOST_MEMORY.0 + 8 * each.0 + COMPILER_MEMORY.0;
        assert!(all <= 1 << 30, "{} MiB", all >> 20);
    }

    #[test]
    fn a_memory_that_outgrows_what_is_reserved_is_there_twice() {
        let of = |memory| {
            let limits = Limits { memory: ByteSize::mib(memory), ..Limits::default() };
            RunnerMemory::of(&limits, 0).data >> 20
        };
        assert_eq!((of(16), of(33), of(64)), (73, 107, 297));
        let huge = Limits { memory: ByteSize(u64::MAX), ..Limits::default() };
        assert_eq!(RunnerMemory::of(&huge, u64::MAX).address_space, u64::MAX);
    }
}
