//! Memory and tables of one call.

use crate::meter::within;
use devgate_types::{ByteSize, Limit, Limits};
use std::sync::Arc;
use wasmtime::ResourceLimiter;

/// Holds an instance to its memory and tables, and remembers the most memory that was in use.
///
/// What is over a limit ends the call by name. Letting `memory.grow` answer -1 instead would make most components trap
/// on `unreachable`, which explains nothing.
#[derive(Debug)]
pub(crate) struct Limiter {
    limits: Arc<Limits>,
    memory: u64,
}

impl Limiter {
    pub(crate) fn new(limits: Arc<Limits>) -> Self {
        Self { limits, memory: 0 }
    }

    /// Of all linear memories together. They never shrink, so this is the peak, too.
    pub(crate) fn memory(&self) -> ByteSize {
        ByteSize(self.memory)
    }
}

fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let more = u64::try_from(desired.saturating_sub(current)).unwrap_or(u64::MAX);
        let total = self.memory.saturating_add(more);
        within(total <= self.limits.memory.0, Limit::Memory(self.limits.memory))?;
        self.memory = total;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let most = self.limits.table_elements;
        within(desired <= count(most), Limit::TableElements(most))?;
        Ok(true)
    }

    fn instances(&self) -> usize {
        count(self.limits.instances)
    }

    fn tables(&self) -> usize {
        count(self.limits.tables)
    }

    fn memories(&self) -> usize {
        count(self.limits.memories)
    }
}
