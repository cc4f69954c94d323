//! One attribute or capacity: its name, its type, and what of a unit it tells.

use super::{Dra, MAX_DOMAIN, MAX_TEXT};
use crate::error::Problem;
use crate::fields::Item;
use crate::labels::number;
use crate::pattern::Pattern;
use crate::value_rule::{parts, property_name};
use crate::yaml::Value;
use crate::{UnitFacts, key, qualified};
use devgate_types::{AttributeValue, ResourceName, escape};
use std::collections::BTreeMap;

/// The longest name behind the domain.
const MAX_NAME: usize = 32;
/// The host's own domain.
const OURS: &str = "devgate.dev";

/// One attribute or capacity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactRule {
    /// As schedulers read it.
    name: String,
    value: Vec<Part>,
    kind: Kind,
    /// Whether a unit without it is told of at all.
    required: bool,
    values: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Property(String),
    Resource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Int,
    Bool,
    Version,
    Amount,
}

/// What a scheduler is told of a unit by its policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// By their names.
    pub attributes: BTreeMap<String, AttributeValue>,
    /// In base units, by their names.
    pub capacity: BTreeMap<String, u64>,
    /// What is not told although a rule names it, in the policy's order: escaped text for people.
    pub missing: Vec<String>,
    /// Whether one of those is required: then the unit is not told of.
    pub is_less: bool,
}

impl Dra {
    /// What a scheduler is told of a unit that is offered as `offered`.
    #[must_use]
    pub fn facts(&self, unit: &UnitFacts<'_>, offered: &ResourceName) -> Facts {
        let mut facts = Facts::default();
        for rule in self.attributes.iter().chain(&self.capacity) {
            match rule.tell(unit, offered, &mut facts) {
                Ok(()) => {}
                Err(Problem(why)) => {
                    facts.missing.push(format!("\"{}\": {why}", rule.name));
                    facts.is_less |= rule.required;
                }
            }
        }
        facts
    }
}

impl FactRule {
    pub(super) fn read(entry: &Item<'_>, is_capacity: bool, place: &str) -> Option<Self> {
        let what = if is_capacity { "capacity" } else { "attribute" };
        let place = format!("{what} \"{}\" of {place}", escape(entry.key, 80));
        let name = fact_name(entry.key).map_err(|problem| entry.error_at_key(format!("{place} {problem}")));
        let kind = if is_capacity { Kind::Amount } else { Kind::Text };
        let mut rule =
            Self { name: entry.key.to_owned(), value: Vec::new(), kind, required: false, values: Vec::new() };
        match &entry.node.value {
            Value::Map(_) => {
                let section = if is_capacity { &key::CAPACITY } else { &key::ATTRIBUTE };
                let fields = entry.open(&place, section)?;
                rule.value = fields.need("value").and_then(|item| item.parse(template)).unwrap_or_default();
                rule.kind = match fields.word("type") {
                    Some("int") => Kind::Int,
                    Some("bool") => Kind::Bool,
                    Some("version") => Kind::Version,
                    _ => kind,
                };
                rule.required = fields.flag("required");
                rule.values = fields.patterns("values", Pattern::value);
            }
            Value::Text(_) => rule.value = entry.parse(template)?,
            _ => {
                entry.wrong_kind("a template or a mapping");
                return None;
            }
        }
        name.ok().map(|()| rule)
    }

    fn tell(&self, unit: &UnitFacts<'_>, offered: &ResourceName, facts: &mut Facts) -> Result<(), Problem> {
        let mut text = String::new();
        for part in &self.value {
            match part {
                Part::Literal(literal) => text += literal,
                Part::Resource => text += offered.as_str(),
                Part::Property(name) => {
                    let found = unit.properties.iter().find(|(key, _)| key == name);
                    let none = || Problem(format!("there is no property \"{}\"", escape(name, 80)));
                    text += &found.ok_or_else(none)?.1;
                }
            }
        }
        let not = |what: &str| Problem(format!("\"{}\" is no {what}", escape(&text, 80)));
        if !self.values.is_empty() && !self.values.iter().any(|pattern| pattern.matches(&text)) {
            return Err(Problem(format!("\"{}\" is none of its \"values\"", escape(&text, 80))));
        }
        let value = match self.kind {
            Kind::Amount => {
                let amount = number(&text).ok_or_else(|| not("amount such as 24564MiB"))?;
                facts.capacity.insert(self.name.clone(), amount);
                return Ok(());
            }
            Kind::Int => AttributeValue::Int(text.trim().parse().map_err(|_| not("whole number"))?),
            Kind::Bool => AttributeValue::Bool(text.trim().parse().map_err(|_| not("\"true\" or \"false\""))?),
            Kind::Version if text.len() <= MAX_TEXT && semver::Version::parse(&text).is_ok() => {
                AttributeValue::Version(text)
            }
            Kind::Version => return Err(not("version of three numbers, as semver 2.0 has them")),
            // Nothing that cannot be seen: people read it, and rules are written by what they read.
            Kind::Text if text.len() <= MAX_TEXT && !text.is_empty() && escape(&text, MAX_TEXT * 2) == text => {
                AttributeValue::Text(text)
            }
            Kind::Text => return Err(not(&format!("text of 1 to {MAX_TEXT} bytes that can be read"))),
        };
        facts.attributes.insert(self.name.clone(), value);
        Ok(())
    }
}

/// A C identifier, which may have a domain before it that is neither Kubernetes' nor the host's. The error is to be read behind the name.
fn fact_name(text: &str) -> Result<(), Problem> {
    let (domain, name) = text.split_once('/').map_or((None, text), |(domain, name)| (Some(domain), name));
    let is_name = (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if !is_name {
        return Err(Problem(format!(
            "must have a name of 1 to {MAX_NAME} letters, digits and \"_\", and begin with no digit, as CEL can read it"
        )));
    }
    match domain {
        Some(domain) if qualified::is_kubernetes(domain) || qualified::is_within(domain, OURS) => {
            Err(Problem(format!("must not be in {domain}, which says what the cluster or the host knows for itself")))
        }
        Some(domain) if !qualified::is_domain(domain) || domain.len() > MAX_DOMAIN => Err(Problem(format!(
            "must have a domain in lower case of at most {MAX_DOMAIN} characters before the \"/\""
        ))),
        _ => Ok(()),
    }
}

fn template(text: &str) -> Result<Vec<Part>, Problem> {
    let named = |name: &str| match name {
        "resource" => Some(Part::Resource),
        _ => property_name(name).map(Part::Property),
    };
    parts(text, Part::Literal, named).ok_or_else(|| {
        Problem(format!(
            "must be a template, not \"{}\"; its placeholders are {{property.NAME}} and {{resource}}; {{{{ or }}}} is a brace",
            escape(text, 80)
        ))
    })
}
