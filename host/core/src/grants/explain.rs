//! Why a device or a node is granted, or is not: the same decisions, with what they were made of.

use super::{Facts, Grants, Withheld};
use crate::units::GrantedNode;
use devgate_node::{DevicePath, ReadError};
use devgate_policy::{Selector, Use};

/// How one plugin sees one device.
#[derive(Debug, Clone)]
pub struct Sight {
    /// What the plugin may do with it; nothing where it does not even see it.
    pub usage: Option<Use>,
    /// The device above that the selectors match, where they reach down from there.
    pub from: Option<DevicePath>,
    /// Of each selector of the plugin, in the policy's order, the first key that does not hold of the device itself; `None` if
    /// all do.
    pub unmet: Vec<Option<&'static str>>,
    /// The nodes of the device, and of what is beneath it, that may be handed out.
    pub nodes: Vec<GrantedNode>,
    /// Those that the policy offers and the host does not give, and why.
    pub withheld: Vec<Withheld>,
}

impl Grants {
    /// How the plugin sees a device.
    ///
    /// # Errors
    /// When what is beneath it cannot be read.
    pub fn sight(&self, device: &DevicePath) -> Result<Sight, ReadError> {
        let facts = Facts::new(&self.node, device);
        let unmet = self.policy.hardware.iter().map(|selector| selector.unmet(&facts)).collect();
        let usage = self.usage(device);
        let from = self.reach(device).map(|(from, _)| from).filter(|from| from != device);
        let (nodes, withheld) = match usage {
            Some(Use::Offer) => self.nodes(device, None)?,
            Some(Use::Read) | None => (Vec::new(), Vec::new()),
        };
        Ok(Sight { usage, from, unmet, nodes, withheld })
    }

    /// How many devices each selector matches by itself, in the policy's order.
    ///
    /// # Errors
    /// When the device tree cannot be read at all.
    pub fn selector_counts(&self) -> Result<Vec<usize>, ReadError> {
        let count = |selector: &Selector| {
            let devices = self.node.devices(&selector.subsystem)?;
            let matching = |device: &&DevicePath| selector.matches(&Facts::new(&self.node, device));
            Ok(devices.iter().filter(matching).count())
        };
        self.policy.hardware.iter().map(count).collect()
    }
}
