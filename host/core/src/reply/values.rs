//! Environment variables, annotations and names of CDI devices: those that a template makes are set by the host, the others by the
//! component as far as its rules let it. What stands behind a CDI name is in a file of the node, so a name is as good as the device.

use super::ReplyRefused;
use devgate_policy::{Record, Rules, ValueRule, ValueRules, is_cdi_device};
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

/// The names of one allocation: those that the policy's templates make of its units, one for each, and those that the component says.
pub(super) fn cdi_names<'a>(
    rules: &Rules,
    records: &[Record<'_>],
    said: impl IntoIterator<Item = &'a String>,
) -> Result<BTreeSet<String>, ReplyRefused> {
    let mut made = BTreeSet::new();
    let templates = rules.cdi.iter().filter_map(|(kind, rule)| Some((kind, rule.template()?)));
    for (kind, template) in templates {
        for record in records {
            let device = template
                .expand(std::slice::from_ref(record))
                .map_err(|expected| ReplyRefused(format!("CDI device of {kind}: the policy expects {expected}")))?;
            let name = format!("{kind}={device}");
            if !is_cdi_device(&name) {
                let name = escape(&name, 160);
                return Err(ReplyRefused(format!(
                    "CDI device \"{name}\" (containers.cdi) is not a name that CDI allows"
                )));
            }
            made.insert(name);
        }
    }
    let mut names = made.clone();
    for name in said {
        check_cdi_name(rules, &made, name)?;
        names.insert(name.clone());
    }
    Ok(names)
}

/// Whether the component may say a name.
fn check_cdi_name(rules: &Rules, made: &BTreeSet<String>, name: &str) -> Result<(), ReplyRefused> {
    let shown = escape(name, 160);
    let parts = name.split_once('=').filter(|_| is_cdi_device(name));
    let Some((kind, device)) = parts else {
        return Err(ReplyRefused(format!("CDI device \"{shown}\" is not a name such as vendor.com/class=name")));
    };
    let Some(rule) = rules.cdi.get(kind) else {
        return Err(ReplyRefused(format!("CDI device \"{shown}\" is not granted (containers.cdi)")));
    };
    let expected = match rule {
        ValueRule::Template(_) if made.contains(name) => return Ok(()),
        ValueRule::Template(template) => format!("what \"{}\" makes of the allocated units", template.as_str()),
        // One name may stand for all devices: only where the policy writes it out.
        ValueRule::Any if matches!(device, "all" | "none") => "a name for one device".to_owned(),
        ValueRule::Any => return Ok(()),
        ValueRule::OneOf(_) => match rule.check(device, &[]) {
            Ok(()) => return Ok(()),
            Err(expected) => expected.to_string(),
        },
    };
    Err(ReplyRefused(format!("CDI device \"{shown}\" is named, but the policy expects {expected}")))
}
