//! From native code to a component that can be called.

mod link;
mod not_granted;

use crate::bindings::{PluginComponent, PluginComponentPre};
use crate::brief::message;
use crate::engine::Engine;
use crate::precompiled::Code;
use crate::state::CallState;
use devgate_types::Limits;
use devgate_types::component::Profile;
use devgate_types::load::{Admitted, Refusal};
use link::Exports;
use std::sync::Arc;

/// A component, compiled and linked. Every call makes a fresh instance of it.
pub struct Loaded {
    pub(crate) component: PluginComponentPre<CallState>,
    pub(crate) exports: Exports,
    pub(crate) engine: Engine,
    pub(crate) profile: Profile,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("profile", &self.profile).finish_non_exhaustive()
    }
}

impl Loaded {
    /// What it is.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Links a component that was compiled to the interfaces that it imports. The error says what of it does not fit this host, or that
    /// the engine cannot run the code.
    pub fn new(engine: Engine, code: &Code, imports: &Admitted, profile: Profile) -> Result<Self, Refusal> {
        let component = code.ready(&engine)?;
        // Before the process gives up what that takes.
        let image = component.initialize_copy_on_write_image();
        image.map_err(|error| {
            Refusal::Host(format!("cannot make the image of a memory: {}", message(format_args!("{error:#}"))))
        })?;
        let (component, exports) = link::link(component.engine(), &component, imports, &profile)?;
        Ok(Self { component, exports, engine, profile })
    }

    /// wasmtime compares the types of exports with what the host expects only for an instance, so one is made. That it fails
    /// to start says nothing here: the first call will say it. Code of the component runs in it.
    pub fn check_exports(&self, limits: &Limits) -> Result<(), Refusal> {
        let _flight = self.engine.ticker.enter();
        let _runtime = self.enter_runtime();
        let mut store = self.store(CallState::without_host(Arc::new(limits.clone())));
        let Ok(instance) = self.component.instance_pre().instantiate(&mut store) else {
            return Ok(());
        };
        let mismatch = |name| move |error: wasmtime::Error| link::export_mismatch(name, &error);
        PluginComponent::new(&mut store, &instance).map_err(mismatch("plugin"))?;
        let Exports { preference, lifecycle, parameters, conditions } = &self.exports;
        preference.as_ref().map(|it| it.load(&mut store, &instance)).transpose().map_err(mismatch("preference"))?;
        lifecycle.as_ref().map(|it| it.load(&mut store, &instance)).transpose().map_err(mismatch("lifecycle"))?;
        parameters.as_ref().map(|it| it.load(&mut store, &instance)).transpose().map_err(mismatch("parameters"))?;
        conditions.as_ref().map(|it| it.load(&mut store, &instance)).transpose().map_err(mismatch("conditions"))?;
        Ok(())
    }
}
