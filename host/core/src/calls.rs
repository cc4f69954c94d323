//! How a plugin's component is called: on which thread, for how long, and what a call that never returns costs.

use crate::call::CallHost;
use crate::failures::Failures;
use crate::grants::Grants;
use crate::lane::{Lane, Unanswered};
use crate::overdue::{self, Bounds, Doing, Overdue, Whose};
use crate::plugin_services::PluginServices;
use devgate_types::component::Component;
use devgate_types::{CallError, HostFault, Limits, Mutex};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Calls of one plugin that may block at the same time. A read that the kernel never answers keeps one of them for good;
/// when all are gone the plugin fails and the others never notice.
const BLOCKING_CALLS: usize = 4;
/// What a blocking call may take beyond its deadline before the host stops waiting for it: a read of the node cannot be
/// interrupted.
const GRACE: Duration = Duration::from_millis(250);

/// Where calls of all plugins run, and what is known of those that do not return. No call runs on a thread that serves a socket: one
/// that is stuck there would keep all others from being answered. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Threads {
    lane: Lane,
    overdue: Overdue,
}

impl Threads {
    pub(crate) fn new(failures: Failures) -> Self {
        Self {
            lane: Lane::default(),
            overdue: Overdue::new(Bounds::default(), failures),
        }
    }
}

/// A plugin's component, the policy that it is called under, and the means to call it.
pub(crate) struct Calls {
    pub(crate) grants: Arc<Grants>,
    pub(crate) services: Arc<PluginServices>,
    /// Nothing until it is loaded.
    component: OnceLock<Arc<dyn Component>>,
    limits: Mutex<Arc<Limits>>,
    blocking: Arc<Semaphore>,
    threads: Threads,
}

impl Calls {
    pub(crate) fn new(grants: Arc<Grants>, services: Arc<PluginServices>, threads: Threads) -> Self {
        let limits = Mutex::new(Arc::new(grants.policy.limits.clone()));
        Self {
            grants,
            services,
            component: OnceLock::new(),
            limits,
            blocking: Arc::new(Semaphore::new(BLOCKING_CALLS)),
            threads,
        }
    }

    /// The same plugin's under another policy. What it keeps is its own, and so is the leave to block: a read that never returns
    /// costs the plugin, not each trial.
    pub(crate) fn under(&self, grants: Arc<Grants>) -> Self {
        Self {
            blocking: Arc::clone(&self.blocking),
            ..Self::new(grants, Arc::clone(&self.services), self.threads.clone())
        }
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

    /// Runs the host's own `work`, which may block, on a thread where it may. No component is called in it, so that it ends by
    /// itself however late it is, unless the kernel does not answer.
    pub(crate) async fn block<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CallError> {
        self.run(Whose::Host, patience, work).await
    }

    async fn run<T: Send + 'static>(
        &self,
        whose: Whose,
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
        let call = Arc::new(overdue::Call::of(whose));
        let (recorder, plugin) = (&self.grants.recorder, self.grants.policy.name.as_str());
        let end = Instant::now() + patience;
        let _waits = self.threads.overdue.wait_for(&call, plugin, recorder, end);
        let (begun, span) = (Arc::clone(&call), tracing::Span::current());
        let task = self.threads.lane.run(patience, move || {
            let here = begun.begin();
            let result = span.in_scope(work);
            drop(permit);
            drop(here);
            result
        });
        task.await.map_err(|unanswered| {
            host(match (unanswered, call.doing()) {
                (Unanswered::Panicked, _) => "a call panicked".to_owned(),
                (Unanswered::Hangs, Doing::HasNotBegun) => {
                    format!("a call did not begin within {patience:?}: this node is too busy")
                }
                (Unanswered::Hangs, Doing::Computes) => {
                    format!("a call did not return within {patience:?}, and goes on computing")
                }
                (Unanswered::Hangs, Doing::Waits) => {
                    format!("a call did not return within {patience:?}; a read of the node hangs")
                }
            })
        })
    }

    /// Calls the component on a thread where it may wait. Whatever `call` does with the answer happens there, too.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        component: Arc<dyn Component>,
        call: impl FnOnce(&dyn Component, Box<CallHost>) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let work = move |host: &dyn Fn() -> Box<CallHost>| call(component.as_ref(), host());
        self.calls(self.limits(), 1, work).await?
    }

    /// Runs work that calls the component up to `count` times within these limits, each time with capabilities of its own, on one
    /// thread.
    pub(crate) async fn calls<T: Send + 'static>(
        &self,
        limits: Arc<Limits>,
        count: usize,
        work: impl FnOnce(&dyn Fn() -> Box<CallHost>) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let patience = limits.deadline.saturating_mul(count) + GRACE;
        let (grants, services) = (Arc::clone(&self.grants), Arc::clone(&self.services));
        // Ends with this future: what still runs then has no caller.
        let given_up = CancellationToken::new();
        let _ends = given_up.clone().drop_guard();
        let host = move || {
            let (grants, services) = (Arc::clone(&grants), Arc::clone(&services));
            Box::new(CallHost::new(grants, services, Arc::clone(&limits)).until(given_up.clone()))
        };
        self.run(Whose::Component, patience, move || work(&host)).await
    }
}
