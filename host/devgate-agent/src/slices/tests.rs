//! Rules for any devices, and for any way from one state of a pool to another.

use super::*;
use devgate_agent_protocol::{Counters, Device, Effect, Taint, Takes, Value};
use k8s_openapi::api::resource::v1::ResourceSlice;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const NODE: (&str, &str) = ("node-1", "node-uid");
const DRIVER: &str = "gpu.example.com";

fn text() -> impl Strategy<Value = String> {
    prop_oneof![9 => "[a-z][a-z0-9-]{0,6}[a-z0-9]", 1 => "[a-zA-Z0-9_./ -]{0,70}"]
}

fn facts() -> impl Strategy<Value = (BTreeMap<String, Value>, BTreeMap<String, u64>)> {
    let value = prop_oneof![
        any::<i64>().prop_map(Value::Int),
        any::<bool>().prop_map(Value::Bool),
        "[ -~]{0,70}".prop_map(Value::String),
        "[0-9]{1,3}(\\.[0-9]{1,3}){1,3}".prop_map(Value::Version),
    ];
    let name = prop_oneof![9 => "[a-z]{1,3}", 1 => text()];
    (
        proptest::collection::btree_map(name, value, 0..5),
        proptest::collection::btree_map("[a-z]{1,3}", any::<u64>().prop_map(|amount| amount >> 1), 0..36),
    )
}

fn device() -> impl Strategy<Value = Device> {
    let taint = text().prop_map(|key| Taint { key, effect: Effect::NoSchedule });
    let takes = (0..24_u8, 0..4_u8, 0..90_u64).prop_map(|(set, counter, amount)| Takes {
        set: format!("set-{set}"),
        amounts: [(format!("c{counter}"), amount)].into(),
    });
    let more = (proptest::option::of(0..5_u32), proptest::option::of(takes));
    (text(), facts(), proptest::collection::vec(taint, 0..20), more).prop_map(
        |(name, (attributes, capacity), taints, (shares, takes))| Device {
            name,
            attributes,
            capacity,
            taints,
            shares,
            takes,
        },
    )
}

fn counters() -> impl Strategy<Value = Counters> {
    let set = prop_oneof![9 => (0..24_u8).prop_map(|n| format!("set-{n}")), 1 => text()];
    let counter = prop_oneof![9 => (0..4_u8).prop_map(|n| format!("c{n}")), 1 => text()];
    let counters = proptest::collection::btree_map(counter, prop_oneof![9 => 0..90_u64, 1 => any::<u64>()], 0..5);
    proptest::collection::btree_map(set, counters, 0..24)
}

/// What the API server looks at, written from its types and validation.
fn assert_valid(slice: &ResourceSlice) {
    let spec = &slice.spec;
    let name = slice.metadata.name.as_deref().unwrap();
    assert!(is_subdomain(name, 253), "{name}");
    assert!(is_subdomain(&spec.driver, 63) && is_subdomain(&spec.pool.name, 253));
    assert!(spec.pool.generation >= 0 && spec.pool.resource_slice_count > 0);
    let (devices, sets) =
        (spec.devices.as_deref().unwrap_or_default(), spec.shared_counters.as_deref().unwrap_or_default());
    assert!(devices.len() <= 64 && sets.len() <= 8 && spec.devices.is_some() != spec.shared_counters.is_some());
    for set in sets {
        assert!(is_label(&set.name) && (1..=32).contains(&set.counters.len()));
        assert!(set.counters.iter().all(|(name, of)| is_label(name) && !of.value.0.is_empty()));
    }
    let names: BTreeSet<_> = devices.iter().map(|device| &device.name).collect();
    assert_eq!(names.len(), devices.len());
    for device in devices {
        assert!(device.name.len() <= 63 && !device.name.contains('.') && is_subdomain(&device.name, 63));
        let none = BTreeMap::new();
        let attributes = device.attributes.as_ref().unwrap_or(&none);
        let capacity = device.capacity.iter().flatten();
        assert!(attributes.len() + capacity.clone().count() <= 32);
        for name in attributes.keys().chain(capacity.map(|(name, _)| name)) {
            let (domain, name) = name.split_once('/').unwrap_or(("a", name));
            assert!(is_subdomain(domain, 63) && name.len() <= 32 && !name.is_empty());
        }
        for value in attributes.values() {
            let set = [value.bool.is_some(), value.int.is_some(), value.string.is_some(), value.version.is_some()];
            assert_eq!(set.iter().filter(|is| **is).count(), 1);
            assert!(value.string.iter().chain(&value.version).all(|text| text.len() <= 64));
        }
        assert!(device.taints.iter().flatten().count() <= 16);
        assert_eq!(
            device.allow_multiple_allocations == Some(true),
            device.capacity.iter().flatten().any(|(name, _)| name == SHARES_CAPACITY)
        );
    }
    assert!(serde_json::to_vec(slice).unwrap().len() < 1 << 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_the_host_says_each_slice_passes_and_no_good_device_is_lost(
        devices in proptest::collection::vec(device(), 0..200),
        mut counters in counters(),
        node in "[a-z0-9]{1,60}(\\.[a-z0-9]{1,60}){0,3}",
    ) {
        let (good, _) = check(devices, &mut counters);
        let wanted = cut(&good, &counters, DRIVER, &node);
        assert_eq!(wanted.len(), good.len().div_ceil(64).max(1) + counters.len().div_ceil(8));
        let names: BTreeSet<_> = wanted.iter().map(|wanted| &wanted.name).collect();
        assert_eq!(names.len(), wanted.len());
        assert!(wanted.is_sorted_by_key(|wanted| &wanted.name));
        let (mut cut, mut sets, mut takers) = (Vec::new(), BTreeMap::new(), Vec::new());
        for wanted in &wanted {
            let slice = body(wanted, None, (&node, "uid"), 1);
            assert_valid(&slice);
            assert_eq!(Digest::of_spec(slice.spec.clone()), wanted.digest);
            sets.extend(slice.spec.shared_counters.into_iter().flatten().map(|set| (set.name, set.counters)));
            let devices = slice.spec.devices.unwrap_or_default();
            takers.extend(devices.iter().filter_map(|device| device.consumes_counters.clone()).flatten());
            cut.extend(devices.into_iter().map(|device| device.name));
        }
        assert!(takers.iter().all(|of| of.counters.keys().all(|name| sets[&of.counter_set].contains_key(name))));
        assert_eq!(cut, good.into_iter().map(|device| device.name).collect::<Vec<_>>());
    }

    /// The pool goes from state to state, and is disturbed on the way. Whenever it looks whole it is a state that was wanted.
    #[test]
    fn a_pool_that_looks_whole_is_never_a_mixture(
        states in proptest::collection::vec((0_usize..330, any::<u8>(), 0_usize..12, proptest::option::of(any::<u8>())), 1..8)
    ) {
        let mut server = Server::default();
        let mut known = Vec::new();
        let mut generation = 0;
        for (devices, salt, steps, lost) in states {
            let wanted = cut(&simple(devices, salt), &Counters::new(), DRIVER, NODE.0);
            known.push(wanted.clone());
            if let Some(lost) = lost {
                server.lose(lost.into());
            }
            for _ in 0..steps {
                server.step(&wanted, &mut generation);
                server.assert_whole_is_one_of(&known);
            }
        }
        let wanted = known.last().unwrap().clone();
        let most = 3 * wanted.len() + server.slices.len() + 3;
        let done = (0..most).any(|_| {
            let is_done = server.step(&wanted, &mut generation);
            server.assert_whole_is_one_of(&known);
            is_done
        });
        assert!(done && server.whole() == Some(wanted.iter().map(|wanted| (wanted.name.clone(), wanted.digest)).collect()));
    }
}

/// Devices of which every 50th changes with the salt.
fn simple(devices: usize, salt: u8) -> Vec<Device> {
    let device = |n: usize| Device {
        name: format!("d{n}"),
        attributes: [("v".to_owned(), Value::Int(if n.is_multiple_of(50) { salt.into() } else { 0 }))].into(),
        ..Device::default()
    };
    (0..devices).map(device).collect()
}

#[derive(Default)]
struct Server {
    slices: BTreeMap<String, Seen>,
    versions: u64,
}

impl Server {
    fn step(&mut self, wanted: &[Wanted], generation: &mut i64) -> bool {
        let accepted = BTreeMap::new();
        let seen = self.slices.values().collect();
        let pool =
            Pool { wanted, seen, name: NODE.0, owner: Some(NODE.1), generation: *generation, accepted: &accepted };
        match pool.next() {
            Next::Done(at) => {
                *generation = at;
                return true;
            }
            Next::Delete(name) => {
                let name = name.to_owned();
                self.slices.remove(&name);
            }
            Next::Write(wanted, at) => {
                *generation = (*generation).max(at);
                self.versions += 1;
                let mut slice = body(wanted, self.slices.get(&wanted.name), NODE, at);
                slice.metadata.resource_version = Some(self.versions.to_string());
                self.slices.insert(wanted.name.clone(), Seen::of(slice));
            }
        }
        false
    }

    fn lose(&mut self, nth: usize) {
        if let Some(name) = self.slices.keys().nth(nth % self.slices.len().max(1)).cloned() {
            self.slices.remove(&name);
        }
    }

    /// What a scheduler takes: all of the highest generation, where they are as many as one of them says.
    fn whole(&self) -> Option<BTreeMap<String, Digest>> {
        let highest = self.slices.values().map(|seen| seen.generation).max()?;
        let latest: Vec<_> = self.slices.values().filter(|seen| seen.generation == highest).collect();
        let is_whole = latest.iter().any(|seen| usize::try_from(seen.count) == Ok(latest.len()));
        is_whole.then(|| latest.iter().map(|seen| (seen.name.clone(), seen.digest)).collect())
    }

    fn assert_whole_is_one_of(&self, known: &[Vec<Wanted>]) {
        let Some(whole) = self.whole() else { return };
        let same = |wanted: &Vec<Wanted>| {
            wanted.len() == whole.len() && wanted.iter().all(|wanted| whole.get(&wanted.name) == Some(&wanted.digest))
        };
        assert!(known.iter().any(same), "a mixture");
    }
}

#[test]
fn one_change_is_one_write_in_the_same_generation_and_two_are_a_new_one() {
    let (mut server, mut generation) = (Server::default(), 0);
    let mut settle = |server: &mut Server, devices: &[Device]| {
        let wanted = cut(devices, &Counters::new(), DRIVER, NODE.0);
        (0..20).take_while(|_| !server.step(&wanted, &mut generation)).count()
    };
    let mut devices = simple(130, 0);
    assert_eq!(settle(&mut server, &devices), 3);
    devices[70].attributes.clear();
    assert_eq!(settle(&mut server, &devices), 1);
    assert!(server.slices.values().all(|seen| seen.generation == 1));
    devices[1].attributes.clear();
    devices[129].attributes.clear();
    assert_eq!(settle(&mut server, &devices), 3);
    assert!(server.slices.values().all(|seen| seen.generation == 2));
    // One slice fewer, and the others say so.
    assert_eq!(settle(&mut server, &devices[..128]), 3);
    assert_eq!(settle(&mut server, &[]), 2);
    assert_eq!(server.slices.len(), 1);
    assert_eq!(server.slices.values().next().unwrap().name, "00000-gpu.example.com-node-1");
    assert_eq!(settle(&mut server, &[]), 0);
}

#[test]
fn a_name_that_is_too_long_is_cut_and_stays_one_of_its_own() {
    let node = |last: &str| format!("{}.{last}", vec!["n".repeat(49); 4].join("."));
    let name = |node: &str| cut(&[], &Counters::new(), DRIVER, node)[0].name.clone();
    let (one, other) = (name(&node(&"a".repeat(49))), name(&node(&format!("{}b", "a".repeat(48)))));
    assert!(one != other && one.len() <= 253 && is_subdomain(&one, 253), "{one}");
    assert!(one.starts_with("00000-gpu.example.com-nnn"));
}

#[test]
fn a_taint_stays_since_when_it_was_and_what_is_dropped_is_named() {
    let mut devices = simple(1, 0);
    devices[0].taints = vec![Taint { key: "devgate.dev/unhealthy".to_owned(), effect: Effect::NoSchedule }];
    let wanted = cut(&devices, &Counters::new(), DRIVER, NODE.0).remove(0);
    let sent = body(&wanted, None, NODE, 1);
    let mut came: ResourceSlice = sent.clone();
    let time = serde_json::from_str("\"2026-01-02T03:04:05Z\"").unwrap();
    came.spec.devices.as_mut().unwrap()[0].taints.as_mut().unwrap()[0].time_added = Some(time);
    assert_eq!(missing(&sent.spec, &came.spec), [""; 0]);
    let seen = Seen::of(came.clone());
    assert_eq!(seen.digest, wanted.digest);
    assert_eq!(body(&wanted, Some(&seen), NODE, 1).spec, came.spec);
    came.spec.devices.as_mut().unwrap()[0].taints = None;
    assert_eq!(missing(&sent.spec, &came.spec), ["taints"]);
    came.spec.devices = None;
    assert_eq!(missing(&sent.spec, &came.spec), ["devices"]);
}
