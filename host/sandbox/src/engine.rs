//! The compiler and runtime that all components of a process share.

use crate::ticker::Ticker;
use devgate_model::ByteSize;
use std::num::NonZeroUsize;
use std::sync::Arc;
use wasmtime::{Config, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, Strategy, WasmBacktraceDetails};

/// The guest's stack. Host functions run on what the calling thread has beyond it, so threads that call components need
/// this much and as much again; Rust's 2 MiB are plenty.
pub(crate) const STACK: ByteSize = ByteSize::kib(256);

/// Where instances' memories come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocation {
    /// A fresh mapping for each instance. No limit is shared between plugins, and nothing of one vendor's memory can ever be
    /// seen by another's.
    #[default]
    OnDemand,
    /// Slots that are used again, for comparison by benchmarks: the largest component must fit into one slot, and at most 16
    /// calls can be in flight.
    Pooling,
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// wasmtime refused its configuration: the processor or the kernel lacks something, or memory is too tight.
    #[error("sandbox cannot start: {0}")]
    Config(String),
    /// No thread could be started.
    #[error("sandbox cannot start its ticker thread")]
    Ticker(#[source] std::io::Error),
}

/// The compiler and runtime that all components of a process share: one per process. Clones are the same engine.
#[derive(Debug, Clone)]
pub struct Engine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    wasmtime: wasmtime::Engine,
    ticker: Ticker,
    tokio: Option<tokio::runtime::Handle>,
}

impl Engine {
    /// An engine with a ticker thread of its own.
    ///
    /// `tokio` is the runtime that WASI's standard streams use while a component that imports them runs; without it, and on
    /// a thread that belongs to no runtime, wasmtime-wasi starts one of its own.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn new(allocation: Allocation, tokio: Option<tokio::runtime::Handle>) -> Result<Self, EngineError> {
        let wasmtime = wasmtime::Engine::new(&config(allocation)).map_err(|e| EngineError::Config(format!("{e:#}")))?;
        let ticker = Ticker::start(&wasmtime).map_err(EngineError::Ticker)?;
        Ok(Self(Arc::new(Inner {
            wasmtime,
            ticker,
            tokio,
        })))
    }

    /// Ends every call in flight, and fails later ones, with a host fault: for a shutdown that waits for nobody.
    pub fn stop(&self) {
        self.0.ticker.stop();
    }

    pub(crate) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.0.wasmtime
    }

    pub(crate) fn ticker(&self) -> &Ticker {
        &self.0.ticker
    }

    pub(crate) fn tokio(&self) -> Option<&tokio::runtime::Handle> {
        self.0.tokio.as_ref()
    }
}

fn config(allocation: Allocation) -> Config {
    let mut config = Config::new();
    config
        // Cannot be avoided by the component, and cheaper than counting instructions.
        .epoch_interruption(true)
        .max_wasm_stack(STACK.as_usize())
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(OptLevel::Speed)
        // Not what compilers emit today, and each is more compiler that a component could reach.
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false)
        .wasm_tail_call(false)
        // Enough to name what trapped; never shown as it is.
        .wasm_backtrace_max_frames(NonZeroUsize::new(16))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    if allocation == Allocation::OnDemand {
        // A call lives for microseconds, most of them the kernel's: mapping, faults, unmapping. Measured with the Rust
        // component `generic`: 23 µs a call with these, 27 to 31 with wasmtime's defaults (4 GiB reserved for each memory, and its
        // first contents mapped from a file). Bounds are then checked by code, which is also what stops speculation.
        config
            .memory_init_cow(false)
            .memory_reservation(ByteSize::mib(32).0)
            .memory_guard_size(ByteSize::kib(64).0);
    }
    if allocation == Allocation::Pooling {
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(16)
            .total_core_instances(64)
            .total_memories(16)
            .total_tables(64)
            .max_memory_size(ByteSize::mib(32).as_usize())
            .table_elements(10_000)
            .max_memories_per_component(1)
            .max_tables_per_component(4)
            .max_core_instances_per_component(8)
            .linear_memory_keep_resident(ByteSize::kib(128).as_usize())
            .table_keep_resident(ByteSize::kib(32).as_usize());
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}
