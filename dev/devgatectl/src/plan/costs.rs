//! What a component's calls take.

use devgate_types::component::{Call, Capabilities, Component, Cost, Output, Profile};
use devgate_types::{CallError, Limits};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The slowest call of one function of a plugin's component, beside what it may take.
#[derive(Debug, Clone)]
pub(crate) struct CallCost {
    pub(crate) plugin: String,
    pub(crate) call: &'static str,
    pub(crate) cost: Cost,
    /// Bytes that the host read from the node.
    pub(crate) read: u64,
    pub(crate) limits: Limits,
}

/// The costs so far, by plugin and function. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Costs(Arc<Mutex<BTreeMap<(String, &'static str), CallCost>>>);

impl Costs {
    pub(super) fn all(&self) -> Vec<CallCost> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// A component whose calls are measured.
pub(super) struct Measured {
    pub(super) plugin: String,
    pub(super) inner: Arc<dyn Component>,
    pub(super) costs: Costs,
}

impl Component for Measured {
    fn profile(&self) -> &Profile {
        self.inner.profile()
    }

    fn call(&self, call: &Call<'_>, host: &mut dyn Capabilities) -> Result<(Output, Cost), CallError> {
        let (output, cost) = self.inner.call(call, host)?;
        let (plugin, call) = (self.plugin.clone(), call.kind.as_str());
        let measured =
            CallCost { plugin: plugin.clone(), call, cost, read: host.bytes_read(), limits: host.limits().clone() };
        let mut costs = self.costs.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slowest = costs.entry((plugin, call)).or_insert_with(|| measured.clone());
        if slowest.cost.time < cost.time {
            *slowest = measured;
        }
        drop(costs);
        Ok((output, cost))
    }

    fn restarts(&self) -> u64 {
        self.inner.restarts()
    }
}
