//! Exclusive means exclusive: which unit of which plugin has which node and which device, over the whole host.
//!
//! The outcome depends on the policy's order and on what pods hold, never on who was first to say something.

use devgate_model::{NodeNumber, UnitId};
use devgate_node::DevicePath;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// A plugin's place in the policy's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(pub(crate) usize);

/// What one unit needs for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) id: UnitId,
    /// Its exclusive nodes.
    pub(crate) nodes: Vec<NodeNumber>,
    pub(crate) backing: Vec<DevicePath>,
    /// Whether the policy lets its resource share hardware with others that do.
    pub(crate) shares: bool,
}

/// All claims of all plugins. Cheap to clone; one per host.
#[derive(Clone)]
pub(crate) struct Ledger {
    state: Arc<Mutex<State>>,
    changed: watch::Sender<u64>,
}

struct State {
    plugins: Vec<Entry>,
}

#[derive(Default)]
struct Entry {
    name: String,
    /// Whether the plugin has said what it has, or that it has nothing.
    reported: bool,
    claims: Vec<Claim>,
    /// The ids that were handed out.
    held: BTreeSet<UnitId>,
    /// The ids that cannot be given because of another unit.
    lost: HashMap<UnitId, Lost>,
}

/// Why a unit cannot be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) reason: Arc<str>,
    /// Whether its very id is another unit's, so that it cannot even be listed: the kubelet looks health up by id alone.
    pub(crate) id_taken: bool,
}

impl Ledger {
    /// A ledger for these plugins, in policy order.
    pub(crate) fn new(plugins: impl IntoIterator<Item = String>) -> Self {
        let plugins = plugins
            .into_iter()
            .map(|name| Entry {
                name,
                ..Entry::default()
            })
            .collect();
        Self {
            state: Arc::new(Mutex::new(State { plugins })),
            changed: watch::Sender::new(0),
        }
    }

    /// To be told when an outcome may have changed.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Replaces what a plugin claims.
    pub(crate) fn report(&self, place: Place, claims: Vec<Claim>) {
        let mut state = self.lock();
        let Some(entry) = state.plugins.get_mut(place.0) else {
            return;
        };
        if entry.reported && entry.claims == claims {
            return;
        }
        entry.reported = true;
        entry.claims = claims;
        state.settle();
        drop(state);
        self.changed.send_modify(|n| *n += 1);
    }

    /// Whether every plugin before this one has reported, so that what this one has can be said for good.
    pub(crate) fn is_settled_before(&self, place: Place) -> bool {
        self.lock().plugins.iter().take(place.0).all(|entry| entry.reported)
    }

    /// The ids of a plugin that cannot be given because of another unit, and why.
    pub(crate) fn lost(&self, place: Place) -> HashMap<UnitId, Lost> {
        self.lock()
            .plugins
            .get(place.0)
            .map(|entry| entry.lost.clone())
            .unwrap_or_default()
    }

    /// Marks ids as handed out: from now on nobody else gets their hardware, whatever the order says. Returns those that
    /// were not marked before, for [`Ledger::let_go`] if the allocation fails after all.
    ///
    /// # Errors
    /// The reason, where another unit has an id's hardware.
    pub(crate) fn hold(&self, place: Place, ids: &[UnitId]) -> Result<Vec<UnitId>, Arc<str>> {
        let mut state = self.lock();
        let Some(entry) = state.plugins.get_mut(place.0) else {
            return Ok(Vec::new());
        };
        if let Some(lost) = ids.iter().find_map(|id| entry.lost.get(id)) {
            return Err(Arc::clone(&lost.reason));
        }
        Ok(ids
            .iter()
            .filter(|id| entry.held.insert((*id).clone()))
            .cloned()
            .collect())
    }

    /// The ids of a plugin that were handed out.
    pub(crate) fn held(&self, place: Place) -> BTreeSet<UnitId> {
        self.lock()
            .plugins
            .get(place.0)
            .map(|entry| entry.held.clone())
            .unwrap_or_default()
    }

    /// Takes back what [`Ledger::hold`] returned.
    pub(crate) fn let_go(&self, place: Place, ids: &[UnitId]) {
        if let Some(entry) = self.lock().plugins.get_mut(place.0) {
            entry.held.retain(|id| !ids.contains(id));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is made whole before the lock is let go, so a panic elsewhere leaves nothing half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who has what, while it is being settled.
#[derive(Default)]
struct Taken<'a> {
    ids: HashMap<&'a UnitId, Owner<'a>>,
    nodes: HashMap<&'a NodeNumber, Owner<'a>>,
    backing: HashMap<&'a DevicePath, Owner<'a>>,
}

#[derive(Clone, Copy)]
struct Owner<'a> {
    plugin: &'a str,
    claim: &'a Claim,
}

impl State {
    /// Goes through all claims, those that are handed out first, then in policy order, and gives each what is left.
    fn settle(&mut self) {
        let mut lost: Vec<HashMap<UnitId, Lost>> = vec![HashMap::new(); self.plugins.len()];
        let mut taken = Taken::default();
        for held in [true, false] {
            for (entry, lost) in self.plugins.iter().zip(&mut lost) {
                for claim in entry
                    .claims
                    .iter()
                    .filter(|claim| entry.held.contains(&claim.id) == held)
                {
                    let owner = Owner {
                        plugin: &entry.name,
                        claim,
                    };
                    match taken.conflict(owner) {
                        Some(reason) => drop(lost.insert(claim.id.clone(), reason)),
                        None => taken.take(owner),
                    }
                }
            }
        }
        for (entry, lost) in self.plugins.iter_mut().zip(lost) {
            entry.lost = lost;
        }
    }
}

impl<'a> Taken<'a> {
    fn conflict(&self, new: Owner<'_>) -> Option<Lost> {
        let id_owner = self.ids.get(&new.claim.id);
        let same_id = |owner: &Owner<'_>| {
            format!(
                "id {} is already one of plugin {}; ids are unique on a node",
                new.claim.id, owner.plugin
            )
        };
        let reason = self.hardware_conflict(new).or_else(|| id_owner.map(same_id))?;
        Some(Lost {
            reason: reason.into(),
            id_taken: id_owner.is_some(),
        })
    }

    fn hardware_conflict(&self, new: Owner<'_>) -> Option<String> {
        let node = new.claim.nodes.iter().find_map(|number| {
            let owner = blocks(&self.nodes, number, new)?;
            Some(format!(
                "node {number} is already given to {} of plugin {}",
                owner.claim.id, owner.plugin
            ))
        });
        node.or_else(|| {
            new.claim.backing.iter().find_map(|device| {
                let owner = blocks(&self.backing, device, new)?;
                Some(format!(
                    "device {} already backs {} of plugin {}",
                    device.name(),
                    owner.claim.id,
                    owner.plugin
                ))
            })
        })
    }

    fn take(&mut self, owner: Owner<'a>) {
        self.ids.insert(&owner.claim.id, owner);
        for number in &owner.claim.nodes {
            self.nodes.entry(number).or_insert(owner);
        }
        for device in &owner.claim.backing {
            self.backing.entry(device).or_insert(owner);
        }
    }
}

/// Whoever has `key` and does not share it with `new`.
fn blocks<'m, 'a, K: Eq + Hash>(
    taken: &'m HashMap<&'a K, Owner<'a>>,
    key: &K,
    new: Owner<'_>,
) -> Option<&'m Owner<'a>> {
    taken.get(key).filter(|owner| !(owner.claim.shares && new.claim.shares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_model::NodeKind;
    use proptest::prelude::*;

    fn claim(id: &str, minors: &[u32], shares: bool) -> Claim {
        let number = |minor: &u32| NodeNumber {
            kind: NodeKind::Character,
            major: 10,
            minor: *minor,
        };
        Claim {
            id: UnitId::try_new(id).unwrap(),
            nodes: minors.iter().map(number).collect(),
            backing: vec![],
            shares,
        }
    }

    fn ledger() -> Ledger {
        Ledger::new(["first".to_owned(), "second".to_owned()])
    }

    fn lost(ledger: &Ledger, place: usize) -> Vec<String> {
        let mut lost: Vec<_> = ledger
            .lost(Place(place))
            .into_iter()
            .map(|(id, why)| format!("{id}: {}", why.reason))
            .collect();
        lost.sort();
        lost
    }

    #[test]
    fn the_later_plugin_loses_that_one_unit_whoever_spoke_first() {
        for order in [[0, 1], [1, 0]] {
            let ledger = ledger();
            for place in order {
                let claims = match place {
                    0 => vec![claim("a", &[1], false)],
                    _ => vec![claim("b", &[1, 2], false), claim("c", &[3], false)],
                };
                ledger.report(Place(place), claims);
            }
            assert_eq!(lost(&ledger, 0), [""; 0]);
            assert_eq!(
                lost(&ledger, 1),
                ["b: node c 10:1 is already given to a of plugin first"]
            );
        }
    }

    #[test]
    fn within_a_plugin_the_later_unit_loses() {
        let ledger = ledger();
        ledger.report(Place(0), vec![claim("a", &[1], false), claim("b", &[1], false)]);
        assert_eq!(
            lost(&ledger, 0),
            ["b: node c 10:1 is already given to a of plugin first"]
        );
    }

    #[test]
    fn what_a_pod_holds_is_not_taken_away() {
        let ledger = ledger();
        ledger.report(Place(1), vec![claim("b", &[1], false)]);
        let b = [UnitId::try_new("b").unwrap()];
        assert_eq!(ledger.hold(Place(1), &b), Ok(b.to_vec()));
        ledger.report(Place(0), vec![claim("a", &[1], false)]);
        assert_eq!(
            lost(&ledger, 0),
            ["a: node c 10:1 is already given to b of plugin second"]
        );
        assert_eq!(
            ledger
                .hold(Place(0), &[UnitId::try_new("a").unwrap()])
                .unwrap_err()
                .as_ref(),
            lost(&ledger, 0)[0].strip_prefix("a: ").unwrap()
        );
        assert_eq!(ledger.hold(Place(1), &b), Ok(vec![]), "given again to the same unit");
    }

    #[test]
    fn an_id_belongs_to_one_plugin() {
        let ledger = ledger();
        ledger.report(Place(0), vec![claim("a", &[1], true)]);
        ledger.report(Place(1), vec![claim("a", &[2], true)]);
        assert_eq!(
            lost(&ledger, 1),
            ["a: id a is already one of plugin first; ids are unique on a node"]
        );
    }

    #[test]
    fn sharing_takes_two() {
        for (first, second, loses) in [(true, true, false), (true, false, true), (false, true, true)] {
            let ledger = ledger();
            ledger.report(Place(0), vec![claim("a", &[1], first)]);
            ledger.report(Place(1), vec![claim("b", &[1], second)]);
            assert_eq!(!lost(&ledger, 1).is_empty(), loses, "{first} {second}");
        }
    }

    #[test]
    fn a_later_plugin_waits_until_the_earlier_ones_have_spoken() {
        let ledger = ledger();
        assert!(ledger.is_settled_before(Place(0)) && !ledger.is_settled_before(Place(1)));
        ledger.report(Place(0), vec![]);
        assert!(ledger.is_settled_before(Place(1)));
    }

    proptest! {
        /// No node is with two exclusive units, and every unit that lost did so to one that kept it.
        #[test]
        fn no_node_is_given_twice(
            claims in prop::collection::vec((0usize..3, prop::collection::vec(0u32..6, 0..4), any::<bool>(), any::<bool>()), 0..20),
        ) {
            let ledger = Ledger::new(["p0".into(), "p1".into(), "p2".into()]);
            let mut by_plugin: [Vec<Claim>; 3] = Default::default();
            for (n, (plugin, minors, shares, hold)) in claims.iter().enumerate() {
                by_plugin[*plugin].push(claim(&format!("u{n}"), minors, *shares));
                ledger.report(Place(*plugin), by_plugin[*plugin].clone());
                if *hold {
                    let _ = ledger.hold(Place(*plugin), &[UnitId::try_new(&format!("u{n}")).unwrap()]);
                }
            }
            let mut users: HashMap<NodeNumber, Vec<bool>> = HashMap::new();
            for (place, claims) in by_plugin.iter().enumerate() {
                let lost = ledger.lost(Place(place));
                for claim in claims.iter().filter(|claim| !lost.contains_key(&claim.id)) {
                    for number in claim.nodes.iter().collect::<std::collections::HashSet<_>>() {
                        users.entry(*number).or_default().push(claim.shares);
                    }
                }
            }
            for (number, shares) in users {
                prop_assert!(shares.len() == 1 || shares.iter().all(|s| *s), "{number}: {shares:?}");
            }
        }
    }
}
