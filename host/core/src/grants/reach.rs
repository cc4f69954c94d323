//! Whether a plugin may ever claim something of another one's units.

mod around;

use super::Grants;
use crate::units::{GrantedNode, PoolRecord};
use around::has_any;
use devgate_node::DevicePath;
use devgate_policy::Use;
use std::collections::HashSet;
use tokio_util::sync::CancellationToken;

impl Grants {
    /// Whether what these grants let be offered has anything in common with the pools' units: one of their devices, what is above or
    /// beneath it, another part of the same device, or a node. What cannot be told may be so, and so it is when the answer is not
    /// waited for any more. Reads the node around the units alone, and each device there once, so that hardware which does not answer
    /// holds up its own plugin alone, and many units of one device are no more work than one.
    pub(crate) fn may_claim_of<'a>(
        &self,
        pools: impl Iterator<Item = &'a PoolRecord>,
        given_up: &CancellationToken,
    ) -> bool {
        let listed = |node: &GrantedNode| {
            let grant = self.policy.host_nodes.grant(&node.node.path);
            grant.is_some_and(|grant| !(grant.shared && node.grant.shared))
        };
        let mut wholes = HashSet::new();
        for pool in pools.filter(|pool| !pool.units.is_empty()) {
            if pool.shared_nodes.iter().any(listed) {
                return true;
            }
            for unit in &pool.units {
                if given_up.is_cancelled() || unit.nodes.iter().any(listed) {
                    return true;
                }
                let pieces = unit.pieces.iter().filter(|piece| self.node.exists(piece));
                for device in unit.devices().chain(pieces) {
                    let Some(whole) = self.whole(device) else { return true };
                    wholes.insert(whole);
                }
            }
        }
        has_any(
            wholes,
            || given_up.is_cancelled(),
            |device| self.node.parent(device),
            |device| self.node.child_devices(device).ok(),
            |device| self.may_claim(device),
        )
    }

    fn may_claim(&self, device: &DevicePath) -> bool {
        let listed = || match self.node.own_node(device) {
            Ok(Some(node)) => self.policy.host_nodes.grant(&node.path).is_some(),
            Ok(None) | Err(_) => false,
        };
        self.usage(device) == Some(Use::Offer) || listed()
    }

    /// The device of a bus that this one is a part of, or the topmost of those that are of none; nothing where that cannot be told.
    fn whole(&self, device: &DevicePath) -> Option<DevicePath> {
        let mut at = device.clone();
        loop {
            let subsystem = self.node.subsystem(&at).ok()?;
            if subsystem.is_some_and(|subsystem| subsystem.is_bus) {
                return Some(at);
            }
            match self.node.parent(&at) {
                Some(parent) => at = parent,
                None => return Some(at),
            }
        }
    }
}
