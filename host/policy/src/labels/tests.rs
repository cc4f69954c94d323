//! Rules as policies write them, and what they make of units.

use super::*;
use crate::tests::{plugin, read, with};
use crate::{LabelUnit, UnitFacts};
use devgate_types::ResourceName;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What makes a unit of a test.
struct Given {
    id: &'static str,
    resource: ResourceName,
    healthy: bool,
    numa: BTreeSet<u32>,
    properties: Vec<(String, String)>,
}

fn unit(id: &'static str, properties: &[(&str, &str)]) -> Given {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Given {
        id,
        resource: ResourceName::try_new("v.com/x").unwrap(),
        healthy: true,
        numa: [0].into(),
        properties: properties.iter().map(own).collect(),
    }
}

fn derive(labels: &Labels, units: &[Given]) -> Derived {
    let units: Vec<_> = units
        .iter()
        .map(|unit| LabelUnit {
            facts: UnitFacts { id: unit.id, resource: &unit.resource, devices: &[], properties: &unit.properties },
            offered: &unit.resource,
            healthy: unit.healthy,
            numa_nodes: &unit.numa,
        })
        .collect();
    labels.of(&units, 4)
}

fn rules(lines: &str) -> Labels {
    let indented: Vec<_> = lines.lines().map(|line| format!("  {line}")).collect();
    plugin(&format!("labels:\n{}", indented.join("\n"))).labels
}

fn told(lines: &str, units: &[Given]) -> String {
    let derived = derive(&rules(lines), units);
    let mut out = String::new();
    for (name, value) in &derived.labels {
        out += &format!("{name}={value}\n");
    }
    for missing in &derived.missing {
        out += &format!("{}: {}\n", missing.name, missing.why);
    }
    out
}

#[test]
fn a_node_of_like_units_is_told_of() {
    let lines = r#"
v.com/x.product: "{property.model}"
v.com/x.count: "{count}"
v.com/x.usable: "{healthy}"
v.com/x.replicas: "{replicas}"
v.com/x.numa: "{numa-nodes}"
v.com/x.present: "true"
v.com/x.resource: "{resource}"
v.com/x.memory-mib: {value: "{property.memory}", of: min, in: MiB}
v.com/x.total-gib: {value: "{property.memory}", of: total, in: GiB}
v.com/x.driver: {value: "{property.driver}", of: max}
"feature.node.kubernetes.io/x-{property.model}.count": "{count}""#;
    let properties = [("model", "ACME H1 PCIe"), ("memory", "25767706624"), ("driver", "550.54.15")];
    let mut units = [unit("a", &properties), unit("b", &properties)];
    units[1].healthy = false;
    units[1].numa = [1].into();
    insta::assert_snapshot!(told(lines, &units), @r"
    feature.node.kubernetes.io/x-ACME-H1-PCIe.count=2
    v.com/x.count=2
    v.com/x.driver=550
    v.com/x.memory-mib=24574
    v.com/x.numa=2
    v.com/x.present=true
    v.com/x.product=ACME-H1-PCIe
    v.com/x.replicas=4
    v.com/x.resource=v.com-x
    v.com/x.total-gib=47
    v.com/x.usable=1
    ");
    assert_eq!(told(lines, &[]), "", "a node without units has no labels, and lacks none");
}

#[test]
fn units_that_differ_are_told_of_as_the_policy_says() {
    let lines = r#"
v.com/x.same: "{property.model}"
v.com/x.mixed: {value: "{property.model}", of: mixed}
v.com/x.min: {value: "{property.memory}", of: min}
v.com/x.max: {value: "{property.memory}", of: max}
v.com/x.total: {value: "{property.memory}", of: total}
v.com/x.of-{property.model}: "{count}"
v.com/x.big: {value: "{count}", units: {property: {memory: "80*"}}}
v.com/x.none: {value: "{count}", units: {property: {memory: "1"}}}
v.com/x.known: {value: "{property.model}", units: {id: a}, values: ["A*", "B*"]}
v.com/x.odd: {value: "{property.model}", units: {id: a}, values: "B*"}"#;
    let units = [
        unit("a", &[("model", "A 1"), ("memory", "80")]),
        unit("b", &[("model", "B 2"), ("memory", "40")]),
        unit("c", &[("model", "A 1"), ("memory", "80")]),
    ];
    insta::assert_snapshot!(told(lines, &units), @r#"
    v.com/x.big=2
    v.com/x.known=A-1
    v.com/x.max=80
    v.com/x.min=40
    v.com/x.mixed=mixed
    v.com/x.of-A-1=2
    v.com/x.of-B-2=1
    v.com/x.total=200
    v.com/x.same: the units differ: "A-1" and "B-2"; "of" says what then
    v.com/x.odd: "A-1" is none of its "values"
    "#);
}

#[test]
fn what_a_unit_does_not_say_or_a_label_cannot_have_is_told() {
    let lines = r#"
v.com/x.same: "{property.model}"
v.com/x.mixed: {value: "{property.model}", of: mixed}
v.com/x.min: {value: "{property.memory}", of: min}
v.com/x.total: {value: "{property.huge}", of: total}
v.com/x.of-{property.model}: "{count}"
v.com/x.odd-{property.odd}: "{count}"
v.com/x.long: "{property.long}""#;
    let long = "l".repeat(64);
    let more =
        [("memory", "much\u{1b}"), ("huge", "9223372036854775807"), ("odd", "\u{202e}"), ("long", long.as_str())];
    let mut units = [unit("a", &[("model", "A")]), unit("b", &[])];
    for unit in &mut units {
        unit.properties.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    insta::assert_snapshot!(told(lines, &units), @r#"
    v.com/x.mixed=mixed
    v.com/x.of-A=1
    v.com/x.same: "b" has no property "model"
    v.com/x.min: "much\u{1b}" of "a" is no whole number
    v.com/x.total: the sum is more than a number may be
    v.com/x.of-{property.model}: "b" has no property "model"
    v.com/x.odd-{property.odd}: "\u{202e}" has no letter or digit that a label could have
    v.com/x.long: "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll" is longer than the 63 characters of a label
    "#);
}

#[test]
fn one_rule_makes_sixteen_labels_and_no_more() {
    let labels = rules(r#"v.com/x.of-{property.n}: "{count}""#);
    let units = |n: usize| (0..n).map(|n| unit("u", &[("n", &n.to_string())])).collect::<Vec<_>>();
    assert_eq!(derive(&labels, &units(16)).labels.len(), 16);
    let over = derive(&labels, &units(17));
    assert!(over.labels.is_empty());
    insta::assert_snapshot!(over.missing[0].why, @"there would be 17 of it, more than 16");
    let name = "n".repeat(59);
    let long = derive(&labels, &[unit("u", &[("n", &name)])]);
    assert!(long.missing[0].why.contains("which is longer than 63"), "{long:?}");
    assert_eq!(derive(&labels, &[unit("u", &[("n", &name[1..])])]).labels.len(), 1);
}

#[test]
fn names_that_no_label_may_have_are_refused() {
    let problem = |name: &str| {
        let text = with(&format!("labels: {{\"{name}\": \"x\"}}"));
        let error = read(&text).map(drop).unwrap_err().to_string();
        error.split_once("plugin \"p\" ").unwrap().1.to_owned()
    };
    insta::assert_snapshot!(problem("product"), @r#"must have a domain and a "/" before its name; such as vendor.com/gpu.product: a name without a domain is not everybody's to give"#);
    insta::assert_snapshot!(problem("kubernetes.io/x"), @"must not be in kubernetes.io, which is Kubernetes' own; take the vendor's domain, or feature.node.kubernetes.io");
    insta::assert_snapshot!(problem("V.com/x"), @r#"must have a domain in lower case before the "/", without placeholders"#);
    insta::assert_snapshot!(problem("v.com/{property.x}"), @r#"must not begin with a placeholder behind the "/"; such as vendor.com/gpu.{property.model}: the policy decides which labels there may be"#);
    for bad in ["node-role.kubernetes.io/control-plane", "x.k8s.io/y", "k8s.io/y", "evilfeature.node.kubernetes.io/x"] {
        assert!(problem(bad).contains("Kubernetes' own"), "{bad}");
    }
    let long = "n".repeat(64);
    for bad in ["", "-x", "x.", "x y", "a/b", "x{ids}", "x{property.}", "x{", &long] {
        let said = problem(&format!("v.com/{bad}"));
        assert!(said.contains("1 to 63 characters of a label's name"), "{bad}: {said}");
    }
    let domain = format!("{}.com", "d".repeat(64));
    assert!(problem(&format!("{domain}/x")).contains("must have a domain"));
    for good in ["feature.node.kubernetes.io/x", "a.feature.node.kubernetes.io/x", "notk8s.io/x", "v.com/X_1.a-b"] {
        assert_eq!(rules(&format!("{good}: x")).0.len(), 1, "{good}");
    }
    assert_eq!(rules(&format!("v.com/{}: x", &long[1..])).0.len(), 1);
}

#[test]
fn rules_that_mean_nothing_are_refused() {
    let problem = |rule: &str| read(&with(&format!("labels: {{v.com/x: {rule}}}"))).map(drop).unwrap_err().to_string();
    insta::assert_snapshot!(problem("5"), @r#"policy.yaml:7:23: "v.com/x" in plugin "p" must be a template or a mapping, not a number; put it in quotes"#);
    insta::assert_snapshot!(problem(r#""{ids}""#), @r#"policy.yaml:7:23: "v.com/x" in plugin "p" must be a template, not "{ids}"; its placeholders are {property.NAME}, {resource}, {count}, {healthy}, {numa-nodes} and {replicas}; {{ or }} is a brace"#);
    insta::assert_snapshot!(problem("{of: min}"), @r#"policy.yaml:7:23: label "v.com/x" of plugin "p" has no "value""#);
    insta::assert_snapshot!(problem(r#"{value: "{count}", of: min}"#), @r#"policy.yaml:7:46: "of" in label "v.com/x" of plugin "p" is for the number that one property is; write value: "{property.NAME}""#);
    insta::assert_snapshot!(problem(r#"{value: "{property.x}", in: MiB}"#), @r#"policy.yaml:7:51: "in" in label "v.com/x" of plugin "p" is for numbers only; say "of: min", max or total"#);
    insta::assert_snapshot!(problem(r#"{value: x, off: min}"#), @r#"policy.yaml:7:34: unknown key "off" in label "v.com/x" of plugin "p"; did you mean "of"?"#);
    insta::assert_snapshot!(problem(r#"{value: x, of: least}"#), @r#"policy.yaml:7:38: "of" in label "v.com/x" of plugin "p" has "least", which is none of its words; docs/policy.md lists them"#);
}

#[test]
fn a_plugin_has_sixty_four_labels_at_most() {
    let lines = |n: usize| {
        let lines: Vec<_> = (0..n).map(|n| format!("  v.com/x{n}: x")).collect();
        with(&format!("labels:\n{}", lines.join("\n")))
    };
    assert!(read(&lines(MAX_LABELS)).is_ok());
    let error = read(&lines(MAX_LABELS + 1)).map(drop).unwrap_err().to_string();
    assert!(error.contains("must have at most 64 entries"), "{error}");
}

#[test]
fn a_label_is_one_plugins() {
    let both = |a: &str, b: &str| {
        let mut text = with(&format!("labels: {{\"{a}\": x}}"));
        text +=
            &format!("  q:\n    component: {{file: q.wasm}}\n    resources: [v.com/y]\n    labels: {{\"{b}\": x}}\n");
        read(&text).map(drop)
    };
    insta::assert_snapshot!(both("v.com/a", "v.com/a").unwrap_err(), @r#"policy.yaml:11:14: label "v.com/a" of plugin "q" may be the same as "v.com/a" of plugin "p" (policy.yaml:7); a node has a label once: give them different names"#);
    for (a, b) in [
        ("v.com/a.{property.x}", "v.com/a.b"),
        ("v.com/a.b", "v.com/a.{property.x}"),
        ("v.com/a.{property.x}.c", "v.com/a.b.{property.y}"),
    ] {
        assert!(both(a, b).is_err(), "{a} {b}");
    }
    for (a, b) in [
        ("v.com/a", "v.com/b"),
        ("v.com/a", "w.com/a"),
        ("v.com/a.{property.x}", "v.com/b.{property.x}"),
        ("v.com/a.{property.x}.count", "v.com/a.{property.x}.size"),
    ] {
        assert!(both(a, b).is_ok(), "{a} {b}");
    }
    let twice = read(&with("labels: {\"v.com/a.{property.x}\": x, v.com/a.b: x}"));
    assert!(twice.is_err(), "of one plugin as well");
}

/// What an earlier host's file says is believed as far as this.
#[test]
fn a_rule_is_of_no_name_that_is_none() {
    let labels = rules("v.com/gpu.{property.p}: x");
    assert!(labels.grants("v.com/gpu.a", "1") && !labels.grants("v.com/gpu.a", "-1"));
    for name in ["v.com/gpu.a b", "v.com/gpu.a/b", "v.com/gpu.", "v.com/gpu.a-", "v.com/gpu.\u{fc}x"] {
        assert!(!labels.grants(name, "x"), "{name}");
    }
}

proptest! {
    /// Whatever components say, what is derived is valid and within the rules.
    #[test]
    fn labels_are_valid_and_within_the_rules(values in proptest::collection::vec(".{0,80}", 0..6), other in "[a-zA-Z0-9 ._-]{0,70}") {
        let labels = rules(r#"
v.com/x: "{property.p}"
v.com/m: {value: "{property.p}-{property.q}", of: mixed}
v.com/n: {value: "{property.p}", of: total, in: KiB}
v.com/of-{property.p}.{property.q}: "{property.q}{count}""#);
        let units: Vec<_> = values.iter().map(|value| unit("u", &[("p", value), ("q", &other)])).collect();
        let derived = derive(&labels, &units);
        for (name, value) in &derived.labels {
            let (prefix, short) = name.split_once('/').unwrap();
            prop_assert!(prefix == "v.com" && qualified::is_name(short) && qualified::is_name(value), "{name}={value}");
            prop_assert!(labels.grants(name, value), "{name}");
        }
    }
}
