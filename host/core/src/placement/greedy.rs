//! Which units to take one more of: a cheap choice, found from the root of the device tree to its leaves.
//!
//! At each branch whole branches are taken, those first that are the best for each of their units, and what remains (all of
//! it, perhaps) beneath one that has more. Closeness makes each unit beneath a branch worth more than the one before, so
//! that good choices are of that kind.

use super::cost::{Cost, Costs};
use crate::units::Topology;
use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

/// What is chosen, sorted, and what it costs.
type Choice = (Cost, Vec<usize>);

/// A cheap choice of `rest` of the units that are `open`, and what it costs. Ties go to the units that come first. `rest`
/// is at most as many as are open.
pub(super) fn cheapest(topology: &Topology, costs: &Costs<'_>, open: &dyn Fn(usize) -> bool, rest: usize) -> Choice {
    let mut blocks: Vec<Vec<Block>> = vec![Vec::new(); topology.branches.len()];
    let add = |blocks: &mut Vec<Vec<Block>>, branch: usize, block| {
        let at = blocks.get_mut(branch).into_iter();
        at.for_each(|blocks| blocks.push(block));
    };
    for (unit, position) in topology.positions.iter().enumerate().filter(|(unit, _)| open(*unit)) {
        let block = Block { cost: costs.unit(unit), count: 1, first: unit, branch: None };
        add(&mut blocks, position.branch, block);
    }
    for (n, above) in topology.branches.iter().enumerate().rev() {
        let Some(beneath) = blocks.get_mut(n) else { continue };
        beneath.sort_unstable_by(Block::order);
        if let Some(block) = Block::of(beneath, n, rest, costs).filter(|_| n > 0) {
            add(&mut blocks, *above, block);
        }
    }
    let mut greedy = Greedy { costs, blocks, known: HashMap::new() };
    greedy.take(0, rest)
}

/// The open units beneath a branch, or a single one.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// What it costs to take all of them, without what the branches above say; the least where they are more than
    /// wanted.
    cost: Cost,
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
        let all = || beneath.iter().fold(costs.branch(branch, count), |sum, block| sum + block.cost);
        Some(Self {
            cost: if count <= rest { all() } else { Cost::LEAST },
            count,
            first: beneath.iter().map(|block| block.first).min()?,
            branch: (count > 1).then_some(branch),
        })
    }

    /// The cheapest for each unit first, of equals the larger one.
    fn order(&self, other: &Self) -> Ordering {
        let rest = |block: &Self| (Reverse(block.count), block.first);
        let cost = self.cost.compare_each(self.count, other.cost, other.count);
        cost.then_with(|| rest(self).cmp(&rest(other)))
    }
}

struct Greedy<'c> {
    costs: &'c Costs<'c>,
    /// What is directly beneath each branch, in the order in which it is taken.
    blocks: Vec<Vec<Block>>,
    /// What was chosen beneath a branch for a number.
    known: HashMap<(usize, usize), Choice>,
}

/// What the whole blocks cost that are taken, how many units they have, and the branch that the others are taken from, with their number.
type Way = (Cost, usize, Option<(usize, usize)>);

impl Greedy<'_> {
    /// Takes `count` of the units beneath a branch, which are at least as many: whole blocks in their order, and then a part of one.
    fn take(&mut self, branch: usize, count: usize) -> Choice {
        if let Some(known) = self.known.get(&(branch, count)) {
            return known.clone();
        }
        let blocks = self.blocks.get(branch).cloned().unwrap_or_default();
        let none = (Cost::default(), 0, None);
        let mut ways: Vec<Way> = blocks.iter().filter_map(|block| self.end(none, block, count)).collect();
        let (mut way, mut whole) = (none, Vec::new());
        let (mut left, mut others) = (count, Vec::new());
        for block in &blocks {
            if block.count > left {
                ways.extend(self.end(way, block, left));
                others.push(block);
                continue;
            }
            left -= block.count;
            self.all(block, &mut whole);
            way = (way.0 + block.cost, whole.len(), None);
        }
        match left {
            0 => ways.push(way),
            left => ways.extend(others.into_iter().filter_map(|block| self.end(way, block, left))),
        }
        let least = ways.iter().map(|(cost, ..)| *cost).min();
        let cheapest = ways.into_iter().filter(|(cost, ..)| Some(*cost) == least);
        let choices = cheapest.map(|(cost, taken, part)| {
            let mut units = whole.get(..taken).unwrap_or_default().to_vec();
            let part = part.and_then(|part| self.known.get(&part));
            units.extend(part.into_iter().flat_map(|(_, units)| units));
            units.sort_unstable();
            (cost, units)
        });
        let best = choices.min().unwrap_or_default();
        self.known.insert((branch, count), best.clone());
        best
    }

    /// A way that ends with what is left to take in one branch that has room for it.
    fn end(&mut self, (cost, taken, _): Way, block: &Block, left: usize) -> Option<Way> {
        let branch = block.branch.filter(|_| block.count >= left)?;
        let (part, _) = self.take(branch, left);
        Some((cost + part + self.costs.branch(branch, left), taken, Some((branch, left))))
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
