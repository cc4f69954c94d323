//! Native code on its way from a compiler to the engine that runs it. The only module of this crate with `unsafe` in it.

use crate::brief::message;
use crate::engine::config;
use crate::load::Refusal;
use devgate_types::{ByteSize, GuestText};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;
use wasmtime::Engine;
use wasmtime::component::Component;

/// A component that is to be compiled.
#[derive(Debug)]
pub struct Source<'a> {
    /// Its file.
    pub bytes: &'a [u8],
    /// The file's SHA-256 digest.
    pub sha256: [u8; 32],
    /// What its memories start with, which decides between two configurations of the engine.
    pub memory: ByteSize,
    /// Which engines can run what is made of it: another for each version of devgate and wasmtime, processor and configuration.
    pub key: u64,
}

/// What is made for this engine, and for no other that differs in anything that matters to machine code.
pub(crate) fn key(engine: &Engine) -> u64 {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

/// Makes native code of components.
///
/// # Safety
/// What it returns is run in this process: it must be what [`compile`] of this program has made of these bytes with this memory, and
/// nobody has changed since.
#[expect(unsafe_code, reason = "what is returned is run in this process")]
pub unsafe trait Compiler: Send + Sync {
    /// The native code of a component; also one that was made before, unless it is to be made `anew`.
    ///
    /// # Errors
    /// What is wrong with the component, which limit it is over, or that the host cannot compile.
    fn compile(&self, source: &Source<'_>, anew: bool) -> Result<Vec<u8>, Refusal>;
}

/// Compiles on a thread of this process, without a limit and without an end: for tests and measurements.
#[derive(Debug, Clone, Copy, Default)]
pub struct InProcess;

#[expect(unsafe_code, reason = "what is returned is run in this process")]
// SAFETY: nothing else than `compile` is called.
unsafe impl Compiler for InProcess {
    fn compile(&self, source: &Source<'_>, _anew: bool) -> Result<Vec<u8>, Refusal> {
        let failed = |_| Refusal::Host("panic while compiling".into());
        thread::scope(|scope| {
            scope
                .spawn(|| compile(source.bytes, source.memory))
                .join()
                .map_err(failed)
        })?
    }
}

/// Compiles a component whose memories start with this much, on this thread, however long it takes.
///
/// # Errors
/// What is wrong with the component, as wasmtime says it.
pub fn compile(component: &[u8], memory: ByteSize) -> Result<Vec<u8>, Refusal> {
    let compiled = engine(memory)?.precompile_component(component);
    compiled.map_err(|error| invalid(&error))
}

/// An engine for one compilation: it keeps its compiler's working memory as long as it lives.
fn engine(memory: ByteSize) -> Result<Engine, Refusal> {
    Engine::new(&config(memory)).map_err(|error| Refusal::Host(format!("{error:#}")))
}

/// Makes a component ready to run.
pub(crate) fn ready(engine: &Engine, compiler: &dyn Compiler, source: &Source<'_>) -> Result<Component, Refusal> {
    let mut anew = false;
    loop {
        let code = compiler.compile(source, anew)?;
        #[expect(
            unsafe_code,
            reason = "there is no other way to run what another engine has compiled"
        )]
        // SAFETY: wasmtime asks for bytes that its own `precompile_component` made and nobody changed since: that is what a
        // `Compiler` promises. wasmtime itself compares its major version, processor and configuration.
        let component = unsafe { Component::deserialize(engine, &code) };
        match component {
            Err(_) if !anew => anew = true,
            component => {
                return component.map_err(|error| Refusal::Host(format!("machine code cannot be run: {error:#}")));
            }
        }
    }
}

fn invalid(error: &wasmtime::Error) -> Refusal {
    Refusal::Invalid(GuestText::new(&message(format_args!("{error:#}"))))
}
