//! Native code on its way from a compiler to the engine that runs it. The only module of this crate with `unsafe` in it.

use crate::brief::message;
use crate::engine::Engine;
use devgate_types::load::Refusal;
use wasmtime::component::Component;

/// Native code of a component, as `compile` of this crate makes it.
#[derive(Debug)]
pub struct Code(Vec<u8>);

impl Code {
    /// Code that comes from another process, or from a file.
    ///
    /// # Safety
    /// It must be what `compile` of this crate made in the same build, unchanged: it is run as it is.
    #[expect(unsafe_code, reason = "nothing can tell code that was made here from other code")]
    #[must_use]
    pub unsafe fn made_elsewhere(code: Vec<u8>) -> Self {
        Self(code)
    }

    #[cfg(feature = "compiler")]
    pub(crate) fn made_here(code: Vec<u8>) -> Self {
        Self(code)
    }

    /// For another process, or for a file.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Makes it ready to run. Fails with [`Refusal::Code`] where this engine cannot run it: it was made for another processor, version or
    /// configuration.
    pub(crate) fn ready(&self, engine: &Engine) -> Result<Component, Refusal> {
        #[expect(unsafe_code, reason = "there is no other way to run what another engine has compiled")]
        // SAFETY: wasmtime asks for bytes that its own `precompile_component` made and that did not change since: that is what a
        // `Code` is. wasmtime itself compares its version, the processor and the configuration.
        let component = unsafe { Component::deserialize(&engine.wasmtime, &self.0) };
        component.map_err(|error| Refusal::Code(message(format_args!("{error:#}"))))
    }
}
