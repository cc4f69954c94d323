//! Native code on its way from a compiler to the engine that runs it. The only module of this crate with `unsafe` in it.

use crate::brief::message;
use crate::engine::Engine;
use devgate_types::load::Refusal;
use wasmtime::component::Component;

/// Makes a component ready to run from the native code that [`compile`] made of it.
///
/// # Errors
/// [`Refusal::Code`] where this engine cannot run the code: it was made for another processor, version or configuration.
///
/// # Safety
/// The code must be what [`compile`] returned, unchanged: it is run as it is.
///
/// [`compile`]: crate::compile
#[expect(unsafe_code, reason = "the caller promises what wasmtime asks for")]
pub(crate) unsafe fn ready(engine: &Engine, code: &[u8]) -> Result<Component, Refusal> {
    // SAFETY: wasmtime asks for bytes that its own `precompile_component` made and that did not change since: the caller's promise.
    // wasmtime itself compares its version, the processor and the configuration.
    let component = unsafe { Component::deserialize(engine.wasmtime(), code) };
    component.map_err(|error| Refusal::Code(message(format_args!("{error:#}"))))
}
