//! Labels of the node: which there may be, and what of the plugin's units they tell.
//!
//! Whoever publishes them (Node Feature Discovery) makes labels of what it is given, so what is given is valid and within the rule,
//! whatever a component says of its units: see [`Labels::of`].

mod derive;
mod name;
mod size;
mod value;

pub use derive::{Derived, LabelUnit, NoLabel};
pub use value::{Unmappable, label_value};

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::pattern::Pattern;
use crate::value_rule::{Piece, is_property, pieces};
use crate::yaml::{At, Value};
use crate::{Filter, Origin, key};
use devgate_types::escape;
use name::Name;
use size::SizeUnit;

/// The most labels that a plugin's policy may have.
const MOST: usize = 64;

/// `labels:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels(pub(crate) Vec<LabelRule>);

/// One label, or the labels that one name with placeholders stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelRule {
    pub(crate) name: Name,
    value: Vec<Part>,
    of: Of,
    size: Option<SizeUnit>,
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

    /// Whether one of the rules could be of this name.
    #[must_use]
    pub fn grants(&self, name: &str) -> bool {
        self.0.iter().any(|rule| rule.name.may_be(name))
    }

    pub(crate) fn read(item: &Item<'_>, plugin: &str, report: &mut Report) -> Self {
        let entries = item.map(report);
        if entries.len() > MOST {
            item.error(report, format!("must have at most {MOST} entries"));
        }
        let read = |entry: &Item<'_>| LabelRule::read(entry, plugin, report);
        Self(entries.iter().take(MOST).filter_map(read).collect())
    }
}

impl LabelRule {
    fn read(entry: &Item<'_>, plugin: &str, report: &mut Report) -> Option<Self> {
        let name = Name::parse(entry.key);
        let name = name.map_err(|(problem, hint)| {
            let message = format!("label \"{}\" of {plugin} {problem}", escape(entry.key, 80));
            match hint {
                Some(hint) => report.error_with_hint(entry.key_at, message, hint),
                None => report.error(entry.key_at, message),
            }
        });
        let rule = Self {
            name: Name::default(),
            value: Vec::new(),
            of: Of::Same,
            size: None,
            units: None,
            values: Vec::new(),
            origin: Origin::new(report, entry.key_at),
            at: entry.key_at,
        };
        let rule = match &entry.node.value {
            Value::Map(_) => {
                let place = format!("label \"{}\" of {plugin}", escape(entry.key, 80));
                Self::read_mapping(entry, rule, &place, report)
            }
            Value::Text(_) => Self {
                value: template(entry, report)?,
                ..rule
            },
            _ => {
                entry.wrong_kind("a template or a mapping", report);
                return None;
            }
        };
        Some(Self {
            name: name.ok()?,
            ..rule
        })
    }

    fn read_mapping(entry: &Item<'_>, mut rule: Self, place: &str, report: &mut Report) -> Self {
        let Some(fields) = Fields::open(entry.node, place, &key::LABEL, report) else {
            return rule;
        };
        if let Some(value) = fields.need("value", report) {
            rule.value = template(&value, report).unwrap_or_default();
        }
        rule.of = match fields.word("of", report) {
            Some("mixed") => Of::Mixed,
            Some("min") => Of::Min,
            Some("max") => Of::Max,
            Some("total") => Of::Total,
            _ => Of::Same,
        };
        let is_number = matches!(rule.of, Of::Min | Of::Max | Of::Total);
        rule.size = fields.word("in", report).and_then(SizeUnit::of);
        if let Some(item) = fields.get("in").filter(|_| !is_number) {
            item.error_with_hint(report, "is for numbers only", "say \"of: min\", max or total");
        }
        if let Some(item) = fields.get("of").filter(|_| is_number)
            && !matches!(rule.value.as_slice(), [Part::Property(_)] | [])
        {
            let hint = "write value: \"{property.NAME}\"";
            item.error_with_hint(report, "is for the number that one property is", hint);
        }
        if let Some(item) = fields.get("units") {
            rule.units = Filter::read(&item, &format!("units of {place}"), report);
        }
        if let Some(item) = fields.get("values") {
            rule.values = item.patterns(Pattern::value, report);
        }
        rule
    }
}

/// Reads a template of a label's value.
fn template(item: &Item<'_>, report: &mut Report) -> Option<Vec<Part>> {
    let text = item.text(report)?;
    let parts = pieces(text).and_then(|pieces| {
        pieces
            .into_iter()
            .map(|piece| match piece {
                Piece::Literal(text) => Some(Part::Literal(text)),
                Piece::Name(name) => Part::named(name),
            })
            .collect::<Option<Vec<_>>>()
    });
    if parts.is_none() {
        let problem = format!("must be a template, not \"{}\"", escape(text, 80));
        let hint = "its placeholders are {property.NAME}, {resource}, {count}, {healthy}, {numa-nodes} and {replicas}; {{ or }} is a brace";
        item.error_with_hint(report, problem, hint);
    }
    parts
}

impl Part {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "resource" => Self::Resource,
            "count" => Self::Count,
            "healthy" => Self::Healthy,
            "numa-nodes" => Self::NumaNodes,
            "replicas" => Self::Replicas,
            _ => Self::Property(
                name.strip_prefix("property.")
                    .filter(|name| is_property(name))?
                    .to_owned(),
            ),
        })
    }
}

#[cfg(test)]
mod tests;
