//! The default choice against the cheapest one, and that against every other.

mod knapsack;

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

/// What a choice costs, straight from the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rules {
    same_unit: i64,
    numa_nodes: usize,
    not_shared: i64,
    own: i64,
    around: i64,
}

#[derive(Debug, Clone)]
struct World {
    places: Vec<(String, BTreeSet<u32>)>,
    slots: Vec<Slots>,
}

fn pairs(n: u32) -> i64 {
    i64::from(n) * (i64::from(n) - 1) / 2
}

/// How many steps the paths of two units share.
fn shared(a: &str, b: &str) -> i64 {
    let (a, b) = (a.split('/'), b.split('/'));
    let same = a.zip(b).take_while(|(a, b)| a == b && !a.is_empty());
    i64::try_from(same.count()).unwrap()
}

impl World {
    /// The steps that all pairs of replicas of different units share, `counts` of each.
    fn shared(&self, counts: &[u32]) -> i64 {
        let mut sum = 0;
        for (a, (place, _)) in self.places.iter().enumerate() {
            for (b, (other, _)) in self.places.iter().enumerate().skip(a + 1) {
                sum += shared(place, other) * i64::from(counts[a]) * i64::from(counts[b]);
            }
        }
        sum
    }

    fn cost(&self, counts: &[u32], placement: Placement) -> Rules {
        let chosen = || self.places.iter().zip(counts).filter(|(_, count)| **count > 0);
        let known: BTreeSet<_> = chosen().flat_map(|((_, numa), _)| numa).collect();
        let unknown = chosen().any(|((_, numa), _)| numa.is_empty());
        let slots = self.slots.iter().zip(counts);
        let (others, sign): (Vec<u32>, i64) = match placement {
            Placement::Packed => (slots.map(|(slot, count)| slot.free - count).collect(), -1),
            Placement::Spread => (slots.map(|(slot, count)| slot.used + count).collect(), 1),
        };
        Rules {
            same_unit: counts.iter().copied().map(pairs).sum(),
            numa_nodes: known.len() + usize::from(unknown),
            not_shared: -self.shared(counts),
            own: sign * others.iter().copied().map(pairs).sum::<i64>(),
            around: sign * self.shared(&others),
        }
    }

    /// Whether all units are side by side.
    fn is_flat(&self) -> bool {
        let above = |place: &(String, _)| place.0.rsplit_once('/').map(|(above, _)| above.to_owned());
        let first = self.places.first().and_then(above);
        first.is_some() && self.places.iter().all(|place| above(place) == first)
    }

    /// Every possible choice.
    fn all(&self, size: u32) -> Vec<Vec<u32>> {
        let mut all = vec![vec![]];
        for slot in &self.slots {
            let longer = |counts: &Vec<u32>| {
                let counts = counts.clone();
                (slot.must..=slot.free).map(move |n| [counts.as_slice(), &[n]].concat())
            };
            all = all.iter().flat_map(longer).collect();
        }
        all.retain(|counts| counts.iter().sum::<u32>() == size);
        all
    }

    fn choose(&self, size: u32, placement: Placement) -> Option<Vec<u32>> {
        self.choose_by(greedy::cheapest, size, placement)
    }

    fn cheapest(&self, size: u32, placement: Placement) -> Option<Vec<u32>> {
        self.choose_by(knapsack::cheapest, size, placement)
    }

    fn choose_by(&self, cheapest: Cheapest, size: u32, placement: Placement) -> Option<Vec<u32>> {
        let topology = Topology::new(&self.places);
        choose(&topology, &self.slots, size as usize, placement, cheapest)
    }
}

fn place() -> impl Strategy<Value = (String, BTreeSet<u32>)> {
    let location = prop_oneof![
        8 => prop::collection::vec("[ab]", 1..5).prop_map(|steps| steps.join("/")),
        1 => Just(String::new()),
    ];
    let numa = prop_oneof![
        6 => (0u32..3).prop_map(|node| BTreeSet::from([node])),
        1 => Just(BTreeSet::new()),
        1 => Just(BTreeSet::from([0, 1])),
    ];
    (location, numa)
}

fn world(units: usize, replicas: u32) -> impl Strategy<Value = World> {
    let slot = (0..=replicas, 0..=replicas, 0..=2u32).prop_map(move |(free, must, rarely)| Slots {
        free,
        must: if rarely == 0 { must.min(free) } else { 0 },
        used: replicas - free,
    });
    prop::collection::vec((place(), slot), 1..units).prop_map(|units| {
        let (places, slots) = units.into_iter().unzip();
        World { places, slots }
    })
}

fn placement() -> impl Strategy<Value = Placement> {
    prop_oneof![Just(Placement::Packed), Just(Placement::Spread)]
}

/// The oracle against every possible choice.
fn check(world: &World, size: u32, placement: Placement) -> Result<(), TestCaseError> {
    let all = world.all(size);
    let least = all.iter().map(|counts| world.cost(counts, placement)).min();
    let found = world.cheapest(size, placement);
    prop_assert_eq!(found.is_some(), least.is_some());
    if let Some(found) = found {
        prop_assert!(all.contains(&found), "{:?} is none of the possible choices", found);
        prop_assert_eq!(Some(world.cost(&found, placement)), least, "{:?}", found);
    }
    Ok(())
}

/// The host's choice against the oracle's.
fn hold(world: &World, size: u32, placement: Placement) -> Result<(), TestCaseError> {
    let (chosen, cheapest) = (world.choose(size, placement), world.cheapest(size, placement));
    prop_assert_eq!(chosen.is_some(), cheapest.is_some());
    let (Some(chosen), Some(cheapest)) = (chosen, cheapest) else {
        return Ok(());
    };
    prop_assert_eq!(chosen.iter().sum::<u32>(), size);
    for (count, slot) in chosen.iter().zip(&world.slots) {
        prop_assert!((slot.must..=slot.free).contains(count), "{:?}", chosen);
    }
    prop_assert_eq!(world.choose(size, placement), Some(chosen.clone()), "the same again");
    let (cost, least) = (world.cost(&chosen, placement), world.cost(&cheapest, placement));
    prop_assert_eq!((cost.same_unit, cost.numa_nodes), (least.same_unit, least.numa_nodes));
    let (close, closest) = (-cost.not_shared, -least.not_shared);
    prop_assert!(2 * close >= closest, "{close} of {closest}: {chosen:?}");
    let base = Base::of(&world.slots, size as usize);
    if world.is_flat() || base.is_some_and(|base| base.rest == 1) {
        prop_assert_eq!(cost, least, "{:?}", chosen);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn nothing_is_cheaper(world in world(12, 1), size in 0u32..9, placement in placement()) {
        check(&world, size, placement)?;
    }

    #[test]
    fn nothing_is_cheaper_with_replicas(world in world(6, 3), size in 0u32..9, placement in placement()) {
        check(&world, size, placement)?;
    }

    #[test]
    fn no_choice_is_much_worse_than_the_cheapest(world in world(64, 1), size in 0u32..40, placement in placement()) {
        hold(&world, size, placement)?;
    }

    #[test]
    fn no_choice_of_replicas_is_much_worse_than_the_cheapest(
        world in world(24, 3),
        size in 0u32..40,
        placement in placement(),
    ) {
        hold(&world, size, placement)?;
    }

    #[test]
    fn side_by_side_nothing_is_cheaper(mut world in world(24, 3), size in 0u32..40, placement in placement()) {
        for (n, place) in world.places.iter_mut().enumerate() {
            *place = (format!("pci0/port/dev{n}"), BTreeSet::from([0]));
        }
        hold(&world, size, placement)?;
    }
}

/// 8 GPUs: two processors, two switches each, two GPUs on each switch.
fn eight_gpus(free: &[usize], replicas: u32) -> World {
    let place = |n: usize| {
        let (numa, switch) = (n / 4, n / 2);
        let location = format!("pci{numa}/port{switch}/up{switch}/down{n}/gpu{n}");
        (location, BTreeSet::from([u32::try_from(numa).unwrap()]))
    };
    let slot = |n: usize| {
        let free = u32::try_from(free.iter().filter(|free| **free == n).count()).unwrap();
        Slots { free, must: 0, used: replicas - free }
    };
    World { places: (0..8).map(place).collect(), slots: (0..8).map(slot).collect() }
}

fn taken(world: &World, size: u32, placement: Placement) -> Vec<usize> {
    let counts = world.choose(size, placement).unwrap();
    let each = counts.iter().enumerate();
    each.flat_map(|(n, count)| std::iter::repeat_n(n, *count as usize)).collect()
}

#[test]
fn neighbours_on_one_switch_then_on_one_processor() {
    use Placement::Packed;
    assert_eq!(taken(&eight_gpus(&[0, 1, 2, 3, 4, 5, 6, 7], 1), 2, Packed), [0, 1]);
    assert_eq!(taken(&eight_gpus(&[1, 2, 4, 6, 7], 1), 2, Packed), [6, 7]);
    assert_eq!(taken(&eight_gpus(&[1, 2, 4, 5, 6, 7], 1), 4, Packed), [4, 5, 6, 7]);
    assert_eq!(taken(&eight_gpus(&[0, 3, 4, 7], 1), 2, Packed), [0, 3], "on one processor");
}

/// Every set of free ones, every size.
#[test]
fn of_eight_gpus_nothing_is_cheaper_on_one_processor_and_little_on_two() {
    for free in 0..1usize << 8 {
        let free: Vec<usize> = (0..8).filter(|n| free & 1 << n != 0).collect();
        let world = eight_gpus(&free, 1);
        for (size, placement) in (1..=8).flat_map(|size| [(size, Placement::Packed), (size, Placement::Spread)]) {
            let costs = [world.choose(size, placement), world.cheapest(size, placement)]
                .map(|counts| counts.map(|counts| world.cost(&counts, placement)));
            let [chosen, cheapest] = costs;
            if cheapest.is_none_or(|cost| cost.numa_nodes == 1) {
                assert_eq!(chosen, cheapest, "{size} of {free:?}, {placement:?}");
                continue;
            }
            let [close, closest] = costs.map(|cost| -cost.unwrap().not_shared);
            assert!(close * 5 >= closest * 4, "{close} of {closest}: {size} of {free:?}, {placement:?}");
        }
    }
}

#[test]
fn packed_takes_what_is_left_over_and_spread_what_is_left_alone() {
    // One of switch 0 is in use.
    let world = eight_gpus(&[1, 2, 3, 4, 5, 6, 7], 1);
    assert_eq!(taken(&world, 1, Placement::Packed), [1]);
    assert_eq!(taken(&world, 1, Placement::Spread), [4]);
    assert_eq!(taken(&world, 2, Placement::Packed), [2, 3]);
    assert_eq!(taken(&world, 2, Placement::Spread), [4, 5]);
}

#[test]
fn replicas_are_taken_from_different_units_and_of_the_least_used() {
    // 0 has one replica left, 1 has two, 2 and 3 have three; all others none.
    let world = eight_gpus(&[0, 1, 1, 2, 2, 2, 3, 3, 3], 3);
    assert_eq!(taken(&world, 1, Placement::Spread), [2]);
    assert_eq!(taken(&world, 1, Placement::Packed), [0]);
    assert_eq!(taken(&world, 4, Placement::Spread), [0, 1, 2, 3]);
    assert_eq!(taken(&world, 6, Placement::Spread), [0, 1, 2, 2, 3, 3]);
    assert_eq!(taken(&world, 5, Placement::Packed), [0, 1, 1, 2, 3]);
}

#[test]
fn the_lowest_ids_where_nothing_else_decides() {
    let places = (0..10_000).map(|_| ("pci0/port".to_owned(), BTreeSet::from([0]))).collect();
    let slots = vec![Slots { free: 1, must: 0, used: 0 }; 10_000];
    let world = World { places, slots };
    assert_eq!(taken(&world, 3, Placement::Packed), [0, 1, 2]);
}

/// 10,000 units on a hundred switches of different sizes behind ten root complexes.
#[test]
fn thousands_out_of_ten_thousand_are_nearly_as_close_as_can_be() {
    let place = |n: usize| (format!("pci{}/port{}/dev{n}", n % 10, n % 97 * n % 100), BTreeSet::new());
    let slots = (0..10_000).map(|n| Slots {
        free: u32::from(n % 7 != 0),
        must: u32::from(n % 1_000 == 1 && n % 7 != 0),
        used: u32::from(n % 7 == 0),
    });
    let world = World { places: (0..10_000).map(place).collect(), slots: slots.collect() };
    // Pairs share a place as often as two of the units beneath it can be picked.
    let shared = |counts: &[u32]| -> i64 {
        let mut beneath = HashMap::new();
        for ((location, _), count) in world.places.iter().zip(counts) {
            for (end, _) in location.match_indices('/') {
                *beneath.entry(&location[..end]).or_insert(0) += count;
            }
        }
        beneath.into_values().map(pairs).sum()
    };
    for size in [16, 5_000] {
        let (chosen, cheapest) = (world.choose(size, Placement::Packed), world.cheapest(size, Placement::Packed));
        let (chosen, cheapest) = (chosen.unwrap(), cheapest.unwrap());
        assert_eq!(chosen.iter().sum::<u32>(), size);
        let (close, closest) = (shared(&chosen), shared(&cheapest));
        assert!(close <= closest);
        assert!(close * 100 >= closest * 95, "{close} of {closest}");
    }
}
