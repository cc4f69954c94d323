//! Notes what a consumer is given, before it has it.

use super::allocation::Ask;
use super::change::{Acquire, Amend, Change, Release, Units, with};
use super::expiry::Expiry;
use super::{AllocationId, Allocations, Consumer, Key, Mode, State, StoredReply, Take, key};
use crate::units::{GrantedNode, UnitRecord};
use devgate_policy::PluginPolicy;
use devgate_types::ResourceName;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What is given of one resource.
pub(crate) struct Giving<'a> {
    pub(crate) resource: &'a ResourceName,
    pub(crate) shared_nodes: &'a [GrantedNode],
    pub(crate) units: &'a [Arc<UnitRecord>],
    /// What of each.
    pub(crate) take: BTreeSet<Take>,
    pub(crate) mode: Mode,
    pub(crate) policy: &'a PluginPolicy,
    /// Whether a component is to release it.
    pub(crate) unreleased: bool,
    /// What its consumer calls it.
    pub(crate) tag: &'a str,
    /// What its consumer is told, where that is kept and known by now.
    pub(crate) reply: Option<StoredReply>,
}

impl<'a> Giving<'a> {
    /// All of these units, held.
    pub(crate) fn whole(
        resource: &'a ResourceName,
        shared_nodes: &'a [GrantedNode],
        units: &'a [Arc<UnitRecord>],
        policy: &'a PluginPolicy,
        unreleased: bool,
    ) -> Self {
        let take = units.iter().map(|unit| Take::whole(unit.id.as_str()));
        Self {
            take: take.collect(),
            mode: Mode::Hold,
            tag: "",
            reply: None,
            resource,
            shared_nodes,
            units,
            policy,
            unreleased,
        }
    }
}

/// What was noted.
pub(crate) struct Noted {
    /// The step that is to be saved before it is so.
    pub(crate) unsaved: Option<u64>,
    /// The allocation of each.
    pub(crate) ids: Vec<AllocationId>,
    /// Those that there were not before.
    new: BTreeSet<AllocationId>,
    /// Whether something is given that its consumer did not have before.
    pub(crate) is_new: bool,
    /// The units that no consumer had before.
    units: Vec<Key>,
}

impl Allocations {
    /// Notes that these are given to a consumer from now on, in one step. Returns what has to be saved, if anything is not: pods get the
    /// same devices again and again, and that costs nothing.
    pub(crate) fn note(&self, who: &Consumer, state: State, ttl: Option<Duration>, all: &[Giving<'_>]) -> Noted {
        let (mut known, mut units, mut amended) = (self.lock(), Vec::new(), Units::new());
        let (mut allocations, mut replies) = (BTreeMap::new(), BTreeMap::new());
        let (mut ids, mut is_new) = (Vec::new(), false);
        for giving in all {
            for unit in giving.units.iter().filter(|_| giving.mode == Mode::Hold) {
                let key = key(giving.resource, unit);
                let now = known.today(unit, giving.shared_nodes, giving.policy, giving.unreleased);
                known.claimed.insert(key.clone());
                let then = known.book.contents().record(&key).map(Arc::clone);
                match then {
                    Some(then) if *then == now => continue,
                    None => units.push(key.clone()),
                    // What it is made of is known now.
                    Some(then) if then.recorded => known.past.insert(&key, now.clone()),
                    Some(_) => {}
                }
                with(&key, now, &mut amended);
            }
            let ask = Ask {
                take: giving.take.clone(),
                mode: giving.mode,
                state,
                boot: known.boot.clone().filter(|_| who.driver().is_some()),
                tag: giving.tag.to_owned(),
                reply: giving.reply.clone(),
                expires: ttl.map(|ttl| Expiry::after(ttl, &known.now())),
                ..Ask::of(giving.resource.as_str(), [])
            };
            let contents = known.book.contents();
            is_new |= *who != Consumer::Pods || contents.is_news_to_pods(&ask);
            // It costs nothing where pods have just that.
            let same = contents.same(who, &ask).filter(|_| *who == Consumer::Pods);
            if let Some((id, reply)) = same.zip(ask.reply.clone())
                && !reply.is_unknown()
                && contents.is_told_otherwise(id, &reply)
            {
                replies.insert(id, reply);
            }
            ids.push(same.unwrap_or_else(|| {
                let id = known.book.new_id();
                allocations.insert(id, ask.acquired_now());
                id
            }));
        }
        let new = allocations.keys().copied().collect();
        match (allocations.is_empty(), amended.is_empty()) {
            (true, true) => {}
            (true, false) => known.book.note(&Change::Amend(Amend::of(amended))),
            (false, _) => {
                known.book.note(&Change::Acquire(Acquire { consumer: who.clone(), allocations, units: amended }))
            }
        }
        known.tell(replies);
        drop(known);
        if ttl.is_some() {
            self.0.renewed.notify_one();
        }
        Noted { unsaved: self.unsaved(), ids, new, is_new, units }
    }

    /// What was noted is not so after all.
    pub(crate) fn take_back(&self, noted: &Noted) {
        let mut known = self.lock();
        for allocation in &noted.new {
            let (allocation, units) = (*allocation, None);
            known.book.note(&Change::Release(Release { allocation, units }));
        }
        for key in noted.units.iter() {
            if known.book.contents().record(key).is_none() {
                known.claimed.remove(key);
                known.past.forget(key);
            }
        }
    }
}
