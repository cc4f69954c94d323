//! From a vendor's bytes to a component that can be called, or to a refusal that says everything that is wrong with it.

mod error;
mod imports;
mod inspect;
mod link;
mod parts;
mod scan;

pub use error::{LoadError, Refusal, RefusedImport, hex};
pub use imports::Need;
pub use inspect::{Contents, Import, Inspection, inspect};
pub use scan::Counts;

use crate::bindings::PluginComponent;
use crate::bindings::PluginComponentPre;
use crate::bindings::lifecycle::WithLifecycleIndices;
use crate::bindings::preference::WithPreferenceIndices;
use crate::engine::Engine;
use crate::precompiled::{self, Source};
use crate::state::Call;
use devgate_types::component::Profile;
use devgate_types::{Grant, Limits};
use scan::Scan;
use sha2::{Digest, Sha256};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use wasmtime::component::Component;

/// What is to be loaded, and what it may have.
pub struct LoadRequest<'a> {
    /// The plugin's name, for messages.
    pub plugin: &'a str,
    /// The component's file.
    pub bytes: &'a [u8],
    /// The digest that the policy pins, if it does.
    pub sha256: Option<[u8; 32]>,
    /// What a component may be. What each of its calls may use comes with the call.
    pub limits: Limits,
    /// Whether an interface of `devgate:plugin`, by its name alone (`hardware`), is granted. Asked for those that the
    /// component imports.
    pub grants: &'a dyn Fn(&str) -> Grant,
}

/// A component, compiled and linked. Every call makes a fresh instance of it.
pub struct Loaded {
    pub(crate) component: PluginComponentPre<Call>,
    pub(crate) preference: Option<WithPreferenceIndices>,
    pub(crate) lifecycle: Option<WithLifecycleIndices>,
    pub(crate) engine: Engine,
    pub(crate) profile: Profile,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

/// Loads a component, for which the calling thread waits for its compiler: some 20 ms for 50 KB, seconds for a whole language runtime,
/// so this is never to be called where somebody waits.
///
/// Everything that can be known without compiling is looked at before, in this order: size, digest, kind of file, limits on what
/// a component may be, validity, imports and exports.
///
/// # Errors
/// See [`Refusal`].
pub fn load(engine: &Engine, request: LoadRequest<'_>) -> Result<Loaded, LoadError> {
    let plugin = request.plugin.to_owned();
    // A bug in what reads components must cost this plugin, not the process.
    let outcome = catch_unwind(AssertUnwindSafe(|| admit(engine, request)));
    let outcome = outcome.unwrap_or_else(|_| Err(Refusal::Host("panic while loading".into())));
    outcome.map_err(|refusal| LoadError { plugin, refusal })
}

fn admit(engine: &Engine, request: LoadRequest<'_>) -> Result<Loaded, Refusal> {
    let LoadRequest { bytes, limits, .. } = request;
    check_file(bytes, &limits, request.sha256)?;
    let scan = Scan::of(bytes, &limits)?;
    imports::check(&scan, request.grants)?;
    let (sha256, memory) = (digest(bytes), scan.counts.memory);
    let profile = Profile {
        sha256: Some(sha256),
        ..imports::profile(&scan)?
    };
    let key = precompiled::key(engine.runtime(memory));
    let source = Source {
        bytes,
        sha256,
        memory,
        key,
    };
    let component = compiled(engine, &source)?;
    let linked = link::link(component.engine(), &component, &scan.imports, &profile)?;
    let loaded = Loaded {
        component: linked.plugin,
        preference: linked.preference,
        lifecycle: linked.lifecycle,
        engine: engine.clone(),
        profile,
    };
    loaded.check_exports(limits)?;
    Ok(loaded)
}

fn compiled(engine: &Engine, source: &Source<'_>) -> Result<Component, Refusal> {
    let _turn = engine.turns().wait();
    precompiled::ready(engine.runtime(source.memory), engine.compiler(), source)
}

impl Loaded {
    /// wasmtime compares the types of exports with what the host expects only for an instance, so one is made. That it fails
    /// to start says nothing here: the first call will say it.
    fn check_exports(&self, limits: Limits) -> Result<(), Refusal> {
        let flight = self.engine.ticker().enter().map_err(|fault| Refusal::Host(fault.0))?;
        let _runtime = self.enter_runtime();
        let mut store = self.store(Call::without_host(Arc::new(limits)));
        flight.check().map_err(|fault| Refusal::Host(fault.0))?;
        let Ok(instance) = self.component.instance_pre().instantiate(&mut store) else {
            return Ok(());
        };
        PluginComponent::new(&mut store, &instance).map_err(|error| link::export_mismatch("plugin", &error))?;
        if let Some(preference) = &self.preference {
            let loaded = preference.load(&mut store, &instance);
            loaded.map_err(|error| link::export_mismatch("preference", &error))?;
        }
        if let Some(lifecycle) = &self.lifecycle {
            let loaded = lifecycle.load(&mut store, &instance);
            loaded.map_err(|error| link::export_mismatch("lifecycle", &error))?;
        }
        Ok(())
    }
}

/// A component's SHA-256 digest.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn check_file(bytes: &[u8], limits: &Limits, pinned: Option<[u8; 32]>) -> Result<(), Refusal> {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size > limits.component_size.0 {
        return Err(Refusal::Limit {
            what: format!("component has {size} bytes"),
            most: limits.component_size.to_string(),
            key: Some("limits.component-size"),
        });
    }
    if let Some(pinned) = pinned {
        let found = digest(bytes);
        if found != pinned {
            return Err(Refusal::Digest { pinned, found });
        }
    }
    let problem = match bytes {
        [b'\0', b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => return Ok(()),
        [b'\0', b'a', b's', b'm', _, _, 0, 0, ..] => {
            "is a core module, not a component; run `wasm-tools component new` on it"
        }
        [b'\0', b'a', b's', b'm', _, _, 1, 0, ..] => "has a component format that this host does not know",
        [0x7f, b'E', b'L', b'F', ..] => {
            "is native code (precompiled or a program); ship the .wasm that it was made from"
        }
        [] => "is empty",
        _ if bytes.trim_ascii_start().starts_with(b"(") => {
            "is WebAssembly as text; run `wasm-tools parse` on it and ship what comes out"
        }
        [b'\0', rest @ ..] if b"asm\x0d\0\x01".starts_with(rest) => "is cut off",
        _ => "is not a WebAssembly component",
    };
    Err(Refusal::Kind(problem))
}
