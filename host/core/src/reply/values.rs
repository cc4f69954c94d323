//! Environment variables and annotations: those that a template makes are set by the host, the others by the component
//! as far as its rules let it.

use super::Refused;
use devgate_policy::{Record, Rules, ValueRule};
use devgate_types::{Property, escape};
use std::collections::{BTreeMap, BTreeSet};

type Values = Result<BTreeMap<String, String>, Refused>;

/// How annotations begin that name CDI devices (the CDI specification, "annotations"). Kubelets pass on names of their own from
/// 1.29 on; a runtime that finds both would apply a device twice.
const CDI: &str = "cdi.k8s.io/";

pub(super) fn env(rules: &Rules, records: &[Record<'_>], asked: &[Property]) -> Values {
    let what = What {
        name: "environment variable",
        key: "containers.env",
    };
    what.values(rules.env_rules(), |key| rules.env(key), records, asked)
}

pub(super) fn annotations(rules: &Rules, records: &[Record<'_>], asked: &[Property]) -> Values {
    let what = What {
        name: "annotation",
        key: "containers.annotations",
    };
    if let Some(cdi) = asked.iter().find(|edit| edit.name.starts_with(CDI)) {
        return Err(Refused::CdiAnnotation(escape(&cdi.name, 80)));
    }
    what.values(rules.annotation_rules(), |key| rules.annotation(key), records, asked)
}

/// What a value is one of, for messages.
struct What {
    name: &'static str,
    /// The policy's key.
    key: &'static str,
}

impl What {
    fn values<'a>(
        &self,
        rules: impl Iterator<Item = (&'a str, &'a ValueRule)>,
        rule: impl Fn(&str) -> Option<&'a ValueRule>,
        records: &[Record<'_>],
        asked: impl IntoIterator<Item = &'a Property>,
    ) -> Values {
        let what = self.name;
        let mut values = BTreeMap::new();
        // Whether or not the component says them: an image may bring a value of its own, and it must not win.
        for (key, template) in rules.filter_map(|(key, rule)| Some((key, rule.template()?))) {
            let value = template.expand(records).map_err(|expected| {
                let key = key.to_owned();
                let expected = Box::new(expected);
                Refused::Made { what, key, expected }
            })?;
            values.insert(key.to_owned(), value);
        }
        let mut said = BTreeSet::new();
        for edit in asked {
            let key = escape(&edit.name, 80);
            let Some(rule) = rule(&edit.name) else {
                let of = self.key;
                return Err(Refused::Value { what, key, of });
            };
            if let Err(expected) = rule.check(&edit.value, records) {
                let value = escape(&edit.value, 120);
                return Err(Refused::Other {
                    what,
                    key,
                    value,
                    expected: Box::new(expected),
                });
            }
            if !said.insert(&edit.name) {
                return Err(Refused::Twice { what, key });
            }
            values.insert(edit.name.clone(), edit.value.clone());
        }
        Ok(values)
    }
}
