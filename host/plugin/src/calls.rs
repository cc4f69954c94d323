//! How a plugin's component is called: on which thread, for how long, and what a call that never returns costs.

use crate::call::{CallHost, Reads, Waits};
use crate::component::{Answer, Component};
use crate::grants::Grants;
use crate::lane::{Lane, Unanswered};
use crate::means::Means;
use devgate_model::{CallError, HostFault, Limits};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Calls of one plugin that may block at the same time. A read that the kernel never answers keeps one of them for good;
/// when all are gone the plugin fails and the others never notice.
const BLOCKING_CALLS: usize = 4;
/// What a blocking call may take beyond its deadline before the host stops waiting for it: a read of the node cannot be
/// interrupted.
const GRACE: Duration = Duration::from_millis(250);

/// Leave to run calls on threads that serve others, shared by all plugins: one thread of the runtime always stays free of
/// them, and what may block is done by as few others as possible.
#[derive(Clone)]
pub struct Inline {
    leave: Arc<Semaphore>,
    lane: Lane,
}

impl Inline {
    /// Leave for a runtime with this many worker threads.
    #[must_use]
    pub fn new(worker_threads: usize) -> Self {
        Self {
            leave: Arc::new(Semaphore::new(worker_threads.saturating_sub(1))),
            lane: Lane::default(),
        }
    }
}

/// A plugin's component, the policy that it is called under, and the means to call it.
pub(crate) struct Calls {
    pub(crate) grants: Arc<Grants>,
    pub(crate) means: Arc<Means>,
    /// Nothing until it is loaded.
    component: OnceLock<Arc<dyn Component>>,
    config: Arc<str>,
    limits: RwLock<Arc<Limits>>,
    blocking: Arc<Semaphore>,
    inline: Inline,
}

impl Calls {
    pub(crate) fn new(grants: Arc<Grants>, means: Arc<Means>, inline: Inline) -> Self {
        let config = grants.policy.config.to_string().into();
        let limits = RwLock::new(Arc::new(grants.policy.limits.clone()));
        Self {
            grants,
            means,
            component: OnceLock::new(),
            config,
            limits,
            blocking: Arc::new(Semaphore::new(BLOCKING_CALLS)),
            inline,
        }
    }

    /// The same, with the leave to block of whom it may replace: a read that never returns costs the plugin, not each trial.
    pub(crate) fn blocking_with(mut self, before: &Self) -> Self {
        self.blocking = Arc::clone(&before.blocking);
        self
    }

    /// The component, once it is loaded.
    pub(crate) fn component(&self) -> Option<Arc<dyn Component>> {
        self.component.get().cloned()
    }

    /// Notes the component, and returns it with its calls counted. The first one counts: another one gets [`Calls`] of its own.
    pub(crate) fn loaded(&self, component: Arc<dyn Component>) -> Arc<dyn Component> {
        let component = self.grants.board.metered(component);
        Arc::clone(self.component.get_or_init(|| component))
    }

    /// Adjusts the limits to the hardware that is granted now.
    pub(crate) fn scale(&self, devices: usize) {
        let scaled = Arc::new(self.grants.policy.limits.for_devices(devices));
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = scaled;
    }

    pub(crate) fn limits(&self) -> Arc<Limits> {
        Arc::clone(&self.limits.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `work`, which may block, on a thread where it may.
    pub(crate) async fn block<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let host = |message: String| CallError::Host(HostFault(message));
        let permit = tokio::time::timeout(patience, Arc::clone(&self.blocking).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            return Err(host(format!(
                "{BLOCKING_CALLS} earlier calls have not returned from the kernel"
            )));
        };
        let task = self.inline.lane.run(patience, move || {
            let result = work();
            drop(permit);
            result
        });
        task.await.map_err(|unanswered| {
            host(match unanswered {
                Unanswered::Panicked => "a call panicked".to_owned(),
                Unanswered::Hangs => format!("a call did not return within {patience:?}; a read of the node hangs"),
            })
        })
    }

    /// Calls the component on a thread where it may wait. Whatever `call` does with the answer happens there, too.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        component: Arc<dyn Component>,
        call: impl FnOnce(&dyn Component, Box<CallHost>) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        self.calls(1, move |host| call(component.as_ref(), host())).await?
    }

    /// Runs work that calls the component up to `count` times, each time with capabilities of its own, on one thread.
    pub(crate) async fn calls<T: Send + 'static>(
        &self,
        count: usize,
        work: impl FnOnce(&dyn Fn() -> Box<CallHost>) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let limits = self.limits();
        let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let patience = limits.deadline.saturating_mul(count) + GRACE;
        let (grants, means, config) = (
            Arc::clone(&self.grants),
            Arc::clone(&self.means),
            Arc::clone(&self.config),
        );
        // Ends with this future: what still runs then does so for nobody.
        let waits = Waits::default();
        let waited = waits.for_call();
        let host = move || {
            let (grants, means) = (Arc::clone(&grants), Arc::clone(&means));
            let (limits, config) = (Arc::clone(&limits), Arc::clone(&config));
            let host = CallHost::new(grants, means, limits, config, Reads::Here);
            Box::new(host.while_waited(waited.clone()))
        };
        self.block(patience, move || work(&host)).await
    }

    /// The same where it is quick: here and now if the component allows it and a thread can be spared, else as
    /// [`Calls::call`] does. A hop to another thread costs more than a whole allocation.
    pub(crate) async fn call_quick<T: Send + 'static>(
        &self,
        component: Arc<dyn Component>,
        units: usize,
        call: impl FnOnce(&dyn Component, Box<CallHost>) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        if component.profile().wasi {
            return self.call(component, call).await;
        }
        let Ok(_leave) = self.inline.leave.try_acquire() else {
            return self.call(component, call).await;
        };
        // It is about these units, however many others there are.
        let limits = Arc::new(self.grants.policy.limits.for_devices(units));
        let patience = limits.deadline;
        let (runtime, blocking) = (tokio::runtime::Handle::current(), Arc::clone(&self.blocking));
        let reads = Reads::Elsewhere {
            runtime,
            patience,
            blocking,
        };
        let (grants, means) = (Arc::clone(&self.grants), Arc::clone(&self.means));
        let host = CallHost::new(grants, means, limits, Arc::clone(&self.config), reads);
        call(component.as_ref(), Box::new(host))
    }
}

/// The answer and the call's own table, which only this crate makes.
pub(crate) fn open<T>(answer: Answer<T>) -> Result<(T, Box<CallHost>), CallError> {
    match answer.host.into_any().downcast::<CallHost>() {
        Ok(host) => Ok((answer.value, host)),
        Err(_) => Err(CallError::Host(HostFault(
            "the sandbox returned another call's capabilities".into(),
        ))),
    }
}
