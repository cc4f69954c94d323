//! From a component's file to native code.

use crate::brief::message;
use crate::engine::config;
use crate::precompiled::Code;
use devgate_types::load::Refusal;
use devgate_types::{ByteSize, GuestText};
use wasmtime::Engine;

/// Compiles a component whose memories start with this much, on this thread, however long it takes.
pub fn compile(component: &[u8], memory: ByteSize) -> Result<Code, Refusal> {
    // An engine of its own: it keeps its compiler's working memory as long as it lives.
    let engine = Engine::new(&config(memory)).map_err(|error| Refusal::Host(format!("{error:#}")))?;
    let compiled = engine.precompile_component(component);
    compiled.map(Code::made_here).map_err(|error| Refusal::Invalid(GuestText::new(&message(format_args!("{error:#}")))))
}
