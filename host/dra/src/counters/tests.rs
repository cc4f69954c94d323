use super::*;
use devgate_types::ResourceName;

fn device(id: &str, wholes: &[&str]) -> Listed {
    let facts = Facts { wholes: wholes.iter().map(|whole| (*whole).to_owned()).collect(), ..Facts::default() };
    Listed {
        name: device_name(id),
        id: id.to_owned(),
        resource: ResourceName::try_new("vendor.com/gpu").unwrap(),
        unhealthy: None,
        facts: Some(facts.into()),
    }
}

/// Names of what is published, with what it takes; then the sets.
fn counted(devices: &[Listed], are_kept: bool) -> (Vec<String>, Counters) {
    let known = devices.iter().map(|device| (device, device.facts.as_deref().unwrap()));
    let (counters, counted) = count(known, are_kept);
    let line = |of: &Counted<'_>| match &of.takes {
        Some(takes) => format!("{} takes {:?} of {}", of.device.name, takes.amounts, takes.set),
        None => of.device.name.clone(),
    };
    (counted.iter().map(line).collect(), counters)
}

#[test]
fn dra36_a_whole_takes_all_of_its_counter_and_each_part_one() {
    let all = [
        device("gpu0", &["gpu0"]),
        device("gpu0.1", &["gpu0"]),
        device("gpu0.2", &["gpu0"]),
        device("gpu1", &[]),
        device("both", &["both"]),
        device("gpu2.1", &["both", "gpu2"]),
        device("gpu2", &["gpu2"]),
    ];
    let (published, counters) = counted(&all, true);
    let part = device_name("gpu0.1");
    assert_eq!(
        [&published[..2], &published[3..4], &published[4..]].concat(),
        [
            r#"gpu0 takes {"gpu0": 64} of gpu0"#.to_owned(),
            format!(r#"{part} takes {{"gpu0": 1}} of gpu0"#),
            "gpu1".to_owned(),
            r#"both takes {"both": 64} of both"#.to_owned(),
            format!(r#"{} takes {{"both": 1, "gpu2": 1}} of both"#, device_name("gpu2.1")),
            r#"gpu2 takes {"gpu2": 64} of both"#.to_owned(),
        ]
    );
    let sizes: Vec<_> = counters.iter().map(|(name, set)| (name.as_str(), set.len())).collect();
    assert_eq!(sizes, [("both", 2), ("gpu0", 1)]);
    assert!(counters.values().flat_map(BTreeMap::values).all(|there| *there == WHOLE));
}

#[test]
fn dra36_without_counters_the_first_are_published_and_not_those_that_cannot_be_beside_them() {
    let whole_first = [device("a", &["a"]), device("a1", &["a"]), device("b", &[]), device("a2", &["a"])];
    assert_eq!(counted(&whole_first, false).0, ["a", "b"]);
    let parts_first = [device("a1", &["a"]), device("a2", &["a"]), device("a", &["a"]), device("b", &[])];
    assert_eq!(counted(&parts_first, false), (["a1", "a2", "b"].map(str::to_owned).into(), Counters::new()));
}

#[test]
fn dra36_without_counters_what_claims_have_stays_and_nothing_beside_it() {
    let all = [device("a", &["a"]), device("a1", &["a"]), device("a2", &["a"])];
    let claimed = |mut all: [Listed; 3], n: usize| {
        let facts = Facts { is_claimed: true, ..Facts::clone(all[n].facts.as_ref().unwrap()) };
        all[n].facts = Some(facts.into());
        counted(&all, false).0
    };
    assert_eq!(claimed(all, 1), ["a1", "a2"]);
}

#[test]
fn dra36_more_wholes_than_a_set_has_counters_are_as_without() {
    let names: Vec<_> = (0..=MAX_COUNTERS).map(|n| format!("w{n:02}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let all: Vec<_> = names.iter().map(|name| device(name, &[name])).chain([device("part", &names)]).collect();
    let (published, counters) = counted(&all, true);
    assert_eq!((published.len(), counters.len()), (MAX_COUNTERS + 1, 0));
    let (published, counters) = counted(&all[1..], true);
    assert_eq!((published.len(), counters.len()), (MAX_COUNTERS, 0));
}
