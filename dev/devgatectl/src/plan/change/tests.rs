use super::super::nodes::Holder;
use super::*;
use devgate_fake_node::RecordedNode;

fn set(lines: &[&str]) -> BTreeSet<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn unit(hardware: &str) -> OfferedUnit {
    OfferedUnit {
        plugin: "gpus".to_owned(),
        resource: "fake.com/gpu".to_owned(),
        devices: 1,
        hardware: set(&[hardware]),
        unhealthy: None,
        gives: set(&["node /dev/a (rw)"]),
    }
}

fn offered(units: &[(&str, OfferedUnit)]) -> Offered {
    let units = units.iter().map(|(id, unit)| ((*id).to_owned(), unit.clone()));
    Offered { units: units.collect(), ..Offered::default() }
}

fn node(held: &[(&str, &str)]) -> PlannedNode {
    let holder = |resource: &str| Holder { resource: resource.to_owned(), consumer: "pods".to_owned() };
    let held = held.iter().map(|(id, resource)| ((*id).to_owned(), holder(resource)));
    PlannedNode {
        name: "n".to_owned(),
        file: "n.umockdev".to_owned(),
        recorded: RecordedNode::parse("n", "").unwrap(),
        held: Some(held.collect()),
    }
}

/// Each kind of change of one unit, and whether who has it would lose it.
#[test]
fn a_unit_that_changes_is_lost_where_it_goes_is_renamed_or_is_other_hardware() {
    let changed = |change: fn(&mut OfferedUnit)| {
        let mut unit = unit("a");
        change(&mut unit);
        unit
    };
    let cases = [
        (changed(|_| {}), None),
        (changed(|unit| unit.resource = "fake.com/other".to_owned()), Some((Kind::Renamed, true))),
        (changed(|unit| unit.hardware = set(&["b"])), Some((Kind::OtherHardware, true))),
        (changed(|unit| unit.plugin = "others".to_owned()), Some((Kind::OtherPlugin, false))),
        (changed(|unit| unit.gives = set(&["node /dev/a (r)"])), Some((Kind::Regranted, false))),
        (changed(|unit| unit.unhealthy = Some("no driver".to_owned())), Some((Kind::Health, false))),
        (changed(|unit| unit.devices = 4), Some((Kind::Replicas, false))),
    ];
    let old = offered(&[("g", unit("a"))]);
    for (now, expected) in cases {
        let plan = NodePlan::of(&node(&[("g", "fake.com/gpu")]), &old, &offered(&[("g", now)]));
        let found: Vec<_> = plan.units.iter().map(|unit| (unit.change, unit.lost)).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        assert_eq!(plan.costs(), expected.is_some_and(|(_, lost)| lost));
    }
}

#[test]
fn what_goes_while_the_same_hardware_comes_has_another_id() {
    let old = offered(&[("a", unit("x")), ("b", unit("y"))]);
    let new = offered(&[("c", unit("x")), ("d", unit("z"))]);
    let plan = NodePlan::of(&node(&[("a", "fake.com/gpu"), ("z", "fake.com/gpu")]), &old, &new);
    let found: Vec<_> = plan.units.iter().map(|unit| (unit.change, unit.id.as_str(), unit.lost)).collect();
    assert_eq!(found, [(Kind::Goes, "b", false), (Kind::Renumbered, "a", true), (Kind::Comes, "d", false)]);
    assert_eq!(plan.units[1].after, ["fake.com/gpu c"]);
    assert_eq!(plan.held_elsewhere, ["fake.com/gpu z (pods)"]);
    assert_eq!(plan.resources, []);
}

#[test]
fn a_plugin_that_fails_costs_only_where_it_did_not_before() {
    let works = OfferedPlugin { outcome: "works", why: None, component: None, grants: set(&["reads /a"]) };
    let failed = OfferedPlugin { outcome: "failed", why: Some("trapped".to_owned()), ..works.clone() };
    let with = |plugin: Option<&OfferedPlugin>| Offered {
        plugins: plugin.map(|plugin| ("gpus".to_owned(), plugin.clone())).into_iter().collect(),
        ..Offered::default()
    };
    for (old, new, costs) in
        [(Some(&works), Some(&failed), true), (None, Some(&failed), true), (Some(&failed), Some(&failed), false)]
    {
        assert_eq!(NodePlan::of(&node(&[]), &with(old), &with(new)).costs(), costs);
    }
    let gone = NodePlan::of(&node(&[]), &with(Some(&works)), &with(None));
    assert_eq!((gone.changes(), gone.costs()), (true, false));
    assert_eq!(gone.plugins[0].revoked, ["reads /a"]);
}
