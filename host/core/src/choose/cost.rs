//! What a choice costs in closeness and in what it leaves to the next one, as sums over the branches of the device tree.
//!
//! Two units share the steps of the tree that lead to both. All pairs of some units together share, on each step, as many
//! pairs as there are beneath it; so a sum over pairs is a sum over branches, each of which need only know how many units
//! beneath it are meant. Pairs of replicas of one unit are left out.

use super::share::Slots;
use crate::units::Layout;
use devgate_policy::Placement;

/// The costs of a question, relative to taking nothing but what is certain.
pub(super) struct Costs<'a> {
    layout: &'a Layout,
    placement: Placement,
    /// Of each branch: the replicas beneath it that are taken in any case, and those that the placement looks at.
    branches: Vec<(i64, i64)>,
    /// The same of each unit.
    units: Vec<(i64, i64)>,
    weights: Weights,
}

/// How much each part of a cost weighs, so that the first decides and the others only between equals.
#[derive(Debug, Clone, Copy)]
struct Weights {
    /// The steps that the chosen do not share.
    apart: i64,
    /// What the placement wants of the units themselves.
    own: i64,
    /// What it wants of the branches.
    around: i64,
}

impl<'a> Costs<'a> {
    /// `taken` of each unit are certain, and one more of `rest` units is wanted.
    pub(super) fn new(layout: &'a Layout, slots: &[Slots], taken: &[u32], rest: usize, placement: Placement) -> Self {
        let mut branches = vec![(0, 0); layout.branches.len()];
        let mut units = Vec::with_capacity(slots.len());
        for ((slot, taken), seat) in slots.iter().zip(taken).zip(&layout.seats) {
            let others = match placement {
                // What is left.
                Placement::Packed => slot.free - taken,
                // What is in use.
                Placement::Spread => slot.used + taken,
            };
            let unit = (i64::from(*taken), i64::from(others));
            units.push(unit);
            if let Some(branch) = branches.get_mut(seat.branch as usize) {
                add(branch, unit);
            }
        }
        for (n, branch) in layout.branches.iter().enumerate().skip(1).rev() {
            let beneath = branches.get(n).copied().unwrap_or_default();
            if let Some(above) = branches.get_mut(branch.above as usize) {
                add(above, beneath);
            }
        }
        let depth = layout.seats.iter().map(|seat| i64::from(seat.depth)).max().unwrap_or(0);
        let most = units.iter().map(|(_, others)| *others).max().unwrap_or(0);
        let (taken, others) = branches.first().copied().unwrap_or_default();
        let rest = i64::try_from(rest).unwrap_or(i64::MAX);
        let weights = Weights::new(depth, taken, rest, most, others);
        Self {
            layout,
            placement,
            branches,
            units,
            weights,
        }
    }

    /// One more of a unit, without what the branches that it is on say to that.
    pub(super) fn unit(&self, unit: usize) -> i64 {
        let (taken, others) = self.units.get(unit).copied().unwrap_or_default();
        let depth = self.layout.seats.get(unit).map_or(0, |seat| i64::from(seat.depth));
        let own = match self.placement {
            Placement::Packed => others - 1,
            Placement::Spread => others,
        };
        // The branches will count the pairs of this unit's own replicas as well.
        self.weights.apart * depth * taken + self.weights.own * own - self.weights.around * depth * own
    }

    /// `more` units beneath a branch; nothing for the root, which everything is beneath.
    pub(super) fn branch(&self, branch: usize, more: usize) -> i64 {
        let steps = self
            .layout
            .branches
            .get(branch)
            .map_or(0, |branch| i64::from(branch.steps));
        let (taken, others) = self.branches.get(branch).copied().unwrap_or_default();
        let more = i64::try_from(more).unwrap_or(i64::MAX);
        let shared = taken * more + more * (more - 1) / 2;
        let placed = match self.placement {
            // The pairs that are not left any more.
            Placement::Packed => others * more - more * (more + 1) / 2,
            // The pairs that are in use then.
            Placement::Spread => others * more + more * (more - 1) / 2,
        };
        steps * (self.weights.around * placed - self.weights.apart * shared)
    }
}

impl Weights {
    /// `depth` of the tree, units `taken`, the `rest` to take, the `most` that the placement looks at in one unit, and all
    /// `others` that it looks at. Where whole numbers of 64 bits cannot hold it all, which takes tens of thousands of units
    /// to be chosen at once, the least parts are left out.
    fn new(depth: i64, taken: i64, rest: i64, most: i64, others: i64) -> Self {
        let sum = |parts: &[i64]| parts.iter().try_fold(0i64, |sum, part| sum.checked_add(*part));
        let product = |parts: &[i64]| parts.iter().try_fold(1i64, |product, part| product.checked_mul(*part));
        // No sum of such parts, however far it is, is further from nothing than this.
        let apart = || product(&[depth + 1, rest + 1, sum(&[taken, taken, rest, 1])?]);
        let own = || product(&[rest + 1, most + 1]);
        let around = || product(&[depth + 1, rest + 1, sum(&[others, most, rest, 1])?]);
        // Two sums differ by at most twice that.
        let above = |bound: i64| bound.checked_mul(2)?.checked_add(1);
        let fits = |weights: &[(i64, i64)]| {
            let total: Vec<i64> = weights
                .iter()
                .map(|(weight, bound)| product(&[*weight, *bound]))
                .collect::<Option<_>>()?;
            sum(&total)?.checked_mul(2)
        };
        let all = || {
            let (apart_most, own_most, around_most) = (apart()?, own()?, around()?);
            let own = above(around_most)?;
            let apart = own.checked_mul(above(own_most)?)?;
            fits(&[(apart, apart_most), (own, own_most), (1, around_most)])?;
            Some(Self { apart, own, around: 1 })
        };
        let without_around = || {
            let apart_weight = above(own()?)?;
            fits(&[(apart_weight, apart()?), (1, own()?)])?;
            Some(Self {
                apart: apart_weight,
                own: 1,
                around: 0,
            })
        };
        let only_apart = Self {
            apart: 1,
            own: 0,
            around: 0,
        };
        all().or_else(without_around).unwrap_or(only_apart)
    }
}

fn add(sum: &mut (i64, i64), more: (i64, i64)) {
    sum.0 += more.0;
    sum.1 += more.1;
}
