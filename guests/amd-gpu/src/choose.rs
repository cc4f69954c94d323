//! Which units a container gets: near each other, and from GPUs that are in use already.
//!
//! Of all choices the one with the least distance between its units, summed over all pairs, where parts of one GPU have
//! none; of those the one that touches GPUs with the fewest free parts; of those the one that leaves the units that stay
//! free nearest to each other; of those the first in order. As parts of one GPU are nearer than those of two, in a best choice at most one
//! GPU is taken in part, so that only GPUs have to be tried and not parts.

use std::collections::{BTreeMap, BTreeSet};

/// Where nothing is known of a way.
const UNKNOWN: u64 = 200;
/// What another NUMA node adds to that.
const ANOTHER_NUMA: u64 = 50;
/// How many pairs of GPUs are looked at, over all choices: enough for every choice among a dozen divided or 16 whole GPUs. After
/// that the best so far counts.
const MAX_STEPS: usize = 5_000_000;

/// A unit that can be taken.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) id: String,
    /// The PCI address of its GPU.
    pub(crate) gpu: String,
    pub(crate) numa: Option<u32>,
}

/// What is known of the ways between GPUs.
#[derive(Debug, Default)]
pub(crate) struct Distances(BTreeMap<(String, String), u64>);

impl Distances {
    /// Notes a way; of several between two GPUs the shortest counts.
    pub(crate) fn set(&mut self, a: &str, b: &str, distance: u64) {
        let known = self.0.entry(pair(a, b)).or_insert(distance);
        *known = distance.min(*known);
    }
}

fn pair(a: &str, b: &str) -> (String, String) {
    let (a, b) = if a <= b { (a, b) } else { (b, a) };
    (a.to_owned(), b.to_owned())
}

/// One GPU's candidates.
struct Gpu<'a> {
    address: &'a str,
    numa: Option<u32>,
    /// Those that must be taken, and the others, by id.
    must: usize,
    free: Vec<&'a str>,
}

/// `size` ids, all of `must` among them and first; nothing where that is impossible.
pub(crate) fn choose(
    candidates: &[Candidate],
    must: &[String],
    size: usize,
    distances: &Distances,
) -> Option<Vec<String>> {
    let required: BTreeSet<&str> = must.iter().map(String::as_str).collect();
    let gpus = gpus(candidates, &required);
    let known: usize = gpus.iter().map(|gpu| gpu.must).sum();
    let need = size.checked_sub(required.len())?;
    let free: usize = gpus.iter().map(|gpu| gpu.free.len()).sum();
    if known != required.len() || need > free {
        return None;
    }
    let best = Search::run(&gpus, distances, need)?;
    let mut chosen: Vec<String> = required.into_iter().map(str::to_owned).collect();
    for (gpu, taken) in gpus.iter().zip(best) {
        chosen.extend(gpu.free.iter().take(taken).map(|id| (*id).to_owned()));
    }
    Some(chosen)
}

/// The candidates by GPU, those GPUs with the fewest free ones first.
fn gpus<'a>(candidates: &'a [Candidate], required: &BTreeSet<&str>) -> Vec<Gpu<'a>> {
    let mut by_address: BTreeMap<&str, Gpu<'a>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for candidate in candidates.iter().filter(|candidate| seen.insert(&candidate.id)) {
        let gpu = by_address.entry(&candidate.gpu).or_insert_with(|| Gpu {
            address: &candidate.gpu,
            numa: candidate.numa,
            must: 0,
            free: Vec::new(),
        });
        if required.contains(candidate.id.as_str()) {
            gpu.must += 1;
        } else {
            gpu.free.push(&candidate.id);
        }
    }
    let mut gpus: Vec<_> = by_address.into_values().collect();
    for gpu in &mut gpus {
        // `amdgpu_xcp_9` before `amdgpu_xcp_10`.
        gpu.free.sort_by_key(|id| (id.len(), *id));
    }
    gpus.sort_by_key(|gpu| gpu.free.len());
    gpus
}

/// How good a choice is; less is better.
type Score = (u64, usize, u64);

/// Goes through choices: of each GPU all, nothing, or of one GPU what is left to take.
struct Search<'a> {
    gpus: &'a [Gpu<'a>],
    /// Between each two, by their place in `gpus`.
    matrix: Vec<Vec<u64>>,
    /// How many are free from each place on.
    rest: Vec<usize>,
    looked: usize,
    best: Option<(Score, Vec<usize>)>,
}

impl<'a> Search<'a> {
    fn run(gpus: &'a [Gpu<'a>], distances: &Distances, need: usize) -> Option<Vec<usize>> {
        let row = |a: &Gpu<'_>| gpus.iter().map(|b| between(a, b, distances)).collect();
        let mut rest: Vec<usize> = gpus.iter().rev().scan(0, |sum, gpu| running(sum, gpu.free.len())).collect();
        rest.reverse();
        rest.push(0);
        let mut search = Self { gpus, matrix: gpus.iter().map(row).collect(), rest, looked: 0, best: None };
        let mut taken = vec![0; gpus.len()];
        for part in std::iter::once(None).chain((0..gpus.len()).map(Some)) {
            search.look(&mut taken, 0, part, need);
        }
        search.best.map(|(_, taken)| taken)
    }

    /// Decides about the GPU at a place and those after it; `part` is decided by what the others leave.
    fn look(&mut self, taken: &mut [usize], at: usize, part: Option<usize>, need: usize) {
        let Some(gpu) = self.gpus.get(at) else {
            self.finish(taken, part, need);
            return;
        };
        let room = part.filter(|part| *part < at).and_then(|part| self.gpus.get(part));
        let room = room.map_or(0, |gpu| gpu.free.len());
        let rest = self.rest.get(at).copied().unwrap_or_default();
        if self.looked >= MAX_STEPS || need > rest + room {
            return;
        }
        if part == Some(at) {
            self.look(taken, at + 1, part, need);
            return;
        }
        let free = gpu.free.len();
        for take in [free, 0] {
            if take <= need {
                set(taken, at, take);
                self.look(taken, at + 1, part, need - take);
            }
            if free == 0 {
                break;
            }
        }
        set(taken, at, 0);
    }

    fn finish(&mut self, taken: &mut [usize], part: Option<usize>, need: usize) {
        self.looked += self.gpus.len() * self.gpus.len();
        let room = part.and_then(|part| self.gpus.get(part)).map(|gpu| gpu.free.len());
        match (part, room) {
            (None, _) if need == 0 => {}
            // All or nothing of it is another choice.
            (Some(part), Some(room)) if need > 0 && need < room => set(taken, part, need),
            _ => return,
        }
        let score = self.score(taken);
        if self.best.as_ref().is_none_or(|(best, _)| score < *best) {
            self.best = Some((score, taken.to_vec()));
        }
        if let Some(part) = part {
            set(taken, part, 0);
        }
    }

    fn score(&self, taken: &[usize]) -> Score {
        let mine: Vec<u64> = self.gpus.iter().zip(taken).map(|(gpu, taken)| (gpu.must + taken) as u64).collect();
        let left: Vec<u64> = self.gpus.iter().zip(taken).map(|(gpu, taken)| (gpu.free.len() - taken) as u64).collect();
        let touched = self.gpus.iter().zip(taken).filter(|(_, taken)| **taken > 0);
        (self.spread(&mine), touched.map(|(gpu, _)| gpu.free.len()).sum(), self.spread(&left))
    }

    /// The distances between all pairs of so many units of each GPU.
    fn spread(&self, counts: &[u64]) -> u64 {
        let mut sum: u64 = 0;
        for (a, (row, count)) in self.matrix.iter().zip(counts).enumerate() {
            for (distance, other) in row.iter().zip(counts).skip(a + 1) {
                sum = sum.saturating_add(distance * count * other);
            }
        }
        sum
    }
}

fn running(sum: &mut usize, more: usize) -> Option<usize> {
    *sum += more;
    Some(*sum)
}

fn set(taken: &mut [usize], at: usize, value: usize) {
    if let Some(slot) = taken.get_mut(at) {
        *slot = value;
    }
}

fn between(a: &Gpu<'_>, b: &Gpu<'_>, distances: &Distances) -> u64 {
    let known = distances.0.get(&pair(a.address, b.address));
    known.copied().unwrap_or_else(|| {
        let apart = a.numa.is_some() && b.numa.is_some() && a.numa != b.numa;
        UNKNOWN + if apart { ANOTHER_NUMA } else { 0 }
    })
}

#[cfg(test)]
mod tests;
