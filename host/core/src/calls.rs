//! How a plugin's component is called: on which thread, for how long, and what a call that never returns costs.

use crate::call::CallHost;
use crate::grants::Grants;
use crate::plugin_services::PluginServices;
use crate::status::StatusRecorder;
use devgate_types::component::Component;
use devgate_types::{CallError, HostFault, Limits, Mutex};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Calls of one plugin that may block at the same time. A read that the kernel never answers keeps one of them for good;
/// when all are gone the plugin fails and the others never notice.
const BLOCKING_CALLS: usize = 4;
/// What a blocking call may take beyond its deadline before the host stops waiting for it: a read of the node cannot be
/// interrupted.
const GRACE: Duration = Duration::from_millis(250);

/// How much of a call's time is counted at once, however long it was: a host that was stopped (a frozen virtual machine) has not waited.
const COUNTED: Duration = Duration::from_millis(50);

/// A plugin's component, the policy that it is called under, and the means to call it.
pub(crate) struct Calls {
    pub(crate) grants: Arc<Grants>,
    pub(crate) services: Arc<PluginServices>,
    /// Nothing until it is loaded.
    component: OnceLock<Arc<dyn Component>>,
    limits: Mutex<Arc<Limits>>,
    blocking: Arc<Semaphore>,
}

impl Calls {
    pub(crate) fn new(grants: Arc<Grants>, services: Arc<PluginServices>) -> Self {
        let limits = Mutex::new(Arc::new(grants.policy.limits.clone()));
        Self {
            grants,
            services,
            component: OnceLock::new(),
            limits,
            blocking: Arc::new(Semaphore::new(BLOCKING_CALLS)),
        }
    }

    /// The same plugin's under another policy. What it keeps is its own, and so is the leave to block: a read that never returns
    /// costs the plugin, not each trial.
    pub(crate) fn under(&self, grants: Arc<Grants>) -> Self {
        Self { blocking: Arc::clone(&self.blocking), ..Self::new(grants, Arc::clone(&self.services)) }
    }

    /// The component, once it is loaded.
    pub(crate) fn component(&self) -> Option<Arc<dyn Component>> {
        self.component.get().cloned()
    }

    /// Notes the component. The first one counts: another one gets [`Calls`] of its own.
    pub(crate) fn loaded(&self, component: Arc<dyn Component>) -> Arc<dyn Component> {
        Arc::clone(self.component.get_or_init(|| component))
    }

    /// Adjusts the limits to the hardware that is granted now.
    pub(crate) fn scale(&self, devices: usize) {
        let scaled = Arc::new(self.grants.policy.limits.for_devices(devices));
        *self.limits.lock() = scaled;
    }

    pub(crate) fn limits(&self) -> Arc<Limits> {
        Arc::clone(&self.limits.lock())
    }

    /// Runs `work`, which may block, on a thread that serves no socket: one that is stuck there would keep all others from being
    /// answered. Fails when it does not return within `patience`; it goes on then, as nothing ends a thread from outside.
    pub(crate) async fn block<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let host = |message: String| CallError::Host(HostFault(message));
        let permit = tokio::time::timeout(patience, Arc::clone(&self.blocking).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            return Err(host(format!("{BLOCKING_CALLS} earlier calls have not returned from the kernel")));
        };
        let span = tracing::Span::current();
        let mut call = UnderWay {
            task: Some(tokio::task::spawn_blocking(move || {
                let _permit = permit;
                span.in_scope(work)
            })),
            end: Instant::now() + patience,
            recorder: Arc::clone(&self.grants.recorder),
        };
        call.result(patience).await.unwrap_or_else(|| {
            let why = "a read of the node hangs, or the node is too busy";
            Err(host(format!("a call did not return within {patience:?}: {why}")))
        })
    }

    /// Calls the component on a thread where it may wait. Whatever `call` does with the answer happens there, too.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        component: Arc<dyn Component>,
        call: impl FnOnce(&dyn Component, &mut CallHost) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let work = move |host: &dyn Fn() -> CallHost| call(component.as_ref(), &mut host());
        self.calls(self.limits(), 1, work).await?
    }

    /// Runs work that calls the component up to `count` times within these limits, each time with capabilities of its own, on one
    /// thread.
    pub(crate) async fn calls<T: Send + 'static>(
        &self,
        limits: Arc<Limits>,
        count: usize,
        work: impl FnOnce(&dyn Fn() -> CallHost) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let patience = limits.deadline.saturating_mul(count) + GRACE;
        let (grants, services) = (Arc::clone(&self.grants), Arc::clone(&self.services));
        // Ends with this future: what still runs then has no caller.
        let given_up = CancellationToken::new();
        let _ends = given_up.clone().drop_guard();
        let host = move || {
            let (grants, services) = (Arc::clone(&grants), Arc::clone(&services));
            CallHost::new(grants, services, Arc::clone(&limits)).until(given_up.clone())
        };
        self.block(patience, move || work(&host)).await
    }
}

/// A call that has begun. Where it has not returned by its end it counts as one that hangs, until it does; its caller may have gone
/// away before.
struct UnderWay<T: Send + 'static> {
    task: Option<JoinHandle<T>>,
    end: Instant,
    recorder: Arc<StatusRecorder>,
}

impl<T: Send + 'static> UnderWay<T> {
    /// What it returns, if it does in time.
    async fn result(&mut self, patience: Duration) -> Option<Result<T, CallError>> {
        let task = self.task.as_mut()?;
        let mut left = patience;
        while !left.is_zero() {
            let part = left.min(COUNTED);
            if let Ok(ended) = tokio::time::timeout(part, &mut *task).await {
                return Some(ended.map_err(|_| CallError::Host(HostFault("a call panicked".to_owned()))));
            }
            left = left.saturating_sub(part);
        }
        None
    }
}

impl<T: Send + 'static> Drop for UnderWay<T> {
    fn drop(&mut self) {
        let task = self.task.take().filter(|task| !task.is_finished());
        // Without a runtime the process is about to end.
        let (Some(task), Ok(runtime)) = (task, Handle::try_current()) else {
            return;
        };
        let (end, recorder) = (self.end, Arc::clone(&self.recorder));
        runtime.spawn(async move {
            tokio::time::sleep_until(end).await;
            if !task.is_finished() {
                recorder.record_given_up();
                let _ = task.await;
                recorder.record_returned();
            }
        });
    }
}

#[cfg(test)]
mod tests;
