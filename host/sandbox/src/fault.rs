//! Which of the families an error out of wasmtime belongs to.

use crate::brief::{function_name, message};
use crate::engine::STACK;
use crate::meter::host_fault;
use devgate_types::{CallError, GuestFault, GuestText, Limit, Limits};
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::{I32Exit, ResourceTableError};

/// How many functions of a trap are named: enough for "where", too few to be a dump.
const FRAMES: usize = 3;

/// What an error that ended a call means. `last_words` is what the component logged last as an error, or empty.
///
/// Ours first; then what wasmtime names by type. Broken handles, too much data and the like have no type in wasmtime 48, only a
/// text, so what is left over is the component's breach of the contract.
pub(crate) fn classify(error: &wasmtime::Error, limits: &Limits, last_words: &str) -> CallError {
    if let Some(ours) = error.downcast_ref::<CallError>() {
        return ours.clone();
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return GuestFault::Exited(exit.0).into();
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return match trap {
            Trap::StackOverflow => GuestFault::Limit(Limit::Stack(STACK)).into(),
            trap => GuestFault::Trap(GuestText::new(&trap_text(*trap, error, last_words))).into(),
        };
    }
    if error.is::<std::io::Error>() {
        return host_fault(format!("cannot make an instance: {}", message(error.root_cause())));
    }
    let text = message(error.root_cause());
    if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) || text.contains("handle limit exceeded") {
        return GuestFault::Limit(Limit::Handles(limits.handles)).into();
    }
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        return GuestFault::Limit(Limit::Transfer(limits.transfer)).into();
    }
    GuestFault::contract(&text).into()
}

/// What trapped, where, and what the component said about it.
fn trap_text(trap: Trap, error: &wasmtime::Error, last_words: &str) -> String {
    let what = trap.to_string();
    let mut text = what.strip_prefix("wasm trap: ").unwrap_or(&what).to_owned();
    let frames = error.downcast_ref::<WasmBacktrace>().map(named_frames).unwrap_or_default();
    if !frames.is_empty() {
        text.push_str(" in ");
        text.push_str(&frames.join(" < "));
    }
    if !last_words.is_empty() {
        // The message is what helps; it must not be what is cut off.
        return format!("{last_words} ({text})");
    }
    text
}

/// The innermost functions that are the vendor's own, without the machinery of a Rust panic. Never wasmtime's own text of a backtrace:
/// what the names in it stand for has no bound.
fn named_frames(backtrace: &WasmBacktrace) -> Vec<String> {
    let frames = backtrace.frames().iter();
    let names = frames.map(|frame| function_name(frame.func_name(), frame.func_index()));
    names.filter(|name| !is_panic_machinery(name)).take(FRAMES).collect()
}

fn is_panic_machinery(name: &str) -> bool {
    let machinery =
        ["core::panicking", "std::panicking", "std::sys", "std::process", "rust_", "__rust", "abort", "panic"];
    let name = name.trim_start_matches('<');
    machinery.iter().any(|start| name.starts_with(start)) || name.ends_with("unwrap_failed")
}
