//! Environment variables and annotations: those that a template makes are set by the host, the others by the component
//! as far as its rules let it.

use super::ReplyRefused;
use devgate_policy::{Record, Rules, ValueRules};
use devgate_types::{Property, escape};
use std::collections::{BTreeMap, BTreeSet};

type Values = Result<BTreeMap<String, String>, ReplyRefused>;

/// How annotations begin that name CDI devices (the CDI specification, "annotations"). Kubelets pass on names of their own from
/// 1.29 on; a runtime that finds both would apply a device twice.
const CDI: &str = "cdi.k8s.io/";

pub(super) fn env(rules: &Rules, records: &[Record<'_>], asked: &[Property]) -> Values {
    values(("environment variable", "containers.env"), &rules.env, records, asked)
}

pub(super) fn annotations(rules: &Rules, records: &[Record<'_>], asked: &[Property]) -> Values {
    if let Some(cdi) = asked.iter().find(|edit| edit.name.starts_with(CDI)) {
        let name = escape(&cdi.name, 80);
        return Err(ReplyRefused(format!(
            "annotation {name} names CDI devices, which the component has to name in the edit \"cdi\""
        )));
    }
    values(("annotation", "containers.annotations"), &rules.annotations, records, asked)
}

/// Values that are one of `what`; with it comes the policy's key, for messages.
fn values((what, of): (&str, &str), rules: &ValueRules, records: &[Record<'_>], asked: &[Property]) -> Values {
    let refused = |why: String| Err(ReplyRefused(format!("{what} {why}")));
    let mut values = BTreeMap::new();
    // Whether or not the component says them: an image may bring a value of its own, and it must not win.
    for (key, template) in rules.iter().filter_map(|(key, rule)| Some((key, rule.template()?))) {
        match template.expand(records) {
            Ok(value) => _ = values.insert(key.to_owned(), value),
            Err(expected) => return refused(format!("{key}: the policy expects {expected}")),
        }
    }
    let mut said = BTreeSet::new();
    for Property { name, value } in asked {
        let key = escape(name, 80);
        let Some(rule) = rules.get(name) else {
            return refused(format!("{key} is not granted ({of})"));
        };
        if let Err(expected) = rule.check(value, records) {
            let value = escape(value, 120);
            return refused(format!("{key} has the value \"{value}\", but the policy expects {expected}"));
        }
        if !said.insert(name) {
            return refused(format!("{key} is set twice"));
        }
        values.insert(name.clone(), value.clone());
    }
    Ok(values)
}
