use super::*;
use proptest::prelude::*;

/// GPUs named by letters, with so many partitions each; GPUs before `half` on NUMA node 0, the others on 1.
fn node(partitions: &[usize], half: usize) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (n, count) in partitions.iter().enumerate() {
        let gpu = char::from(b'a' + u8::try_from(n).unwrap());
        let part = |k| Candidate { id: format!("{gpu}{k}"), gpu: gpu.to_string(), numa: Some(u32::from(n >= half)) };
        candidates.extend((0..*count).map(part));
    }
    candidates
}

/// Two hives of four: XGMI within each, PCIe between them.
fn two_hives() -> Distances {
    let mut distances = Distances::default();
    let names: Vec<char> = ('a'..='h').collect();
    for (i, a) in names.iter().enumerate() {
        for (j, b) in names.iter().enumerate().skip(i + 1) {
            let distance = if i / 4 == j / 4 { 15 } else { 172 };
            distances.set(&a.to_string(), &b.to_string(), distance);
        }
    }
    distances
}

fn chosen(candidates: &[Candidate], must: &[&str], size: usize) -> Option<String> {
    let must: Vec<String> = must.iter().map(|id| (*id).to_owned()).collect();
    let ids = choose(candidates, &must, size, &two_hives())?;
    Some(ids.join(" "))
}

fn without(mut candidates: Vec<Candidate>, gone: &[&str]) -> Vec<Candidate> {
    candidates.retain(|candidate| !gone.contains(&candidate.id.as_str()));
    candidates
}

#[test]
fn whole_gpus_come_from_one_hive() {
    let all = node(&[1; 8], 4);
    assert_eq!(chosen(&all, &[], 4).as_deref(), Some("a0 b0 c0 d0"));
    assert_eq!(chosen(&without(all.clone(), &["b0"]), &[], 4).as_deref(), Some("e0 f0 g0 h0"));
    assert_eq!(chosen(&without(all.clone(), &["a0", "e0", "f0", "g0"]), &[], 3).as_deref(), Some("b0 c0 d0"));
    assert_eq!(chosen(&all, &["g0"], 2).as_deref(), Some("g0 e0"));
}

#[test]
fn one_gpu_comes_from_the_hive_that_is_broken_already() {
    let left = without(node(&[1; 8], 4), &["f0"]);
    assert_eq!(chosen(&left, &[], 1).as_deref(), Some("e0"));
}

#[test]
fn the_gpu_with_the_fewest_free_partitions_is_filled_first() {
    let left = without(node(&[8; 8], 4), &["c0", "c1", "c2", "c3", "c4", "f0", "f1"]);
    assert_eq!(chosen(&left, &[], 1).as_deref(), Some("c5"));
    assert_eq!(chosen(&left, &[], 3).as_deref(), Some("c5 c6 c7"));
    // Three are not enough; of those that are, the fewest.
    assert_eq!(chosen(&left, &[], 4).as_deref(), Some("f2 f3 f4 f5"));
}

#[test]
fn what_does_not_fit_one_gpu_stays_in_its_hive() {
    let all = node(&[8; 8], 4);
    let ids = chosen(&all, &[], 16).unwrap();
    let gpus: BTreeSet<char> = ids.split(' ').filter_map(|id| id.chars().next()).collect();
    assert_eq!(gpus.len(), 2);
    assert!(gpus.iter().all(|gpu| *gpu <= 'd') || gpus.iter().all(|gpu| *gpu > 'd'), "{gpus:?}");
}

#[test]
fn what_must_be_taken_draws_the_others() {
    let all = node(&[8; 8], 4);
    assert_eq!(chosen(&all, &["d5"], 3).as_deref(), Some("d5 d0 d1"));
    assert_eq!(chosen(&all, &["d5", "h1"], 2).as_deref(), Some("d5 h1"));
}

#[test]
fn numbers_are_in_the_order_of_numbers() {
    let candidate = |n: u32| Candidate { id: format!("amdgpu_xcp_{n}"), gpu: "a".to_owned(), numa: None };
    let all: Vec<_> = [10, 9, 11].map(candidate).to_vec();
    assert_eq!(chosen(&all, &[], 2).as_deref(), Some("amdgpu_xcp_9 amdgpu_xcp_10"));
}

#[test]
fn the_impossible_is_nothing() {
    let all = node(&[2, 2], 1);
    assert_eq!(chosen(&all, &[], 5), None);
    assert_eq!(chosen(&all, &["a0", "a1"], 1), None);
    assert_eq!(chosen(&all, &["z9"], 2), None);
    assert_eq!(chosen(&all, &[], 0).as_deref(), Some(""));
}

#[test]
fn without_ways_numa_nodes_decide() {
    let all = node(&[1, 1, 1, 1], 2);
    let left = without(all, &["a0"]);
    let ids = choose(&left, &[], 2, &Distances::default()).unwrap();
    assert_eq!(ids, ["c0", "d0"]);
}

/// The distances between all pairs of these ids.
fn spread(ids: &[String], distances: &Distances) -> u64 {
    let mut sum = 0;
    for (n, a) in ids.iter().enumerate() {
        for b in ids.iter().skip(n + 1) {
            sum += distances.0.get(&pair(&a[..1], &b[..1])).copied().unwrap_or_default();
        }
    }
    sum
}

/// The least that any choice could have.
fn least(candidates: &[Candidate], must: &[String], size: usize, distances: &Distances) -> u64 {
    let ids: Vec<&String> = candidates.iter().map(|candidate| &candidate.id).collect();
    let choices = (0_u32..1 << ids.len()).filter(|bits| bits.count_ones() as usize == size);
    let taken = |bits: u32| -> Vec<String> {
        let of = |(n, id): (usize, &&String)| (bits >> n & 1 == 1).then(|| (*id).clone());
        ids.iter().enumerate().filter_map(of).collect()
    };
    let with_must = choices.map(taken).filter(|ids| must.iter().all(|id| ids.contains(id)));
    with_must.map(|ids| spread(&ids, distances)).min().unwrap()
}

proptest! {
    /// Whatever is free: exactly as many as asked for, each once, each available, all that must be, and the same again
    /// in whatever order they are named.
    #[test]
    fn a_choice_is_one(
        partitions in prop::collection::vec(0_usize..=8, 1..=8),
        seed in any::<u64>(),
        size in 0_usize..=64,
        required in 0_usize..=4,
    ) {
        let all = node(&partitions, 4);
        let mut shuffled = all.clone();
        shuffled.sort_by_key(|c| seed.wrapping_mul(c.id.bytes().map(u64::from).sum::<u64>() | 1).rotate_left(17));
        let must: Vec<String> = shuffled.iter().take(required.min(size)).map(|c| c.id.clone()).collect();
        let answer = choose(&all, &must, size, &two_hives());
        prop_assert_eq!(&answer, &choose(&shuffled, &must, size, &two_hives()));
        if size > all.len() {
            prop_assert_eq!(answer, None);
        } else {
            let ids = answer.unwrap();
            let unique: BTreeSet<&String> = ids.iter().collect();
            prop_assert_eq!((ids.len(), unique.len()), (size, size));
            prop_assert!(ids.iter().all(|id| all.iter().any(|c| c.id == *id)));
            prop_assert!(must.iter().all(|id| unique.contains(id)));
        }
    }

    /// No other choice has its units nearer to each other.
    #[test]
    fn a_choice_is_a_best_one(
        partitions in prop::collection::vec(0_usize..=3, 5),
        size in 1_usize..=6,
        required in 0_usize..=2,
    ) {
        let all = node(&partitions, 4);
        prop_assume!(size <= all.len());
        let must: Vec<String> = all.iter().rev().take(required.min(size)).map(|c| c.id.clone()).collect();
        let ids = choose(&all, &must, size, &two_hives()).unwrap();
        prop_assert_eq!(spread(&ids, &two_hives()), least(&all, &must, size, &two_hives()));
    }
}
