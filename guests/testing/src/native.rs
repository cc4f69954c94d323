//! A native type as the plugin layer calls a component.

use crate::answer;
use crate::asked::{Asked, Ended, Question};
use crate::seen::{self, Seen};
use devgate_core::{LoadFailure, Loader};
use devgate_policy::PluginPolicy;
use devgate_sdk::native::{Exported, during};
use devgate_types::component::{Call, CallKind, Capabilities, Component, Cost, Output, Profile};
use devgate_types::{CallError, GuestFault, GuestText, HostFault, answer as check};
use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Instant;

/// Loads one type, whatever file the policy names.
pub(crate) struct NativeLoader<T> {
    pub(crate) seen: Seen,
    pub(crate) what: PhantomData<fn() -> T>,
}

impl<T: Exported> Loader for NativeLoader<T> {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        Ok(Arc::new(Native::<T> {
            profile: Profile {
                preference: T::CHOOSE.is_some(),
                lifecycle: T::LIFECYCLE.is_some(),
                parameters: T::ALLOCATE_WITH.is_some(),
                conditions: T::EXAMINE.is_some(),
                ..Profile::default()
            },
            policy: Arc::new(policy.clone()),
            seen: self.seen.clone(),
            what: PhantomData,
        }))
    }

    fn digest(&self, _: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure> {
        Ok(None)
    }
}

/// One type under one policy.
struct Native<T> {
    profile: Profile,
    policy: Arc<PluginPolicy>,
    seen: Seen,
    what: PhantomData<fn() -> T>,
}

impl<T: Exported> Native<T> {
    /// What the function returns, its answer checked as a sandbox checks it. In a call.
    fn export(call: &Call<'_>) -> Result<Output, CallError> {
        let lacks = |what| move || CallError::Host(HostFault(format!("asked of a component that exports no {what}")));
        let said = |error| CallError::Failed(check::failure(answer::failure(error)));
        let (resource, units, mut output) = (call.resource.to_owned(), answer::lend(call.units), Output::default());
        match call.kind {
            CallKind::Enumerate => output.pools = answer::pools(T::enumerate().map_err(said)?),
            CallKind::Health => {
                output.verdicts = answer::verdicts(T::health(resource, units).map_err(said)?);
            }
            CallKind::Allocate if !call.settings.is_empty() => {
                let allocate_with = T::ALLOCATE_WITH.ok_or_else(lacks("parameters"))?;
                let edits = allocate_with(resource, units, answer::settings(call.settings)).map_err(said)?;
                output.edits = answer::edits(edits);
            }
            CallKind::Allocate => output.edits = answer::edits(T::allocate(resource, units).map_err(said)?),
            CallKind::Choose => {
                let choose = T::CHOOSE.ok_or_else(lacks("preference"))?;
                output.choice = choose(resource, units, call.must_include.to_vec(), call.size).map_err(said)?;
            }
            CallKind::Prepare => T::LIFECYCLE.ok_or_else(lacks("lifecycle"))?.0(resource, units).map_err(said)?,
            CallKind::Examine => {
                let examine = T::EXAMINE.ok_or_else(lacks("conditions"))?;
                output.conditions = answer::conditions(examine(resource, units).map_err(said)?);
            }
            CallKind::Release => T::LIFECYCLE.ok_or_else(lacks("lifecycle"))?.1(resource, units).map_err(said)?,
        }
        Ok(check::check(call, output)?)
    }

    /// One call, on the component's own thread; and how often it asked its host.
    fn run(&self, call: &Call<'_>, asked: Asked) -> (Result<Output, CallError>, u32) {
        let asked = Rc::new(RefCell::new(asked));
        // Lent handles count as the component's own.
        let work = || {
            let lent = call.units.iter().map(|unit| unit.backing.len() + unit.nodes.len()).sum();
            asked.borrow_mut().take_handles(lent);
            during(asked.clone(), || Self::export(call))
        };
        let function = call.kind.as_str();
        let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(self.ended(function, panic)));
        let host_calls = asked.borrow().host_calls;
        (outcome, host_calls)
    }

    /// Why a call was left in the middle: the host ended it, or it panicked, which fails the test.
    fn ended(&self, function: &str, panic: Box<dyn Any + Send>) -> CallError {
        let panic = match panic.downcast::<Ended>() {
            Ok(ended) => return ended.0,
            Err(panic) => panic,
        };
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("a panic without a message");
        let message = format!("in {function}: {text}");
        self.seen.notes().panic.get_or_insert(message);
        GuestFault::Trap(GuestText::new(text)).into()
    }
}

impl<T: Exported> Component for Native<T> {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn call(&self, call: &Call<'_>, host: &mut dyn Capabilities) -> Result<(Output, Cost), CallError> {
        let started = Instant::now();
        let (questions, put) = sync_channel::<Question>(0);
        let asked = Asked::new(questions, host.limits().clone(), &self.policy, &self.seen);
        let ran = thread::scope(|scope| {
            let component = scope.spawn(|| self.run(call, asked));
            // Until the component's host is gone.
            put.into_iter().for_each(|question| question(host));
            component.join()
        });
        let (outcome, host_calls) = ran.unwrap_or_else(|panic| resume_unwind(panic));
        let mut notes = self.seen.notes();
        notes.calls.push(seen::Call {
            function: call.kind.as_str(),
            ids: call.units.iter().map(|unit| unit.id.clone()).collect(),
            failed: outcome.as_ref().err().map(ToString::to_string),
        });
        let output = outcome?;
        let verdicts = call.units.iter().zip(&output.verdicts);
        notes.verdicts.extend(verdicts.map(|(unit, verdict)| (unit.id.clone(), verdict.clone())));
        Ok((output, Cost { time: started.elapsed(), host_calls, ..Cost::default() }))
    }
}
