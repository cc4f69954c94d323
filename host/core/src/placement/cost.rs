//! What a choice costs in closeness and in what it leaves to the next one, as sums over the branches of the device tree.
//!
//! Two units share the steps of the tree that lead to both. All pairs of some units together share, on each step, as many
//! pairs as there are beneath it; so a sum over pairs is a sum over branches, each of which need only know how many units
//! beneath it are meant. Pairs of replicas of one unit are left out.

use super::share::Slots;
use crate::units::Topology;
use devgate_policy::Placement;
use std::cmp::Ordering;
use std::ops::Add;

/// What something costs: the first part decides, and the others only between equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Cost {
    /// The steps that the chosen do not share.
    apart: i64,
    /// What the placement wants of the units themselves.
    own: i64,
    /// What it wants of the branches.
    around: i64,
}

/// The costs of a question, relative to taking nothing but what is certain.
pub(super) struct Costs<'a> {
    topology: &'a Topology,
    placement: Placement,
    /// Of each branch: the replicas beneath it that are taken in any case, and those that the placement looks at.
    branches: Vec<(i64, i64)>,
    /// The same of each unit.
    units: Vec<(i64, i64)>,
}

impl Add for Cost {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self { apart: self.apart + more.apart, own: self.own + more.own, around: self.around + more.around }
    }
}

impl Cost {
    /// Less than all others.
    pub(super) const LEAST: Self = Self { apart: i64::MIN, own: i64::MIN, around: i64::MIN };

    /// Compares this for so many units with another for others, for each unit.
    pub(super) fn compare_each(self, count: usize, other: Self, others: usize) -> Ordering {
        let times = |cost: Self, count: usize| {
            let count = i128::try_from(count).unwrap_or(i128::MAX);
            [cost.apart, cost.own, cost.around].map(|part| i128::from(part).saturating_mul(count))
        };
        times(self, others).cmp(&times(other, count))
    }
}

impl<'a> Costs<'a> {
    /// `taken` of each unit are certain.
    pub(super) fn new(topology: &'a Topology, slots: &[Slots], taken: &[u32], placement: Placement) -> Self {
        let mut branches = vec![(0, 0); topology.branches.len()];
        let add = |branches: &mut Vec<(i64, i64)>, branch: usize, (taken, others): (i64, i64)| {
            if let Some(sum) = branches.get_mut(branch) {
                *sum = (sum.0 + taken, sum.1 + others);
            }
        };
        let mut units = Vec::with_capacity(slots.len());
        for ((slot, taken), position) in slots.iter().zip(taken).zip(&topology.positions) {
            let others = match placement {
                // What is left.
                Placement::Packed => slot.free - taken,
                // What is in use.
                Placement::Spread => slot.used + taken,
            };
            let unit = (i64::from(*taken), i64::from(others));
            units.push(unit);
            add(&mut branches, position.branch, unit);
        }
        for (n, above) in topology.branches.iter().enumerate().skip(1).rev() {
            let beneath = branches.get(n).copied().unwrap_or_default();
            add(&mut branches, *above, beneath);
        }
        Self { topology, placement, branches, units }
    }

    /// One more of a unit, without what the branches that it is on say to that.
    pub(super) fn unit(&self, unit: usize) -> Cost {
        let (taken, others) = self.units.get(unit).copied().unwrap_or_default();
        let depth = self.topology.positions.get(unit).map_or(0, |position| i64::from(position.depth));
        let own = match self.placement {
            Placement::Packed => others - 1,
            Placement::Spread => others,
        };
        // The branches will count the pairs of this unit's own replicas as well.
        Cost { apart: depth * taken, own, around: -depth * own }
    }

    /// `more` units beneath a branch; nothing for the root, which everything is beneath.
    pub(super) fn branch(&self, branch: usize, more: usize) -> Cost {
        if branch == 0 {
            return Cost::default();
        }
        let (taken, others) = self.branches.get(branch).copied().unwrap_or_default();
        let more = i64::try_from(more).unwrap_or(i64::MAX);
        let pairs = more * (more - 1) / 2;
        Cost {
            apart: -(taken * more + pairs),
            own: 0,
            around: match self.placement {
                // The pairs that are not left any more.
                Placement::Packed => others * more - pairs - more,
                // The pairs that are in use then.
                Placement::Spread => others * more + pairs,
            },
        }
    }
}
