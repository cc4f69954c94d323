//! Why a device or a node is granted, or is not: the same decisions, with what they were made of.

use super::{Facts, Grants, NodeDenied, Withheld};
use crate::units::GrantedNode;
use devgate_node::{DevicePath, ReadError};
use devgate_policy::{Origin, Use};

/// How one plugin sees one device.
#[derive(Debug, Clone)]
pub struct Sight {
    /// What the plugin may do with it; nothing where it does not even see it.
    pub usage: Option<Use>,
    /// The device above that the selectors match, where they reach down from there.
    pub from: Option<DevicePath>,
    /// What each selector of the plugin says of the device itself, in the policy's order.
    pub answers: Vec<SelectorAnswer>,
    /// The nodes of the device, and of what is beneath it, that may be handed out.
    pub nodes: Vec<GrantedNode>,
    /// Those that the policy offers and the host does not give, and why.
    pub withheld: Vec<Withheld>,
}

/// What one selector says of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorAnswer {
    /// Where the selector is written.
    pub origin: Origin,
    /// The bus or class that it selects from.
    pub subsystem: String,
    /// What it lets be done.
    pub usage: Use,
    /// The first of its keys that does not hold; nothing where all do.
    pub unmet: Option<&'static str>,
}

impl Grants {
    /// How the plugin sees a device.
    ///
    /// # Errors
    /// When what is beneath it cannot be read.
    pub fn sight(&self, device: &DevicePath) -> Result<Sight, ReadError> {
        let facts = Facts::new(&self.node, device);
        let answer = |selector: &devgate_policy::Selector| SelectorAnswer {
            origin: selector.origin.clone(),
            subsystem: selector.subsystem.clone(),
            usage: selector.usage,
            unmet: selector.unmet(&facts),
        };
        let answers = self.policy.hardware.iter().map(answer).collect();
        let usage = self.usage(device);
        let from = self.reach(device).map(|(from, _)| from).filter(|from| from != device);
        let (nodes, withheld) = match usage {
            Some(Use::Offer) => self.nodes(device)?,
            Some(Use::Read) | None => (Vec::new(), Vec::new()),
        };
        Ok(Sight {
            usage,
            from,
            answers,
            nodes,
            withheld,
        })
    }

    /// A node by its path, as the policy's `host-nodes` list it; nothing where they do not.
    ///
    /// # Errors
    /// Why it is not given although they list it; escaped.
    pub fn host_node(&self, path: &str) -> Option<Result<GrantedNode, NodeDenied>> {
        match self.node_at(path) {
            Err(NodeDenied::NotGranted) => None,
            answer => Some(answer),
        }
    }

    /// How many devices each selector matches by itself, in the policy's order.
    ///
    /// # Errors
    /// When the device tree cannot be read at all.
    pub fn selector_counts(&self) -> Result<Vec<usize>, ReadError> {
        let mut counts = Vec::new();
        for selector in &self.policy.hardware {
            let devices = self.node.devices(&selector.subsystem)?;
            let matching = devices
                .iter()
                .filter(|device| selector.matches(&Facts::new(&self.node, device)));
            counts.push(matching.count());
        }
        Ok(counts)
    }
}
