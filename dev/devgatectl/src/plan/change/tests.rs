use super::*;
use devgate_policy::{PluginPolicy, PolicyFile};

fn set(lines: &[&str]) -> BTreeSet<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// The entry of a plugin, with more of it.
fn entry(name: &str, more: &str) -> PluginPolicy {
    let text = format!(
        "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  {name}:\n    component: {{file: g.wasm}}\n    resources: [fake.com/*]\n    \
         hardware: [{{subsystem: pci, use: offer}}]\n{more}"
    );
    let parsed = devgate_policy::parse(&[PolicyFile { name: "policy", text: &text }]);
    parsed.unwrap_or_else(|errors| panic!("{errors}")).plugins.into_values().next().unwrap()
}

fn plugin(name: &str, more: &str, listed: &[(&str, &str, &str)]) -> (String, OfferedPlugin) {
    let policy = entry(name, more);
    let unit =
        |(resource, id, hardware): &(&str, &str, &str)| (((*resource).to_owned(), (*id).to_owned()), set(&[hardware]));
    let plugin = OfferedPlugin {
        outcome: "works",
        why: None,
        component: None,
        grants: set(&["reads /a"]),
        listed: listed.iter().map(unit).collect(),
        replicas: policy.replicas,
        policy,
        is_missing: false,
        absent: BTreeMap::new(),
        said: Vec::new(),
    };
    (name.to_owned(), plugin)
}

/// Each unit that is listed is shown, by the first plugin that lists it.
fn offered(plugins: &[(String, OfferedPlugin)]) -> Offered {
    let mut offered = Offered { plugins: plugins.iter().cloned().collect(), ..Offered::default() };
    for (name, plugin) in plugins {
        for ((resource, id), hardware) in &plugin.listed {
            let unit = OfferedUnit {
                plugin: name.clone(),
                resource: resource.clone(),
                devices: usize::try_from(plugin.replicas).unwrap(),
                hardware: hardware.clone(),
                unhealthy: None,
                gives: set(&["node /dev/a (rw)"]),
            };
            offered.units.entry(id.clone()).or_insert(unit);
        }
    }
    offered
}

fn node(held: &[(&str, &str)]) -> KnownNode {
    let held = held.iter().map(|(resource, id)| (((*resource).to_owned(), (*id).to_owned()), "pods".to_owned()));
    KnownNode { name: "n".to_owned(), file: "n.umockdev".to_owned(), held: Some(held.collect()), incomplete: None }
}

const GPU: &str = "fake.com/gpu";

/// What a reload would refuse while the one unit is held, and what it would not: as `lost_by` and `still_held` in core.
#[test]
fn what_is_held_is_lost_where_a_reload_would_refuse() {
    let old = offered(&[plugin("gpus", "", &[(GPU, "g", "a")])]);
    let four = "    replicas: 4\n";
    for (new, kind, lost) in [
        (vec![plugin("gpus", "", &[(GPU, "g", "a")])], None, false),
        (vec![plugin("gpus", "", &[])], Some(Kind::Goes), true),
        (vec![], Some(Kind::Goes), true),
        (vec![plugin("gpus", "", &[(GPU, "h", "a")])], Some(Kind::Renumbered), true),
        (vec![plugin("gpus", "", &[("fake.com/other", "g", "a")])], Some(Kind::Renamed), true),
        (vec![plugin("gpus", "", &[(GPU, "g", "b")])], Some(Kind::OtherHardware), true),
        (vec![plugin("graphics", "", &[(GPU, "g", "a")])], Some(Kind::OtherPlugin), true),
        (vec![plugin("gpus", four, &[(GPU, "g", "a")])], Some(Kind::Replicas), true),
        // Another plugin comes before it: what a pod has stays its own plugin's.
        (
            vec![plugin("first", "", &[(GPU, "g", "a")]), plugin("gpus", "", &[(GPU, "g", "a")])],
            Some(Kind::OtherPlugin),
            false,
        ),
    ] {
        let new = offered(&new);
        let plan = NodePlan::of(&node(&[(GPU, "g")]), &old, &new);
        let first = plan.units.iter().find(|unit| unit.id == "g");
        assert_eq!(first.map(|unit| unit.change), kind, "{:?}", plan.units);
        assert_eq!((plan.costs(), first.is_some_and(|unit| unit.lost)), (lost, lost), "{:?}", plan.units);
        assert!(!NodePlan::of(&node(&[]), &old, &new).costs(), "nothing is held");
    }
    let (four, eight) = ("    replicas: 4\n", "    replicas: 8\n");
    for (before, after, lost) in [(four, eight, false), (eight, four, true), (four, "", true)] {
        let side = |more: &str| offered(&[plugin("gpus", more, &[(GPU, "g", "a")])]);
        assert_eq!(NodePlan::of(&node(&[(GPU, "g")]), &side(before), &side(after)).costs(), lost, "{before} {after}");
    }
}

#[test]
fn what_goes_while_the_same_hardware_comes_has_another_id() {
    let old = offered(&[plugin("gpus", "", &[(GPU, "a", "x"), (GPU, "b", "y")])]);
    let new = offered(&[plugin("gpus", "", &[(GPU, "c", "x"), (GPU, "d", "z")])]);
    let plan = NodePlan::of(&node(&[(GPU, "a"), (GPU, "z"), ("fake.com/old", "a")]), &old, &new);
    let found: Vec<_> = plan.units.iter().map(|unit| (unit.change, unit.id.as_str(), unit.lost)).collect();
    assert_eq!(found, [(Kind::Goes, "b", false), (Kind::Renumbered, "a", true), (Kind::Comes, "d", false)]);
    assert_eq!(plan.units[1].after, ["fake.com/gpu c"]);
    assert_eq!(plan.held_elsewhere, ["fake.com/gpu z (pods)", "fake.com/old a (pods)"]);
    assert_eq!(plan.resources, []);
}

#[test]
fn a_plugin_that_fails_is_always_told_and_costs_where_it_did_not_before() {
    let works = plugin("gpus", "", &[]);
    let failed =
        ("gpus".to_owned(), OfferedPlugin { outcome: "failed", why: Some("trapped".to_owned()), ..works.1.clone() });
    for (old, new, costs) in [
        (vec![works.clone()], vec![failed.clone()], true),
        (vec![], vec![failed.clone()], true),
        (vec![failed.clone()], vec![failed], false),
    ] {
        let plan = NodePlan::of(&node(&[]), &offered(&old), &offered(&new));
        assert_eq!((plan.changes(), plan.costs()), (true, costs));
    }
    let gone = NodePlan::of(&node(&[]), &offered(&[works]), &offered(&[]));
    assert_eq!((gone.changes(), gone.costs()), (true, false));
    assert_eq!(gone.plugins[0].revoked, ["reads /a"]);
}

/// What shows on no unit of this node is a change all the same.
#[test]
fn an_entry_that_differs_is_told_by_its_keys() {
    let more = entry("gpus", "    limits: {memory: 32MiB}\n    labels: {}\n");
    let same = entry("gpus", "");
    assert_eq!(more.differing_keys(&same), ["labels", "limits"]);
    assert_eq!(same.differing_keys(&same), [""; 0]);
    let (old, new) = (plugin("gpus", "", &[]), plugin("gpus", "    limits: {memory: 32MiB}\n", &[]));
    let plan = NodePlan::of(&node(&[]), &offered(&[old]), &offered(&[new]));
    assert_eq!(plan.plugins[0].keys, ["limits"]);
    assert!(plan.changes() && !plan.costs());
}
