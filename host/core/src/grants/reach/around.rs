//! What is above and beneath devices, each looked at once.

use std::collections::HashSet;
use std::hash::Hash;

/// Whether there is any that `claims` says may be claimed around `devices`, they themselves among them; as well if `over` says that
/// the answer is not waited for any more, or what is beneath one cannot be told. Looks at each one at most twice, however many
/// devices have it above or beneath them.
pub(super) fn has_any<D: Clone + Eq + Hash>(
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
