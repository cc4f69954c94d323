//! Rules as policies write them, and what they make of a unit.

use crate::tests::{plugin, read, with};
use crate::{Dra, Parameters, UnitFacts};
use devgate_types::{Condition, Effect, ResourceName};
use proptest::prelude::*;

fn dra(lines: &str) -> Dra {
    let indented: Vec<_> = lines.lines().map(|line| format!("  {line}")).collect();
    plugin(&format!("dra:\n  driver: gpu.v.com\n{}", indented.join("\n"))).dra.unwrap()
}

fn told(dra: &Dra, properties: &[(&str, &str)]) -> String {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let properties: Vec<_> = properties.iter().map(own).collect();
    let resource = ResourceName::try_new("v.com/x").unwrap();
    let unit = UnitFacts { id: "a", resource: &resource, devices: &[], properties: &properties };
    let facts = dra.facts(&unit, &resource);
    let mut out = String::new();
    for (name, value) in &facts.attributes {
        out += &format!("{name} = {value:?}\n");
    }
    for (name, amount) in &facts.capacity {
        out += &format!("{name}: {amount}\n");
    }
    for missing in &facts.missing {
        out += &format!("{missing}\n");
    }
    out + if facts.is_less { "not told of\n" } else { "" }
}

const RULES: &str = "\
attributes:
  model: \"{property.model}\"
  driverVersion: {value: \"{property.driver}\", type: version, required: true}
  v.com/rail: {value: \"{property.rail}\", type: int, values: \"[0-7]\"}
  ecc: {value: \"{property.ecc}\", type: bool}
  kind: \"v/{resource}\"
capacity:
  memory: \"{property.memory}\"
";

#[test]
fn what_the_policy_names_is_told_with_its_type() {
    let good = [("model", "V 9"), ("driver", "550.54.15"), ("rail", "3"), ("ecc", "true"), ("memory", "80GiB")];
    insta::assert_snapshot!(told(&dra(RULES), &good), @r#"
    driverVersion = Version("550.54.15")
    ecc = Bool(true)
    kind = Text("v/v.com/x")
    model = Text("V 9")
    v.com/rail = Int(3)
    memory: 85899345920
    "#);
}

#[test]
fn what_does_not_fit_is_left_out_and_takes_the_unit_along_where_it_is_required() {
    let bad = [("model", "V\u{202e}9"), ("driver", "550.54"), ("rail", "8"), ("ecc", "on"), ("memory", "much")];
    insta::assert_snapshot!(told(&dra(RULES), &bad), @r#"
    kind = Text("v/v.com/x")
    "model": "V\u{202e}9" is no text of 1 to 64 bytes that can be read
    "driverVersion": "550.54" is no version of three numbers, as semver 2.0 has them
    "v.com/rail": "8" is none of its "values"
    "ecc": "on" is no "true" or "false"
    "memory": "much" is no amount such as 24564MiB
    not told of
    "#);
    assert!(told(&dra("attributes: {a: \"{property.b}\"}"), &[]).contains("there is no property \"b\""));
}

#[test]
fn a_condition_goes_as_far_as_the_policy_says_and_no_further() {
    let dra = dra("conditions: {worn: None, remap-pending: NoSchedule, lost: NoExecute}");
    let granted = |key: &str, effect| {
        let condition = Condition { key: key.into(), effect, message: "why".into() };
        dra.granted(condition).map(|condition| condition.effect)
    };
    assert_eq!(granted("worn", Effect::Evict), Some(Effect::Inform));
    assert_eq!(granted("remap-pending", Effect::Evict), Some(Effect::NoNew));
    assert_eq!(granted("lost", Effect::Evict), Some(Effect::Evict));
    assert_eq!(granted("lost", Effect::NoNew), Some(Effect::NoNew));
    assert_eq!(granted("other", Effect::Evict), None);
}

#[test]
fn parameters_are_refused_unless_the_policy_says_otherwise() {
    let is = |lines: &str| dra(lines).parameters;
    assert_eq!(is(""), Parameters::Refuse);
    for (word, parameters) in
        [("refuse", Parameters::Refuse), ("ignore", Parameters::Ignore), ("component", Parameters::Component)]
    {
        assert_eq!(is(&format!("parameters: {word}")), parameters);
    }
}

#[test]
fn what_cannot_be_is_refused_where_it_is_written() {
    let refused = |lines: &str| {
        let indented: Vec<_> = lines.lines().map(|line| format!("  {line}")).collect();
        read(&with(&format!("dra:\n{}", indented.join("\n")))).unwrap_err().to_string()
    };
    for (lines, what) in [
        ("attributes: {}", "has no \"driver\""),
        ("driver: Gpu", "must be a domain of the vendor's in lower case"),
        ("driver: gpu.k8s.io", "must be a domain of the vendor's in lower case"),
        ("driver: v.com\nattributes: {a-b: x}", "as CEL can read it"),
        ("driver: v.com\nattributes: {resource.kubernetes.io/pcieRoot: x}", "must not be in resource.kubernetes.io"),
        ("driver: v.com\nattributes: {devgate.dev/id: x}", "must not be in devgate.dev"),
        ("driver: v.com\nattributes: {a: \"{count}\"}", "its placeholders are {property.NAME} and {resource}"),
        ("driver: v.com\ncapacity: {a: {value: \"1\", type: int}}", "unknown key \"type\""),
        ("driver: v.com\nunhealthy: Evict", "NoSchedule"),
        ("driver: v.com\nparameters: allow", "must be refuse, ignore or component, not"),
    ] {
        let said = refused(lines);
        assert!(said.contains(what), "{lines}: {said}");
    }
}

proptest! {
    #[test]
    fn whatever_a_component_says_what_is_told_is_within_the_limits(text in ".{0,100}") {
        let dra = dra(RULES);
        let properties: Vec<_> = ["model", "driver", "rail", "ecc", "memory"].map(|name| (name.to_owned(), text.clone())).into();
        let resource = ResourceName::try_new("v.com/x").unwrap();
        let facts = dra.facts(&UnitFacts { id: "a", resource: &resource, devices: &[], properties: &properties }, &resource);
        for value in facts.attributes.values() {
            if let devgate_types::AttributeValue::Text(text) | devgate_types::AttributeValue::Version(text) = value {
                prop_assert!((1..=64).contains(&text.len()));
            }
        }
        prop_assert!(facts.attributes.len() + facts.capacity.len() + facts.missing.len() == 6);
    }
}
