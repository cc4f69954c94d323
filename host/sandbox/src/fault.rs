//! Which of the families an error out of wasmtime belongs to.

use crate::brief::{cut, message};
use crate::engine::STACK;
use crate::meter::host_fault;
use devgate_types::{CallError, GuestFault, GuestText, Limit, Limits};
use wasmtime::{FrameInfo, Trap, WasmBacktrace};
use wasmtime_wasi::{I32Exit, ResourceTableError};

/// How many functions of a trap are told: those of a language's panic are the first five or six of them.
const FRAMES: usize = 10;

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
            trap => GuestFault::Trap(GuestText::of_trap(&trap_text(*trap, error, last_words))).into(),
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
    let frames = error.downcast_ref::<WasmBacktrace>().map(frames).unwrap_or_default();
    if !frames.is_empty() {
        text.push_str(" at ");
        text.push_str(&frames.join(" < "));
    }
    if !last_words.is_empty() {
        // The message is what helps, and the places whole: neither may be what is cut off.
        return format!("{} ({text})", cut(last_words, GuestText::MAX_CHARS));
    }
    text
}

/// Function and place in the component's file, innermost first, as `devgatectl trace` takes them. Not by name: what a component's names
/// stand for has no bound, and a release has none.
fn frames(backtrace: &WasmBacktrace) -> Vec<String> {
    let frames = backtrace.frames().iter().take(FRAMES);
    let place = |frame: &FrameInfo| match frame.module_offset() {
        Some(offset) => format!("{}@{offset:#x}", frame.func_index()),
        None => format!("{}@?", frame.func_index()),
    };
    frames.map(place).collect()
}
