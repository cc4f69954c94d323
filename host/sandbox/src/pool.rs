//! Slots that instances are made in, so that a call maps and unmaps nothing.
//!
//! A slot holds one instance at a time and is cleared between two: what stays resident is overwritten, the rest is given back
//! to the kernel. No limit is shared between plugins: each component that is let in has slots for all its calls.

use devgate_types::{ByteSize, Limits};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wasmtime::PoolingAllocationConfig;

/// Linear memory of one instance: four times the default of `limits.memory`.
pub(crate) const MEMORY: ByteSize = ByteSize::mib(64);
/// What else one instance may have: the defaults of `limits`.
const CORE_INSTANCES: u32 = 8;
const MEMORIES: u32 = 1;
const TABLES: u32 = 4;
const TABLE_ELEMENTS: u32 = 10_000;

/// Calls of one component at the same time, one more than the plugin layer makes: 4 that may block, and 3 on the runtime's own
/// threads.
const CALLS: u32 = 8;
/// Components in the pool; further ones have their instances mapped. Address space is all that a slot costs before it is used:
/// 32 GiB for these, which fits the smallest address spaces (39 bits on ARM).
const COMPONENTS: u32 = 64;

/// Kept resident of a slot that is free again. Overwriting this much is cheaper than giving it back and having it faulted in
/// again.
const MEMORY_KEPT: ByteSize = ByteSize::kib(128);
const TABLE_KEPT: ByteSize = ByteSize::kib(32);

/// Whether an instance within these limits fits a slot. They do not grow with the hardware.
pub(crate) fn fits(limits: &Limits) -> bool {
    limits.memory <= MEMORY
        && limits.instances <= CORE_INSTANCES
        && limits.memories <= MEMORIES
        && limits.tables <= TABLES
        && limits.table_elements <= TABLE_ELEMENTS
}

/// The slots.
pub(crate) fn slots() -> PoolingAllocationConfig {
    let calls = CALLS * COMPONENTS;
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(calls)
        .total_core_instances(calls * CORE_INSTANCES)
        .total_memories(calls * MEMORIES)
        .total_tables(calls * TABLES)
        .max_memory_size(MEMORY.as_usize())
        .table_elements(usize::try_from(TABLE_ELEMENTS).unwrap_or(usize::MAX))
        .max_memories_per_component(MEMORIES)
        .max_memories_per_module(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .max_core_instances_per_component(CORE_INSTANCES)
        // Bookkeeping, which a component's size and functions already bound; nothing is set aside for it.
        .max_core_instance_size(ByteSize::mib(64).as_usize())
        .max_component_instance_size(ByteSize::mib(64).as_usize())
        .linear_memory_keep_resident(MEMORY_KEPT.as_usize())
        .table_keep_resident(TABLE_KEPT.as_usize());
    pool
}

/// The components in the pool.
#[derive(Debug, Default)]
pub(crate) struct Seats(Arc<AtomicUsize>);

/// A component's place in the pool; free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Seat(Arc<AtomicUsize>);

impl Seats {
    /// A place, if there is one.
    pub(crate) fn take(&self) -> Option<Seat> {
        let most = usize::try_from(COMPONENTS).unwrap_or(usize::MAX);
        let next = |taken: usize| (taken < most).then_some(taken + 1);
        let taken = self.0.fetch_update(Relaxed, Relaxed, next);
        taken.is_ok().then(|| Seat(Arc::clone(&self.0)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_limits_fit_and_larger_ones_do_not() {
        let fit = |change: fn(&mut Limits)| {
            let mut limits = Limits::default();
            change(&mut limits);
            fits(&limits)
        };
        assert!(fit(|_| {}));
        assert!(fit(|limits| *limits = limits.for_devices(100_000)));
        assert!(!fit(|limits| limits.memory = ByteSize(MEMORY.0 + 1)));
        assert!(!fit(|limits| limits.instances += 1));
        assert!(!fit(|limits| limits.memories += 1));
        assert!(!fit(|limits| limits.tables += 1));
        assert!(!fit(|limits| limits.table_elements += 1));
    }

    #[test]
    fn there_are_64_seats_and_one_that_is_left_is_free_again() {
        let seats = Seats::default();
        let mut taken: Vec<_> = (0..64).map(|_| seats.take().unwrap()).collect();
        assert!(seats.take().is_none());
        taken.pop();
        assert!(seats.take().is_some());
    }
}
