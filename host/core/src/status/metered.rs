//! A component whose calls are counted.

use super::Board;
use super::calls::{CallKind, Used};
use devgate_types::component::{Answer, Capabilities, Component, Profile};
use devgate_types::{CallError, Edits, Pool, Unit, Verdict};
use std::sync::Arc;
use std::time::Instant;

/// A component, and where to note what its calls take.
pub(super) struct Metered {
    pub(super) component: Arc<dyn Component>,
    pub(super) board: Arc<Board>,
}

impl Metered {
    fn count<T>(
        &self,
        call: CallKind,
        work: impl FnOnce() -> Result<Answer<T>, CallError>,
    ) -> Result<Answer<T>, CallError> {
        let started = Instant::now();
        let result = work();
        self.board
            .call_ended(call, started.elapsed(), result.as_ref().map(Used::of));
        result
    }
}

impl Component for Metered {
    fn profile(&self) -> &Profile {
        self.component.profile()
    }

    fn enumerate(&self, host: Box<dyn Capabilities>) -> Result<Answer<Vec<Pool>>, CallError> {
        self.count(CallKind::Enumerate, || self.component.enumerate(host))
    }

    fn health(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        units: &[Unit],
    ) -> Result<Answer<Vec<Verdict>>, CallError> {
        self.count(CallKind::Health, || self.component.health(host, resource, units))
    }

    fn allocate(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        units: &[Unit],
    ) -> Result<Answer<Edits>, CallError> {
        self.count(CallKind::Allocate, || self.component.allocate(host, resource, units))
    }

    fn choose(
        &self,
        host: Box<dyn Capabilities>,
        resource: &str,
        available: &[Unit],
        must_include: &[String],
        size: u32,
    ) -> Result<Answer<Vec<String>>, CallError> {
        self.count(CallKind::Choose, || {
            self.component.choose(host, resource, available, must_include, size)
        })
    }

    fn prepare(&self, host: Box<dyn Capabilities>, resource: &str, units: &[Unit]) -> Result<Answer<()>, CallError> {
        self.count(CallKind::Prepare, || self.component.prepare(host, resource, units))
    }

    fn release(&self, host: Box<dyn Capabilities>, resource: &str, units: &[Unit]) -> Result<Answer<()>, CallError> {
        self.count(CallKind::Release, || self.component.release(host, resource, units))
    }
}
