//! Native code on its way from the compiler to the engine that runs it. The only module of devgate with `unsafe` in it.

use wasmtime::Engine;
use wasmtime::component::Component;

/// A component as native code that this process has just made.
///
/// There is no other way to get one, above all not from bytes that came from elsewhere: whoever writes these bytes runs in this
/// process.
pub(crate) struct Precompiled(Vec<u8>);

impl Precompiled {
    /// Compiles a component.
    ///
    /// # Errors
    /// As wasmtime's own: what is wrong with the component.
    pub(crate) fn compile(compiler: &Engine, component: &[u8]) -> wasmtime::Result<Self> {
        compiler.precompile_component(component).map(Self)
    }

    /// Makes it ready to run.
    ///
    /// # Errors
    /// When the engine was not configured as the compiler was.
    pub(crate) fn load(self, engine: &Engine) -> wasmtime::Result<Component> {
        #[expect(
            unsafe_code,
            reason = "there is no other way to run a component in another engine than the one that compiled it"
        )]
        // SAFETY: wasmtime asks for bytes that its own `precompile_component` made and nobody changed since. Nothing else
        // makes this type, and nothing changes what is in it; wasmtime itself compares version, processor and configuration.
        let component = unsafe { Component::deserialize(engine, &self.0) };
        component
    }
}
