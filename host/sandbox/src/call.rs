//! One call: a fresh instance, every limit, the answer as plain data.

use crate::bindings::types::{Error as WitError, Unit as WitUnit};
use crate::convert;
use crate::fault::classify;
use crate::load::Loaded;
use crate::meter::host_fault;
use crate::state::CallState;
use devgate_types::component::{Call, CallKind, Capabilities, Cost, Output};
use devgate_types::{CallError, GuestText, Unit, answer};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wasmtime::component::Instance;
use wasmtime::{Store, UpdateDeadline};

/// How many handles wasmtime itself allows beyond `limits.handles`, so that ours is the limit that is met and named. It
/// counts a component's own resources, too, which ours does not.
const HANDLES_BEYOND: usize = 64;

/// Own handles for the component, counted.
fn hand_over(store: &mut Store<CallState>, units: &[Unit]) -> wasmtime::Result<Vec<WitUnit>> {
    let handles = units.iter().map(|unit| unit.backing.len() + unit.nodes.len()).sum();
    store.data_mut().meter.take_handles(handles)?;
    Ok(convert::units_for(units))
}

impl Loaded {
    /// One call: as [`devgate_types::component::Component::call`], but what answers is the instance's own, which a store holds.
    pub fn call(&self, call: &Call<'_>, host: Box<dyn Capabilities>) -> Result<(Output, Cost), CallError> {
        // A panic in a host function unwinds through wasmtime to here. What it may have left half done is the store, which is
        // dropped, and the capabilities, which are dropped with it.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run(call, host)));
        outcome.unwrap_or_else(|panic| Err(host_fault(format!("panic during a call: {}", panic_text(&*panic)))))
    }

    #[tracing::instrument(name = "sandbox.call", level = "trace", skip_all)]
    fn run(&self, call: &Call<'_>, host: Box<dyn Capabilities>) -> Result<(Output, Cost), CallError> {
        let _flight = self.engine.ticker.enter();
        let _runtime = self.enter_runtime();
        let mut store = self.store(CallState::new(host));
        let outcome = self.export(&mut store, call);
        let cost = store.data_mut().finish();
        match outcome {
            Ok(Ok(output)) => Ok((answer::check(call, output)?, cost)),
            Ok(Err(error)) => Err(CallError::Failed(answer::failure(convert::failure(error)))),
            Err(error) => Err(classify(&error, store.data().meter.limits(), &store.data().last_words())),
        }
    }

    /// Calls the function of a fresh instance.
    fn export(&self, store: &mut Store<CallState>, call: &Call<'_>) -> wasmtime::Result<Result<Output, WitError>> {
        let Call { resource, units, must_include, size, settings, .. } = *call;
        let none = Output::default;
        Ok(match call.kind {
            CallKind::Enumerate => {
                let plugin = self.component.instantiate(&mut *store)?;
                let pools = plugin.devgate_plugin_plugin().call_enumerate(store)?;
                pools.map(|pools| Output { pools: convert::pools(pools), ..none() })
            }
            CallKind::Health => {
                let plugin = self.component.instantiate(&mut *store)?;
                let units = hand_over(store, units)?;
                let verdicts = plugin.devgate_plugin_plugin().call_health(store, resource, &units)?;
                verdicts.map(|verdicts| Output { verdicts: convert::verdicts(verdicts), ..none() })
            }
            CallKind::Allocate if !settings.is_empty() => {
                let lacks = "gave settings to a component that exports no parameters";
                let (indices, instance) = self.optional(&self.exports.parameters, lacks, store)?;
                let parameters = indices.load(&mut *store, &instance)?;
                let units = hand_over(store, units)?;
                let parameters = parameters.devgate_plugin0_1_1_parameters();
                let edits = parameters.call_allocate_with(store, resource, &units, &convert::settings(settings))?;
                edits.map(|edits| Output { edits: convert::edits(edits), ..none() })
            }
            CallKind::Allocate => {
                let plugin = self.component.instantiate(&mut *store)?;
                let units = hand_over(store, units)?;
                let edits = plugin.devgate_plugin_plugin().call_allocate(store, resource, &units)?;
                edits.map(|edits| Output { edits: convert::edits(edits), ..none() })
            }
            CallKind::Choose => {
                let lacks = "asked for a choice of a component that exports no preference";
                let (indices, instance) = self.optional(&self.exports.preference, lacks, store)?;
                let preference = indices.load(&mut *store, &instance)?;
                let units = hand_over(store, units)?;
                let preference = preference.devgate_plugin_preference();
                let choice = preference.call_choose(store, resource, &units, must_include, size)?;
                choice.map(|choice| Output { choice, ..none() })
            }
            CallKind::Prepare | CallKind::Release => {
                let lacks = "asked to prepare or release by a component that exports no lifecycle";
                let (indices, instance) = self.optional(&self.exports.lifecycle, lacks, store)?;
                let lifecycle = indices.load(&mut *store, &instance)?;
                let units = hand_over(store, units)?;
                let lifecycle = lifecycle.devgate_plugin_lifecycle();
                let done = match call.kind {
                    CallKind::Prepare => lifecycle.call_prepare(store, resource, &units)?,
                    _ => lifecycle.call_release(store, resource, &units)?,
                };
                done.map(|()| none())
            }
            CallKind::Examine => {
                let lacks = "asked for conditions of a component that exports none";
                let (indices, instance) = self.optional(&self.exports.conditions, lacks, store)?;
                let conditions = indices.load(&mut *store, &instance)?;
                let units = hand_over(store, units)?;
                let conditions = conditions.devgate_plugin0_1_1_conditions().call_examine(store, resource, &units)?;
                conditions.map(|conditions| Output { conditions: convert::conditions(conditions), ..none() })
            }
        })
    }

    /// An export that not every component has, and a fresh instance.
    fn optional<'a, T>(
        &self,
        export: &'a Option<T>,
        lacks: &str,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<(&'a T, Instance)> {
        let export = export.as_ref().ok_or_else(|| host_fault(lacks))?;
        Ok((export, self.component.instance_pre().instantiate(store)?))
    }

    /// WASI's functions want a runtime around them, and start one of their own where there is none.
    pub(crate) fn enter_runtime(&self) -> Option<tokio::runtime::EnterGuard<'_>> {
        self.engine.tokio.as_ref().filter(|_| self.profile.wasi).map(tokio::runtime::Handle::enter)
    }

    /// A store with every limit set, for one instance.
    pub(crate) fn store(&self, call: CallState) -> Store<CallState> {
        let (transfer, handles) = (call.meter.limits().transfer, call.meter.limits().handles);
        let mut store = Store::new(self.component.engine(), call);
        store.limiter(|call| &mut call.meter);
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
