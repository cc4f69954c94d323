//! The cheapest choice, exactly, to hold the host's own against: too slow and too long for what it is worth on a node.
//!
//! For every branch: what it costs to take 0, 1, 2, … beneath it. Two branches side by side are merged by trying every way
//! to divide a number between them.

use super::{Cost, Costs, Topology};
use std::collections::VecDeque;
use std::ops::Range;

/// The cheapest `rest` of the units that are `open`, and what they cost. Ties go to the units that come first, branch by
/// branch. `rest` is at most as many as are open.
pub(super) fn cheapest(
    topology: &Topology,
    costs: &Costs<'_>,
    open: &dyn Fn(usize) -> bool,
    rest: usize,
) -> (Cost, Vec<usize>) {
    let total = (0..topology.positions.len()).filter(|unit| open(*unit)).count();
    if rest == 0 || total < rest {
        return (Cost::default(), Vec::new());
    }
    let mut knapsack = Knapsack { rest, total, ones: Vec::new(), tables: Vec::new() };
    let mut parts: Vec<Vec<Part>> = Vec::new();
    parts.resize_with(topology.branches.len(), Vec::new);
    for (unit, position) in topology.positions.iter().enumerate().filter(|(unit, _)| open(*unit)) {
        if let Some(parts) = parts.get_mut(position.branch) {
            let cost = costs.unit(unit);
            parts.push(Part::One(One { cost, unit }));
        }
    }
    for (n, above) in topology.branches.iter().enumerate().skip(1).rev() {
        let beneath = parts.get_mut(n).map(std::mem::take).unwrap_or_default();
        let part = match beneath.as_slice() {
            [] => continue,
            [Part::One(one)] => Part::One(One { cost: one.cost + costs.branch(n, 1), unit: one.unit }),
            _ => Part::Many(knapsack.through(beneath, |more| costs.branch(n, more))),
        };
        if let Some(above) = parts.get_mut(*above) {
            above.push(part);
        }
    }
    let root = parts.into_iter().next().unwrap_or_default();
    let root = knapsack.through(root, |_| Cost::default());
    let cost = knapsack.table(root).map_or(Cost::default(), |table| table.at(rest));
    (cost, knapsack.chosen(root))
}

/// What is beneath a branch.
enum Part {
    /// One unit that is open.
    One(One),
    /// Several, by the number of their table.
    Many(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct One {
    cost: Cost,
    unit: usize,
}

/// What it costs to take so many of some units: from `least`, as the units elsewhere are too few for less, to as many as
/// are wanted.
struct Table {
    least: usize,
    costs: Vec<Cost>,
    /// How many units it is about.
    units: usize,
    /// The first of them.
    first: usize,
    origin: Origin,
}

enum Origin {
    /// The cheapest of these, for each of which only its own cost counts.
    Ones(Range<usize>),
    /// The best way to divide the number between two.
    Both { left: usize, right: usize },
    /// Those of another table, with a branch's cost added.
    Through(usize),
}

impl Table {
    fn most(&self) -> usize {
        self.least + self.costs.len().saturating_sub(1)
    }

    fn at(&self, count: usize) -> Cost {
        let index = count.checked_sub(self.least);
        index.and_then(|n| self.costs.get(n)).copied().unwrap_or_default()
    }
}

struct Knapsack {
    rest: usize,
    total: usize,
    /// Units of which only their own cost counts, in ranges sorted by cost.
    ones: Vec<One>,
    tables: Vec<Table>,
}

impl Knapsack {
    /// The numbers of some units that a choice can have in it.
    fn counts(&self, units: usize) -> Range<usize> {
        let elsewhere = self.total - units;
        self.rest.saturating_sub(elsewhere)..self.rest.min(units) + 1
    }

    fn table(&self, table: usize) -> Option<&Table> {
        self.tables.get(table)
    }

    fn push(&mut self, table: Table) -> usize {
        self.tables.push(table);
        self.tables.len() - 1
    }

    /// The table of all that is beneath a branch, the branch's own cost added.
    fn through(&mut self, parts: Vec<Part>, cost: impl Fn(usize) -> Cost) -> usize {
        let mut tables = Vec::new();
        let begin = self.ones.len();
        for part in parts {
            match part {
                Part::One(one) => self.ones.push(one),
                Part::Many(table) => tables.push(table),
            }
        }
        if self.ones.len() > begin {
            tables.push(self.of_ones(begin));
        }
        tables.sort_by_key(|table| self.table(*table).map(|table| table.first));
        // In pairs, so that the large ones, where most ways are, come last and are few.
        let mut queue = VecDeque::from(tables);
        while queue.len() > 1 {
            let odd = queue.len() % 2 == 1;
            for _ in 0..queue.len() / 2 {
                if let (Some(left), Some(right)) = (queue.pop_front(), queue.pop_front()) {
                    let both = self.both(left, right);
                    queue.push_back(both);
                }
            }
            // The odd one stays behind all others.
            if odd {
                queue.rotate_left(1);
            }
        }
        let beneath = queue.pop_front().unwrap_or_default();
        let Some(table) = self.table(beneath) else {
            return beneath;
        };
        let add = |(n, known): (usize, &Cost)| *known + cost(table.least + n);
        let table = Table {
            costs: table.costs.iter().enumerate().map(add).collect(),
            origin: Origin::Through(beneath),
            ..*table
        };
        self.push(table)
    }

    fn of_ones(&mut self, begin: usize) -> usize {
        let range = begin..self.ones.len();
        let ones = self.ones.get_mut(range.clone()).unwrap_or_default();
        let first = ones.iter().map(|one| one.unit).min().unwrap_or_default();
        ones.sort_unstable();
        let sums = std::iter::once(Cost::default()).chain(ones.iter().scan(Cost::default(), |sum, one| {
            *sum = *sum + one.cost;
            Some(*sum)
        }));
        let sums: Vec<Cost> = sums.collect();
        let units = range.len();
        let counts = self.counts(units);
        self.push(Table {
            least: counts.start,
            costs: sums.get(counts).unwrap_or_default().to_vec(),
            units,
            first,
            origin: Origin::Ones(range),
        })
    }

    fn both(&mut self, left: usize, right: usize) -> usize {
        let (Some(a), Some(b)) = (self.tables.get(left), self.tables.get(right)) else {
            return left;
        };
        let (units, first) = (a.units + b.units, a.first.min(b.first));
        let counts = self.counts(units);
        let costs = counts.clone().map(|count| divide(a, b, count).1).collect();
        self.push(Table { least: counts.start, costs, units, first, origin: Origin::Both { left, right } })
    }

    /// The units of the cheapest choice in a table.
    fn chosen(&self, table: usize) -> Vec<usize> {
        let mut chosen = Vec::with_capacity(self.rest);
        let mut open = vec![(table, self.rest)];
        while let Some((table, count)) = open.pop() {
            match self.table(table).map(|table| &table.origin) {
                Some(Origin::Through(beneath)) => open.push((*beneath, count)),
                Some(Origin::Ones(range)) => {
                    let ones = self.ones.get(range.clone()).unwrap_or_default();
                    chosen.extend(ones.iter().take(count).map(|one| one.unit));
                }
                Some(Origin::Both { left, right }) => {
                    if let (Some(a), Some(b)) = (self.table(*left), self.table(*right)) {
                        let (of_right, _) = divide(a, b, count);
                        open.push((*left, count - of_right));
                        open.push((*right, of_right));
                    }
                }
                None => {}
            }
        }
        chosen
    }
}

/// The cheapest way to divide a count between two tables: how many the right one has, and the cost. Of equals, the one
/// that takes the most of the left.
fn divide(left: &Table, right: &Table, count: usize) -> (usize, Cost) {
    let least = right.least.max(count.saturating_sub(left.most()));
    let most = right.most().min(count.saturating_sub(left.least));
    let way = |of_right: usize| (of_right, left.at(count - of_right) + right.at(of_right));
    let ways = (least..=most).map(way);
    ways.min_by_key(|(_, cost)| *cost).unwrap_or_default()
}
