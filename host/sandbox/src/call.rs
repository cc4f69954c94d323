//! One call: a fresh instance, every limit, the answer as plain data.

use crate::bindings::PluginComponent;
use crate::bindings::lifecycle::WithLifecycle;
use crate::bindings::types::{Error as WitError, Unit as WitUnit};
use crate::convert;
use crate::fault::classify;
use crate::load::Loaded;
use crate::meter::host_fault;
use crate::state::CallState;
use devgate_types::answer;
use devgate_types::component::{Answer, Capabilities, Component, Profile};
use devgate_types::{CallError, Edits, GuestFault, GuestText, Pool, Unit, Verdict};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wasmtime::{Store, UpdateDeadline};

/// How many handles wasmtime itself allows beyond `limits.handles`, so that ours is the limit that is met and named. It
/// counts a component's own resources, too, which ours does not.
const HANDLES_BEYOND: usize = 64;

impl Component for Loaded {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn enumerate(&self, host: Box<dyn Capabilities>) -> Result<Answer<Vec<Pool>>, CallError> {
        self.call(
            host,
            |store| self.plugin(store)?.devgate_plugin_plugin().call_enumerate(store),
            |pools| answer::pools(convert::pools(pools)),
        )
    }

    fn health(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        units: &[Unit],
    ) -> Result<Answer<Vec<Verdict>>, CallError> {
        self.call(
            host,
            |store| {
                let plugin = self.plugin(store)?;
                let asked = hand_over(store, units)?;
                plugin.devgate_plugin_plugin().call_health(store, resource, &asked)
            },
            |verdicts| answer::verdicts(convert::verdicts(verdicts), units.len()),
        )
    }

    fn allocate(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        units: &[Unit],
    ) -> Result<Answer<Edits>, CallError> {
        self.call(
            host,
            |store| {
                let plugin = self.plugin(store)?;
                let asked = hand_over(store, units)?;
                plugin.devgate_plugin_plugin().call_allocate(store, resource, &asked)
            },
            |edits| answer::edits(convert::edits(edits)),
        )
    }

    fn choose(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        available: &[Unit],
        must_include: &[String],
        size: u32,
    ) -> Result<Answer<Vec<String>>, CallError> {
        let Some(preference) = &self.preference else {
            return Err(host_fault("asked for a choice of a component that exports no preference"));
        };
        self.call(
            host,
            |store| {
                let instance = self.component.instance_pre().instantiate(&mut *store)?;
                let preference = preference.load(&mut *store, &instance)?;
                let asked = hand_over(store, available)?;
                let preference = preference.devgate_plugin_preference();
                preference.call_choose(store, resource, &asked, must_include, size)
            },
            answer::choice,
        )
    }

    fn prepare(&self, host: Box<dyn Capabilities>, resource: &str, units: &[Unit]) -> Result<Answer<()>, CallError> {
        self.lifecycle(host, units, |lifecycle, store, units| {
            lifecycle.devgate_plugin_lifecycle().call_prepare(store, resource, units)
        })
    }

    fn release(&self, host: Box<dyn Capabilities>, resource: &str, units: &[Unit]) -> Result<Answer<()>, CallError> {
        self.lifecycle(host, units, |lifecycle, store, units| {
            lifecycle.devgate_plugin_lifecycle().call_release(store, resource, units)
        })
    }
}

/// Own handles for the component, counted.
fn hand_over(store: &mut Store<CallState>, units: &[Unit]) -> wasmtime::Result<Vec<WitUnit>> {
    let handles = units.iter().map(|unit| unit.backing.len() + unit.nodes.len()).sum();
    store.data_mut().meter.take_handles(handles)?;
    Ok(convert::units_for(units))
}

impl Loaded {
    /// A fresh instance.
    fn plugin(&self, store: &mut Store<CallState>) -> wasmtime::Result<PluginComponent> {
        self.component.instantiate(store)
    }

    /// A call of the optional export `lifecycle`: its two functions differ in their names only.
    fn lifecycle(
        &self,
        host: Box<dyn Capabilities>,
        units: &[Unit],
        export: impl FnOnce(&WithLifecycle, &mut Store<CallState>, &[WitUnit]) -> wasmtime::Result<Result<(), WitError>>,
    ) -> Result<Answer<()>, CallError> {
        let Some(lifecycle) = &self.lifecycle else {
            return Err(host_fault("asked to prepare or release by a component that exports no lifecycle"));
        };
        self.call(
            host,
            |store| {
                let instance = self.component.instance_pre().instantiate(&mut *store)?;
                let lifecycle = lifecycle.load(&mut *store, &instance)?;
                let asked = hand_over(store, units)?;
                export(&lifecycle, store, &asked)
            },
            Ok,
        )
    }

    fn call<T, U>(
        &self,
        host: Box<dyn Capabilities>,
        export: impl FnOnce(&mut Store<CallState>) -> wasmtime::Result<Result<T, WitError>>,
        check: impl FnOnce(T) -> Result<U, GuestFault>,
    ) -> Result<Answer<U>, CallError> {
        // A panic in a host function unwinds through wasmtime to here. What it may have left half done is the store, which is
        // dropped, and the capabilities, which are dropped with it.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run(host, export, check)));
        outcome.unwrap_or_else(|panic| Err(host_fault(format!("panic during a call: {}", panic_text(&*panic)))))
    }

    #[tracing::instrument(name = "sandbox.call", level = "trace", skip_all)]
    fn run<T, U>(
        &self,
        host: Box<dyn Capabilities>,
        export: impl FnOnce(&mut Store<CallState>) -> wasmtime::Result<Result<T, WitError>>,
        check: impl FnOnce(T) -> Result<U, GuestFault>,
    ) -> Result<Answer<U>, CallError> {
        let _flight = self.engine.ticker().enter();
        let _runtime = self.enter_runtime();
        let mut store = self.store(CallState::new(host));
        let outcome = export(&mut store);
        let cost = store.data_mut().finish();
        let value = match outcome {
            Ok(Ok(value)) => check(value)?,
            Ok(Err(error)) => return Err(CallError::Failed(answer::failure(convert::failure(error)))),
            Err(error) => {
                return Err(classify(&error, store.data().meter.limits(), &store.data().last_words()));
            }
        };
        let host = store.into_data().into_host()?;
        Ok(Answer { value, host, cost })
    }

    /// WASI's functions want a runtime around them, and start one of their own where there is none.
    pub(crate) fn enter_runtime(&self) -> Option<tokio::runtime::EnterGuard<'_>> {
        self.engine.tokio().filter(|_| self.profile.wasi).map(tokio::runtime::Handle::enter)
    }

    /// A store with every limit set, for one instance.
    pub(crate) fn store(&self, call: CallState) -> Store<CallState> {
        let (transfer, handles) = (call.meter.limits().transfer, call.meter.limits().handles);
        let mut store = Store::new(self.component.engine(), call);
        store.limiter(|call| &mut call.limiter);
        store.set_hostcall_fuel(transfer.as_usize());
        let handles = usize::try_from(handles).unwrap_or(usize::MAX);
        store.set_max_component_handles(handles.saturating_add(HANDLES_BEYOND));
        store.epoch_deadline_callback(move |store| {
            store.data().meter.clocks()?;
            Ok(UpdateDeadline::Continue(1))
        });
        store.set_epoch_deadline(1);
        store
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> GuestText {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    GuestText::new(text.unwrap_or("no message"))
}
