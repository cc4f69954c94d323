//! What pods have, where the host does not remember it: nothing is given until the kubelet has said so.
//!
//! The file is missing, torn, or not understood; or there never was one, and then the kubelet has nothing of ours to tell. Its
//! records name ids and the paths that went with them. Once a plugin lists such an id, it is known what it is made of. Where not even
//! paths are known of one, it may be made of anything: nothing is given until its plugin lists it, also after a restart.
//!
//! Where the host remembers, another plugin may have given since then.

use super::allocation::{Ask, Take};
use super::change::{Amend, Change, Units, with};
use super::record::AllocatedUnit;
use super::{Allocations, Key, Known, key};
use crate::holders::{HoldersFeed, Offered, Records};
use crate::replica::REPLICA;
use crate::units::PoolRecord;
use devgate_node::{DevicePath, Node};
use devgate_policy::PluginPolicy;
use devgate_types::{ResourceName, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many paths are noted for the ids of one container at most: any path may be any id's, so each id has all.
const MAX_PATHS: usize = 128 * 128;

/// Why nothing is given where the file was lost for this reason, until the kubelet has told. For people.
pub(super) fn untold(why: &str) -> Arc<str> {
    format!(
        "{why}, and it is not known yet what pods have: the kubelet has not told (its checkpoint in --kubelet-dir, pod-resources in \
         --pod-resources-dir); see docs/operate.md"
    )
    .into()
}

/// Why nothing is given while nothing but its id is known of this one. For people.
pub(super) fn unlisted((resource, id): &Key) -> Arc<str> {
    let (id, resource) = (escape(id, 80), escape(resource, 80));
    format!("a pod has {id} of {resource}, and it is not known what that is made of until its plugin lists it; see docs/operate.md")
        .into()
}

/// Waits until it is known what pods have, where it is not: by the source's records, or by its first look where they cannot be
/// read. `is_ours` tells the resources that a plugin may offer.
pub(crate) async fn learn(
    allocations: Allocations,
    feed: HoldersFeed,
    node: Node,
    is_ours: impl Fn(&ResourceName) -> bool,
) {
    if allocations.is_of_newer() {
        return;
    }
    if allocations.lock().unknown.is_none() {
        return learn_missed(allocations, feed, node, is_ours).await;
    }
    let (mut records, mut newest) = (feed.records(), feed.subscribe());
    tokio::select! {
        biased;
        Ok(told) = records.wait_for(Option::is_some) => {
            if let Some(told) = &*told {
                allocations.learn_records(told, &node, is_ours);
            }
        }
        Ok(told) = newest.wait_for(Option::is_some) => {
            if let Some(holders) = &*told {
                // What these are made of says the plugin that lists them.
                let seen = holders.seen.keys().map(|offered| (offered.clone(), Arc::default()));
                allocations.learn_records(&seen.collect(), &node, is_ours);
            }
        }
        else => {}
    }
}

/// Takes note of what was given while this host was away. A record may be of a pod that has ended: so only what a look shows.
async fn learn_missed(
    allocations: Allocations,
    feed: HoldersFeed,
    node: Node,
    is_ours: impl Fn(&ResourceName) -> bool,
) {
    let (mut records, mut newest) = (feed.records(), feed.subscribe());
    let told = records.wait_for(Option::is_some).await;
    let Ok(mut left) = told.map(|told| told.as_deref().cloned().unwrap_or_default()) else { return };
    while !left.is_empty() {
        if let Some(holders) = &*newest.borrow_and_update() {
            let seen: Records = left.extract_if(.., |offered, _| holders.seen.contains_key(offered)).collect();
            allocations.learn_seen_records(&seen, &node, &is_ours);
        }
        if newest.changed().await.is_err() {
            return;
        }
    }
}

/// The unit of an id as it is offered, and whether that is one of several replicas.
fn unit_of((resource, id): &Offered) -> (Key, bool) {
    let base = id.rsplit_once(REPLICA).filter(|(_, number)| number.parse::<u32>().is_ok());
    let key = (resource.to_string(), base.map_or(id.as_str(), |(base, _)| base).to_owned());
    (key, base.is_some())
}

/// The ids of one container and the paths that went with them all.
struct Container<'a> {
    ids: usize,
    paths: &'a BTreeSet<String>,
    there: Option<There<'a>>,
}

/// The paths of a container with what is there, and what that reaches.
struct There<'a> {
    nodes: Vec<(&'a str, Option<DevicePath>)>,
    pieces: Vec<DevicePath>,
}

impl<'a> Container<'a> {
    /// All of them, by the set that their ids share.
    fn all(records: &'a Records) -> BTreeMap<*const BTreeSet<String>, Self> {
        let mut all = BTreeMap::new();
        for paths in records.values() {
            let container = all.entry(Arc::as_ptr(paths)).or_insert(Self { ids: 0, paths, there: None });
            container.ids += 1;
        }
        all
    }

    /// Whether each id can be noted with all paths. Where not, of ours nothing but the id is known until its plugin lists it, and of
    /// others' the first stands for all: they end together.
    fn has_few(&self) -> bool {
        self.ids.saturating_mul(self.paths.len()) <= MAX_PATHS
    }

    /// Looks at what is there, once for all ids.
    fn look(&mut self, node: &Node) -> &There<'a> {
        // A container that starts again opens what is there now.
        let owner = |path: &str| node.owner_of(node.node_at(path).ok()?.number);
        // As of a unit: another node of the same hardware is not for others. What is gone reaches nothing.
        let reached = |owner: &DevicePath| [vec![owner.clone()], node.pieces(owner).unwrap_or_default()].concat();
        self.there.get_or_insert_with(|| {
            let nodes: Vec<_> = self.paths.iter().map(|path| (path.as_str(), owner(path))).collect();
            let pieces = nodes.iter().filter_map(|(_, owner)| owner.as_ref()).flat_map(reached).collect();
            There { nodes, pieces }
        })
    }
}

impl Allocations {
    /// Takes in what the source's records say. Tells of it before the lock is let go: who sees that something is known sees that there is
    /// something to compare with.
    fn learn_records(&self, records: &Records, node: &Node, is_ours: impl Fn(&ResourceName) -> bool) {
        let mut known = self.lock();
        known.remember_all(records, node, is_ours);
        known.unknown = None;
        // Also where there is nothing: it is known from now on.
        known.is_news = true;
        let learned = known.book.contents().len();
        if learned > 0 {
            tracing::warn!(
                learned,
                "state directory: what was handed out is known again, as far as the kubelet tells: {learned} ids"
            );
        }
        self.save_soon();
        self.changed();
    }

    /// The same beside what is known. What a plugin lists is its own to take note of.
    fn learn_seen_records(&self, seen: &Records, node: &Node, is_ours: impl Fn(&ResourceName) -> bool) {
        let mut known = self.lock();
        let mut missed = seen.clone();
        missed.retain(|offered, _| {
            let (key, _) = unit_of(offered);
            !known.claimed.contains(&key) && known.book.contents().record(&key).is_none()
        });
        if missed.is_empty() {
            return;
        }
        known.remember_all(&missed, node, is_ours);
        tracing::warn!(
            missed = missed.len(),
            "pods have {} ids that another plugin gave while this host was away; their hardware is nobody else's until they end",
            missed.len()
        );
        self.save_soon();
        self.changed();
    }

    /// A plugin lists these: where only the kubelet tells of one of them, it is known now what it is made of. `unreleased` where a
    /// component is to release it.
    pub(crate) fn complete(&self, pools: &BTreeMap<ResourceName, PoolRecord>, policy: &PluginPolicy, unreleased: bool) {
        let (mut known, mut completed) = (self.lock(), false);
        if !known.book.contents().records().any(|(_, then)| then.recorded) {
            return;
        }
        for (resource, pool) in pools {
            for unit in &pool.units {
                let key = key(resource, unit);
                let then = known.book.contents().record(&key).filter(|then| then.recorded);
                let Some(then) = then else { continue };
                let now = known.today(unit, &pool.shared_nodes, policy, unreleased);
                if then.covers(&now) {
                    known.replace(&key, now);
                    completed = true;
                }
            }
        }
        if completed {
            // Before the lock is let go: who sees that all is known sees that there is something to compare with.
            self.changed();
            self.save_soon();
        }
    }
}

impl Known {
    /// Takes note of all that nothing was known of. What others than our plugins gave counts by its paths.
    fn remember_all(&mut self, records: &Records, node: &Node, is_ours: impl Fn(&ResourceName) -> bool) {
        let mut containers = Container::all(records);
        for (offered, paths) in records {
            let (key, replica) = unit_of(offered);
            let others = !is_ours(&offered.0);
            let Some(container) = containers.get_mut(&Arc::as_ptr(paths)) else { continue };
            if (paths.is_empty() && others) || self.book.contents().record(&key).is_some() {
                continue;
            }
            let mut recorded = if container.has_few() || (others && container.there.is_none()) {
                let there = container.look(node);
                AllocatedUnit::recorded(there.nodes.iter().cloned(), &there.pieces, replica)
            } else {
                AllocatedUnit::recorded([], &[], replica)
            };
            recorded.others = others;
            self.past.insert(&key, recorded.clone());
            let ask = Ask::of(&key.0, [Take::whole(&key.1)]);
            self.book.note_pods(ask.acquired_now(), &key, recorded);
        }
    }

    /// What one is made of is known by now: its nodes are no others' that the same container got.
    fn replace(&mut self, key: &Key, now: AllocatedUnit) {
        let mut units = Units::new();
        for (other, then) in self.book.contents().records() {
            if other != key && other.0 == key.0 && then.recorded && !then.is_bare() {
                let mut left = (**then).clone();
                if left.leave_out(&now) {
                    with(other, left, &mut units);
                }
            }
        }
        with(key, now, &mut units);
        for (resource, ids) in &units {
            for (id, record) in ids {
                self.past.insert(&(resource.clone(), id.clone()), record.clone());
            }
        }
        self.book.note(&Change::Amend(Amend::of(units)));
    }
}
