//! Whether a plugin may ever claim something of another one's unit.

use super::{GrantedNode, Grants};
use crate::inventory::UnitRecord;
use devgate_node::DevicePath;
use devgate_policy::Use;

impl Grants {
    /// Whether what these grants let be offered has anything in common with a unit: one of its devices, what is above or beneath
    /// it, another part of the same device, or a node. What cannot be told may be so. Reads the node around the unit alone, so that
    /// hardware which does not answer holds up nobody but its own plugin.
    pub(crate) fn may_claim_of(&self, unit: &UnitRecord, shared_nodes: &[GrantedNode]) -> bool {
        let listed = |node: &GrantedNode| {
            let grant = self.policy.host_nodes.grant(&node.node.path);
            grant.is_some_and(|grant| !(grant.shared && node.grant.shared))
        };
        if unit.nodes.iter().chain(shared_nodes).any(listed) {
            return true;
        }
        let pieces = unit.pieces.iter().filter(|piece| self.node.exists(piece));
        unit.devices().chain(pieces).any(|device| self.may_claim_around(device))
    }

    fn may_claim_around(&self, device: &DevicePath) -> bool {
        let Some(whole) = self.whole(device) else { return true };
        let above = std::iter::successors(Some(whole.clone()), |at| self.node.parent(at));
        if above.into_iter().any(|at| self.may_claim(&at)) {
            return true;
        }
        let mut open = vec![whole];
        while let Some(at) = open.pop() {
            let Ok(children) = self.node.child_devices(&at) else {
                return true;
            };
            if children.iter().any(|child| self.may_claim(child)) {
                return true;
            }
            open.extend(children);
        }
        false
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
