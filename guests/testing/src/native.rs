//! A native type as the plugin layer calls a component.

use crate::answer::{self, Checked};
use crate::asked::{Asked, Ended};
use crate::seen::{Call, Seen};
use devgate_core::{LoadFailure, Loader};
use devgate_policy::PluginPolicy;
use devgate_sdk::native::{Exported, during};
use devgate_types::component::{Answer, Capabilities, Component, Cost, Profile};
use devgate_types::{CallError, Edits, GuestFault, GuestText, HostFault, Pool, Unit, Verdict};
use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
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

type Answered<T> = Result<T, devgate_sdk::Error>;

impl<T: Exported> Native<T> {
    /// One call: `export` with units lent, and its answer checked as a sandbox checks it.
    fn call<A, B>(
        &self,
        function: &'static str,
        host: Box<dyn Capabilities>,
        units: &[Unit],
        export: impl FnOnce(Vec<devgate_sdk::Unit>) -> Answered<A>,
        check: impl FnOnce(A) -> Checked<B>,
    ) -> Result<Answer<B>, CallError> {
        let started = Instant::now();
        let asked = Rc::new(RefCell::new(Asked::new(host, &self.policy, &self.seen)));
        // Lent handles count as the component's own.
        let work = || {
            let lent = units.iter().map(|unit| unit.backing.len() + unit.nodes.len()).sum();
            asked.borrow_mut().take_handles(lent);
            during(asked.clone(), || match export(answer::lend(units)) {
                Ok(value) => check(value).map_err(CallError::from),
                Err(error) => Err(CallError::Failed(answer::failure(error))),
            })
        };
        let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(self.ended(function, panic)));
        self.seen.notes().calls.push(Call {
            function,
            ids: units.iter().map(|unit| unit.id.clone()).collect(),
            failed: outcome.as_ref().err().map(ToString::to_string),
        });
        let value = outcome?;
        let Some(asked) = Rc::into_inner(asked) else {
            return Err(CallError::Host(HostFault("the host of a call outlived it".to_owned())));
        };
        let asked = asked.into_inner();
        Ok(Answer {
            value,
            cost: Cost { time: started.elapsed(), host_calls: asked.host_calls, ..Cost::default() },
            host: asked.capabilities,
        })
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

    fn lacks(what: &str) -> CallError {
        CallError::Host(HostFault(format!("asked of a component that exports no {what}")))
    }
}

impl<T: Exported> Component for Native<T> {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn enumerate(&self, host: Box<dyn Capabilities>) -> Result<Answer<Vec<Pool>>, CallError> {
        self.call("enumerate", host, &[], |_| T::enumerate(), answer::pools)
    }

    fn health(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        units: &[Unit],
    ) -> Result<Answer<Vec<Verdict>>, CallError> {
        let health = |lent| T::health(resource.to_owned(), lent);
        let check = |verdicts| answer::verdicts(verdicts, units.len());
        let answer = self.call("health", host, units, health, check)?;
        let mut notes = self.seen.notes();
        let verdicts = units.iter().zip(&answer.value);
        notes.verdicts.extend(verdicts.map(|(unit, verdict)| (unit.id.clone(), verdict.clone())));
        drop(notes);
        Ok(answer)
    }

    fn allocate(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        units: &[Unit],
    ) -> Result<Answer<Edits>, CallError> {
        self.call("allocate", host, units, |lent| T::allocate(resource.to_owned(), lent), answer::edits)
    }

    fn choose(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        available: &[Unit],
        must_include: &[String],
        size: u32,
    ) -> Result<Answer<Vec<String>>, CallError> {
        let choose = T::CHOOSE.ok_or_else(|| Self::lacks("preference"))?;
        let choose = |lent| choose(resource.to_owned(), lent, must_include.to_vec(), size);
        self.call("choose", host, available, choose, answer::choice)
    }

    fn prepare(&self, host: Box<dyn Capabilities>, resource: &str, units: &[Unit]) -> Result<Answer<()>, CallError> {
        let (prepare, _) = T::LIFECYCLE.ok_or_else(|| Self::lacks("lifecycle"))?;
        self.call("prepare", host, units, |lent| prepare(resource.to_owned(), lent), Ok)
    }

    fn release(&self, host: Box<dyn Capabilities>, resource: &str, units: &[Unit]) -> Result<Answer<()>, CallError> {
        let (_, release) = T::LIFECYCLE.ok_or_else(|| Self::lacks("lifecycle"))?;
        self.call("release", host, units, |lent| release(resource.to_owned(), lent), Ok)
    }
}
