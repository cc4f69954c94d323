//! Whether a plugin may ever claim something of another one's units.

use super::Grants;
use crate::units::{GrantedNode, PoolRecord};
use devgate_node::DevicePath;
use devgate_policy::Use;
use std::collections::HashSet;
use std::hash::Hash;
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

/// Whether there is any that `claims` says may be claimed around `devices`, they themselves among them; as well if `over` says that
/// the answer is not waited for any more, or what is beneath one cannot be told. Looks at each one at most twice, however many
/// devices have it above or beneath them.
fn has_any<D: Clone + Eq + Hash>(
    devices: HashSet<D>,
    over: impl Fn() -> bool,
    parent: impl Fn(&D) -> Option<D>,
    mut children: impl FnMut(&D) -> Option<Vec<D>>,
    mut claims: impl FnMut(&D) -> bool,
) -> bool {
    let mut above = HashSet::new();
    for device in &devices {
        let mut at = Some(device.clone());
        while let Some(device) = at {
            if above.contains(&device) {
                break;
            }
            if over() || claims(&device) {
                return true;
            }
            at = parent(&device);
            above.insert(device);
        }
    }
    let mut beneath = HashSet::new();
    let mut open: Vec<_> = devices.into_iter().collect();
    while let Some(at) = open.pop() {
        if over() {
            return true;
        }
        if beneath.contains(&at) {
            continue;
        }
        let Some(children) = children(&at) else {
            return true;
        };
        beneath.insert(at);
        for child in children.into_iter().filter(|child| !beneath.contains(child)) {
            if claims(&child) {
                return true;
            }
            open.push(child);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;

    /// The tree is a root, 0, with its parts right beneath it.
    fn parent(device: &u32) -> Option<u32> {
        (*device > 0).then_some(0)
    }

    const PARTS: u32 = 64;

    fn children(device: &u32) -> Vec<u32> {
        match device {
            0 => (1..=PARTS).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn each_device_is_looked_at_once_however_many_devices_it_is_around() {
        let (listed, judged) = (RefCell::new(BTreeMap::new()), RefCell::new(BTreeMap::new()));
        let note =
            |counts: &RefCell<BTreeMap<u32, u32>>, device: &u32| *counts.borrow_mut().entry(*device).or_default() += 1;
        assert!(!has_any(
            (0..=PARTS).collect(),
            || false,
            parent,
            |device: &u32| {
                note(&listed, device);
                Some(children(device))
            },
            |device: &u32| {
                note(&judged, device);
                false
            }
        ));
        assert_eq!(listed.borrow().len(), 65);
        assert!(listed.borrow().values().all(|count| *count == 1), "{listed:?}");
        assert!(judged.borrow().values().all(|count| *count <= 2), "{judged:?}");
    }

    #[test]
    fn what_is_above_and_beneath_counts_and_so_does_what_cannot_be_told() {
        let any = |from: u32, claimed: Option<u32>, told: bool| {
            let children = |device: &u32| told.then(|| children(device));
            has_any(HashSet::from([from]), || false, parent, children, |device| Some(*device) == claimed)
        };
        assert!(any(0, Some(7), true), "beneath");
        assert!(any(7, Some(0), true), "above");
        assert!(any(7, Some(7), true), "itself");
        assert!(!any(7, Some(8), true) && !any(0, None, true));
        assert!(any(0, None, false));
    }

    #[test]
    fn a_look_that_is_not_waited_for_any_more_ends() {
        let left = Cell::new(10_u32);
        let over = || {
            left.set(left.get().saturating_sub(1));
            left.get() == 0
        };
        // Without an end.
        let children = |device: &u32| Some(vec![device + 1]);
        let claims = |device: &u32| {
            assert!(*device < 1_000, "it goes on");
            false
        };
        assert!(has_any(HashSet::from([0]), over, |_: &u32| None, children, claims));
        assert_eq!(left.get(), 0);
    }
}
