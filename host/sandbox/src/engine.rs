//! The runtime that a component runs in, and how it is compiled for it.

use crate::ticker::Ticker;
use devgate_types::ByteSize;
use devgate_types::load::Refusal;
use std::num::NonZeroUsize;
use wasmtime::{Config, WasmBacktraceDetails};

/// The guest's stack. Host functions run on what the calling thread has beyond it, so threads that call components need
/// this much and as much again; Rust's 2 MiB are plenty.
pub(crate) const STACK: ByteSize = ByteSize::kib(256);

/// What the memories of a component may start with to be copied into each instance; what is larger is mapped from a file, of
/// which a call then copies only the pages that it writes to.
const COPIED: ByteSize = ByteSize::mib(1);

/// The runtime that one component runs in, with the thread that ends its calls.
pub struct Engine {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) ticker: Ticker,
    pub(crate) tokio: Option<tokio::runtime::Handle>,
}

impl Engine {
    /// An engine for a component whose memories start with so much, with a ticker thread of its own. Fails where the
    /// processor or the kernel lacks something, or memory is too tight.
    ///
    /// `tokio` is the runtime that WASI's standard streams use while a component that imports them runs; without it, and on
    /// a thread that belongs to no runtime, wasmtime-wasi starts one of its own.
    pub fn new(memory: ByteSize, tokio: Option<tokio::runtime::Handle>) -> Result<Self, Refusal> {
        let refused = |why: String| Refusal::Host(format!("sandbox cannot start: {why}"));
        let wasmtime = wasmtime::Engine::new(&config(memory)).map_err(|error| refused(format!("{error:#}")))?;
        let ticker = Ticker::start(wasmtime.weak());
        let ticker = ticker.map_err(|error| refused(format!("its ticker thread: {error}")))?;
        Ok(Self { wasmtime, ticker, tokio })
    }
}

/// How a component whose memories start with this much is compiled and run. The first contents of large ones, of a whole language's
/// runtime, are mapped from a file, as copying 12 MiB of CPython's into each instance takes longer than all else of a call.
pub(crate) fn config(memory: ByteSize) -> Config {
    let mut config = Config::new();
    config
        // Cannot be avoided by the component, and cheaper than counting instructions.
        .epoch_interruption(true)
        .max_wasm_stack(STACK.as_usize())
        // Not what compilers emit today, and each is more compiler that a component could reach.
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_tail_call(false)
        // For wasmtime itself, which copies what components within a component pass to each other by modules of its own that have
        // both memories, and panics without: JavaScript's are made of several. No vendor's module may have more than one; that
        // is seen to before anything is compiled (load/scan.rs).
        .wasm_multi_memory(true)
        // A call lives for microseconds, most of them the kernel's: mapping, faults, unmapping. Measured with the Rust component
        // `generic`: 23 µs a call with these, 27 to 31 with wasmtime's defaults (4 GiB reserved for each memory, and its first
        // contents mapped from a file). Bounds are then checked by code, which is also what stops speculation.
        .memory_init_cow(memory > COPIED)
        .memory_reservation(ByteSize::mib(32).0)
        // Its default is more than a runner's whole address space.
        .memory_reservation_for_growth(ByteSize::mib(1).0)
        .memory_guard_size(ByteSize::kib(64).0)
        // Enough to name what trapped; never shown as it is.
        .wasm_backtrace_max_frames(NonZeroUsize::new(16))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    #[cfg(feature = "compiler")]
    config.strategy(wasmtime::Strategy::Cranelift).cranelift_opt_level(wasmtime::OptLevel::Speed);
    config
}
