//! Which units to take one more of: a cheap choice, found from the root of the device tree to its leaves.
//!
//! At each branch whole branches are taken, those first that are the best for each of their units, and what remains (all of
//! it, perhaps) beneath one that has more. Closeness makes each unit beneath a branch worth more than the one before, so
//! that good choices are of that kind.

use super::cost::Costs;
use crate::units::Layout;
use std::cmp::Reverse;
use std::collections::HashMap;

/// A cheap choice of `rest` of the units that are `open`, and what it costs. Ties go to the units that come first. `rest`
/// is at most as many as are open.
pub(super) fn cheapest(
    layout: &Layout,
    costs: &Costs<'_>,
    open: &dyn Fn(usize) -> bool,
    rest: usize,
) -> (i64, Vec<usize>) {
    let mut blocks: Vec<Vec<Block>> = Vec::new();
    blocks.resize_with(layout.branches.len(), Vec::new);
    for (unit, seat) in layout.seats.iter().enumerate().filter(|(unit, _)| open(*unit)) {
        if let Some(blocks) = blocks.get_mut(seat.branch as usize) {
            blocks.push(Block {
                cost: costs.unit(unit),
                count: 1,
                first: unit,
                branch: None,
            });
        }
    }
    for (n, branch) in layout.branches.iter().enumerate().rev() {
        let Some(beneath) = blocks.get_mut(n) else { continue };
        beneath.sort_unstable_by(Block::order);
        let Some(block) = Block::of(beneath, n, rest, costs) else {
            continue;
        };
        if n > 0
            && let Some(above) = blocks.get_mut(branch.above as usize)
        {
            above.push(block);
        }
    }
    let mut greedy = Greedy {
        costs,
        blocks,
        known: HashMap::new(),
    };
    let Choice { cost, units } = greedy.take(0, rest);
    (cost, units)
}

/// The open units beneath a branch, or a single one.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// What it costs to take all of them, without what the branches above say; the least where they are more than
    /// wanted.
    cost: i64,
    /// How many they are.
    count: usize,
    /// The first of them.
    first: usize,
    /// The branch, where they are several.
    branch: Option<usize>,
}

impl Block {
    fn of(beneath: &[Self], branch: usize, rest: usize, costs: &Costs<'_>) -> Option<Self> {
        let count = beneath.iter().map(|block| block.count).sum();
        let cost = if count <= rest {
            let own = costs.branch(branch, count);
            beneath.iter().fold(own, |sum, block| sum.saturating_add(block.cost))
        } else {
            i64::MIN
        };
        Some(Self {
            cost,
            count,
            first: beneath.iter().map(|block| block.first).min()?,
            branch: (count > 1).then_some(branch),
        })
    }

    /// The cheapest for each unit first, of equals the larger one.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let product = |cost: i64, count: usize| i128::from(cost) * i128::try_from(count).unwrap_or(i128::MAX);
        let (own, others) = (product(self.cost, other.count), product(other.cost, self.count));
        let rest = |block: &Self| (Reverse(block.count), block.first);
        own.cmp(&others).then_with(|| rest(self).cmp(&rest(other)))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Choice {
    cost: i64,
    /// Sorted.
    units: Vec<usize>,
}

/// Whole blocks and then a part of another one.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    cost: i64,
    /// How many units of the whole blocks it takes.
    whole: usize,
    /// The branch that it takes the others from, and how many.
    part: Option<(usize, usize)>,
}

struct Greedy<'c> {
    costs: &'c Costs<'c>,
    /// What is directly beneath each branch, in the order in which it is taken.
    blocks: Vec<Vec<Block>>,
    /// What was chosen beneath a branch for a number.
    known: HashMap<(usize, usize), Choice>,
}

impl Greedy<'_> {
    /// Takes `count` of the units beneath a branch, which are at least as many.
    fn take(&mut self, branch: usize, count: usize) -> Choice {
        if let Some(known) = self.known.get(&(branch, count)) {
            return known.clone();
        }
        let blocks = self.blocks.get(branch).cloned().unwrap_or_default();
        let best = self.in_order(&blocks, count);
        self.known.insert((branch, count), best.clone());
        best
    }

    /// The best of the ways that take whole blocks in this order.
    fn in_order(&mut self, blocks: &[Block], count: usize) -> Choice {
        let none = Way::default();
        let mut ways: Vec<Way> = blocks
            .iter()
            .filter_map(|block| self.end(&none, block, count))
            .collect();
        let (mut way, mut whole) = (none, Vec::new());
        let (mut left, mut others) = (count, Vec::new());
        for block in blocks {
            if block.count > left {
                ways.extend(self.end(&way, block, left));
                others.push(*block);
                continue;
            }
            left -= block.count;
            self.all(block, &mut whole);
            way.cost = way.cost.saturating_add(block.cost);
            way.whole = whole.len();
        }
        if left == 0 {
            ways.push(way);
        } else {
            ways.extend(others.iter().filter_map(|block| self.end(&way, block, left)));
        }
        let least = ways.iter().map(|way| way.cost).min();
        let cheapest = ways.into_iter().filter(|way| Some(way.cost) == least);
        let choices = cheapest.map(|way| {
            let mut units = whole.get(..way.whole).unwrap_or_default().to_vec();
            let part = way.part.and_then(|part| self.known.get(&part));
            units.extend(part.into_iter().flat_map(|part| &part.units));
            units.sort_unstable();
            Choice { cost: way.cost, units }
        });
        choices.min().unwrap_or_default()
    }

    /// A way that ends with what is left to take in one branch that has room for it.
    fn end(&mut self, way: &Way, block: &Block, left: usize) -> Option<Way> {
        let branch = block.branch.filter(|_| block.count >= left)?;
        let part = self
            .take(branch, left)
            .cost
            .saturating_add(self.costs.branch(branch, left));
        Some(Way {
            cost: way.cost.saturating_add(part),
            part: Some((branch, left)),
            ..*way
        })
    }

    /// Adds all units of a block.
    fn all(&self, block: &Block, units: &mut Vec<usize>) {
        match block.branch {
            None => units.push(block.first),
            Some(branch) => {
                for block in self.blocks.get(branch).into_iter().flatten() {
                    self.all(block, units);
                }
            }
        }
    }
}
