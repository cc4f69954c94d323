//! Units that no pod has, and that may all the same be as one left them. Kept with what was handed out: a restart of the host cleans nothing.

use super::Allocations;
use super::change::{Change, Dirty};
use devgate_types::UnitId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Which units are released before they are given, although no pod had them by what is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unverified {
    /// Where it was not known once what had been handed out: all but these, which were released since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all_but: Option<Ids>,
    /// What was released while it was not there: a component says then that there is nothing to do.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    absent: Ids,
}

/// Ids of units by their plugins: a unit is the same under another resource.
pub(super) type Ids = BTreeMap<String, BTreeSet<String>>;

impl Unverified {
    /// Where it is not known what was handed out.
    pub(super) fn of_all() -> Self {
        Self { all_but: Some(Ids::new()), absent: Ids::new() }
    }

    /// Units were released, while they were there or not.
    pub(super) fn released(&mut self, all: &Ids, there: bool) {
        for (plugin, ids) in all {
            let into = |all: &mut Ids| all.entry(plugin.clone()).or_default().extend(ids.iter().cloned());
            if !there {
                into(&mut self.absent);
                continue;
            }
            if let Some(absent) = self.absent.get_mut(plugin) {
                absent.retain(|id| !ids.contains(id));
            }
            self.all_but.iter_mut().for_each(into);
        }
        self.absent.retain(|_, ids| !ids.is_empty());
    }

    /// What either of them unverified.
    pub(super) fn unite(&mut self, other: Self) {
        self.all_but = match (self.all_but.take(), other.all_but) {
            (Some(ours), Some(theirs)) => Some(common(&ours, &theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        for (plugin, ids) in other.absent {
            self.absent.entry(plugin).or_default().extend(ids);
        }
    }

    fn has(&self, plugin: &str, id: &str) -> bool {
        let is_in = |ids: &Ids| ids.get(plugin).is_some_and(|ids| ids.contains(id));
        is_in(&self.absent) || self.all_but.as_ref().is_some_and(|released| !is_in(released))
    }
}

fn common(ours: &Ids, theirs: &Ids) -> Ids {
    let both = ours.iter().filter_map(|(plugin, ids)| {
        let ids: BTreeSet<_> = ids.intersection(theirs.get(plugin)?).cloned().collect();
        (!ids.is_empty()).then(|| (plugin.clone(), ids))
    });
    both.collect()
}

impl Allocations {
    /// Whether a unit of a plugin is to be released before it is given, although no pod had it by what is known.
    pub(crate) fn is_unverified(&self, plugin: &str, id: &UnitId) -> bool {
        self.lock().book.contents().unverified().has(plugin, id.as_str())
    }

    /// Takes note that units of a plugin were released, while they were there or not. Saved in the background: what is released
    /// twice does no harm.
    pub(crate) fn released<'a>(&self, plugin: &str, ids: impl IntoIterator<Item = &'a UnitId>, there: bool) {
        let ids: BTreeSet<_> = ids.into_iter().map(|id| id.as_str().to_owned()).collect();
        if ids.is_empty() {
            return;
        }
        let ids = Ids::from([(plugin.to_owned(), ids)]);
        let mut known = self.lock();
        let mut now = known.book.contents().unverified().clone();
        now.released(&ids, there);
        if now == *known.book.contents().unverified() {
            return;
        }
        known.book.note(&match there {
            true => Change::Clean(ids),
            false => Change::Dirty(Dirty::Away(ids)),
        });
        self.save_soon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it is news that a unit of the plugin `gpus` was released.
    fn released(unverified: &mut Unverified, id: &str, there: bool) -> bool {
        let before = unverified.clone();
        unverified.released(&Ids::from([("gpus".to_owned(), [id.to_owned()].into())]), there);
        *unverified != before
    }

    #[test]
    fn what_was_released_while_it_was_away_is_in_doubt_until_it_is_released_again() {
        let mut unverified = Unverified::default();
        assert!(!unverified.has("gpus", "a"));
        assert!(released(&mut unverified, "a", false));
        assert!(unverified.has("gpus", "a") && !unverified.has("gpus", "b") && !unverified.has("nics", "a"));
        assert!(released(&mut unverified, "a", true) && !released(&mut unverified, "a", true));
        assert_eq!(unverified, Unverified::default());
    }

    #[test]
    fn where_nothing_is_known_everything_is_in_doubt_once() {
        let mut unverified = Unverified::of_all();
        assert!(unverified.has("gpus", "a"));
        assert!(released(&mut unverified, "a", true) && !released(&mut unverified, "a", true));
        assert!(!unverified.has("gpus", "a") && unverified.has("gpus", "b") && unverified.has("nics", "a"));
        assert!(released(&mut unverified, "a", false) && unverified.has("gpus", "a"));
    }
}
