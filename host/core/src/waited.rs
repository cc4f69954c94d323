//! Whether anybody still waits for a call: one that hung until nobody does must not act on the node any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whoever waits for a call has this; when it is dropped, nobody does.
#[derive(Debug, Default)]
pub(crate) struct Waits(Arc<AtomicBool>);

/// What the call itself has.
#[derive(Debug, Clone)]
pub(crate) struct Waited(Arc<AtomicBool>);

impl Waits {
    /// For the call.
    pub(crate) fn for_call(&self) -> Waited {
        Waited(Arc::clone(&self.0))
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Waited {
    /// By whoever runs the call.
    pub(crate) fn here() -> Self {
        Self(Arc::default())
    }

    /// Whether nobody waits any more.
    pub(crate) fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
