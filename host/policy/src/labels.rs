//! Labels of the node: which there may be, and what of the plugin's units they tell.
//!
//! Node Feature Discovery, which publishes them, makes labels of what it is given, so what is given is valid and within the rule,
//! whatever a component says of its units: see [`Labels::of`].

mod derive;
mod name;
mod size;
mod value;

pub use derive::{Derived, LabelUnit, NoLabel};

use crate::error::Problem;
use crate::fields::{Fields, Item};
use crate::pattern::Pattern;
use crate::value_rule::{parts, property_name};
use crate::yaml::{At, Value};
use crate::{Filter, Origin, key, qualified};
use devgate_types::escape;
use name::Name;
use size::multiple;
pub(crate) use size::number;

/// The most labels that a plugin's policy may have.
const MAX_LABELS: usize = 64;

/// `labels:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels(pub(crate) Vec<LabelRule>);

/// One label, or the labels that one name with placeholders stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelRule {
    pub(crate) name: Name,
    value: Vec<Part>,
    of: Of,
    size: Option<u64>,
    units: Option<Filter>,
    values: Vec<Pattern>,
    /// Where it is written.
    pub origin: Origin,
    pub(crate) at: At,
}

/// What a template is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Literal(String),
    /// Of each unit.
    Property(String),
    Resource,
    /// Of all units.
    Count,
    Healthy,
    NumaNodes,
    Replicas,
}

/// What several units' values become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Same,
    Mixed,
    Min,
    Max,
    Total,
}

impl Labels {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of the rules could be this label.
    #[must_use]
    pub fn grants(&self, name: &str, value: &str) -> bool {
        qualified::is_name(value) && self.0.iter().any(|rule| rule.name.may_be(name))
    }

    pub(crate) fn read(item: &Item<'_>, plugin: &str) -> Self {
        let entries = item.map(MAX_LABELS).into_iter();
        Self(entries.filter_map(|entry| LabelRule::read(&entry, plugin)).collect())
    }
}

impl LabelRule {
    fn read(entry: &Item<'_>, plugin: &str) -> Option<Self> {
        let place = format!("label \"{}\" of {plugin}", escape(entry.key, 80));
        let name = Name::parse(entry.key).map_err(|problem| entry.error_at_key(format!("{place} {problem}")));
        let mut rule = Self {
            name: Name::default(),
            value: Vec::new(),
            of: Of::Same,
            size: None,
            units: None,
            values: Vec::new(),
            origin: entry.report.origin(entry.key_at),
            at: entry.key_at,
        };
        match &entry.node.value {
            Value::Map(_) => rule.read_mapping(&entry.open(&place, &key::LABEL)?, &place),
            Value::Text(_) => rule.value = entry.parse(template)?,
            _ => {
                entry.wrong_kind("a template or a mapping");
                return None;
            }
        }
        rule.name = name.ok()?;
        Some(rule)
    }

    fn read_mapping(&mut self, fields: &Fields<'_>, place: &str) {
        self.value = fields.need("value").and_then(|item| item.parse(template)).unwrap_or_default();
        self.of = match fields.word("of") {
            Some("mixed") => Of::Mixed,
            Some("min") => Of::Min,
            Some("max") => Of::Max,
            Some("total") => Of::Total,
            _ => Of::Same,
        };
        self.size = fields.word("in").and_then(multiple);
        let (key, problem) = match (self.of, self.value.as_slice()) {
            (Of::Same | Of::Mixed, _) => ("in", "is for numbers only; say \"of: min\", max or total"),
            (_, [Part::Property(_)] | []) => ("", ""),
            _ => ("of", "is for the number that one property is; write value: \"{property.NAME}\""),
        };
        if let Some(item) = fields.get(key) {
            item.error(problem);
        }
        self.units = fields.read("units", |item| Filter::read(item, &format!("units of {place}")));
        self.values = fields.patterns("values", Pattern::value);
    }
}

/// Reads a template of a label's value.
fn template(text: &str) -> Result<Vec<Part>, Problem> {
    parts(text, Part::Literal, Part::named).ok_or_else(|| {
        Problem(format!(
            "must be a template, not \"{}\"; its placeholders are {{property.NAME}}, {{resource}}, {{count}}, {{healthy}}, {{numa-nodes}} and \
             {{replicas}}; {{{{ or }}}} is a brace",
            escape(text, 80)
        ))
    })
}

impl Part {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "resource" => Self::Resource,
            "count" => Self::Count,
            "healthy" => Self::Healthy,
            "numa-nodes" => Self::NumaNodes,
            "replicas" => Self::Replicas,
            _ => Self::Property(property_name(name)?),
        })
    }

    /// What it says by itself.
    fn as_literal(&self) -> &str {
        match self {
            Self::Literal(text) => text,
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests;
