//! From a plugin's units to the labels that its rules make of them.

use super::size::number;
use super::value::{MOST, Unmappable, label_value};
use super::{LabelRule, Labels, Of, Part};
use crate::UnitFacts;
use devgate_types::{ResourceName, escape};
use std::collections::{BTreeMap, BTreeSet};

/// The most labels of one name with placeholders.
const MOST_OF_A_RULE: usize = 16;

/// One unit, as labels see it.
#[derive(Debug, Clone)]
pub struct LabelUnit<'a> {
    /// What filters see of it.
    pub facts: UnitFacts<'a>,
    /// The resource that it is offered as.
    pub offered: &'a ResourceName,
    /// Whether it may be handed out.
    pub healthy: bool,
    /// The NUMA nodes that it is near.
    pub numa_nodes: &'a BTreeSet<u32>,
}

/// What a plugin's labels are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Derived {
    /// Valid names and values.
    pub labels: BTreeMap<String, String>,
    /// Those that there are not although there are units, in the policy's order.
    pub missing: Vec<NoLabel>,
}

/// A label that there is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoLabel {
    /// Its name, as the policy writes it.
    pub name: String,
    /// Why: escaped and cut.
    pub why: String,
}

/// Why there is no such label. Texts are escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Missing {
    #[error("there would be {0} of it, more than {MOST_OF_A_RULE}")]
    Many(usize),
    #[error("\"{0}\" is none of its \"values\"")]
    NotListed(String),
    #[error("the units differ: \"{0}\" and \"{1}\"; \"of\" says what then")]
    Differ(String, String),
    #[error("there is no unit")]
    NoUnit,
    /// The policy was refused otherwise.
    #[error("it is no property")]
    NoProperty,
    #[error("\"{text}\" of \"{id}\" is no whole number")]
    NoNumber { text: String, id: String },
    #[error("the sum is more than a number may be")]
    Large,
    #[error("\"{id}\" has no property \"{name}\"")]
    Property { id: String, name: String },
    #[error("its name would be \"{0}\", which is longer than {MOST}")]
    LongName(String),
    #[error("{0}")]
    Value(Unmappable),
}

impl From<Unmappable> for Missing {
    fn from(why: Unmappable) -> Self {
        Self::Value(why)
    }
}

impl Labels {
    /// The labels for these units. Their order does not matter. Without units there is none.
    #[must_use]
    pub fn of(&self, units: &[LabelUnit<'_>], replicas: u32) -> Derived {
        let mut derived = Derived::default();
        for rule in &self.0 {
            let counts = |unit: &&LabelUnit<'_>| rule.units.as_ref().is_none_or(|filter| filter.matches(&unit.facts));
            let units: Vec<_> = units.iter().filter(counts).collect();
            if let Err(why) = rule.derive(&units, replicas, &mut derived.labels) {
                let name = rule.name.to_string();
                let why = why.to_string();
                derived.missing.push(NoLabel { name, why });
            }
        }
        derived
    }
}

impl LabelRule {
    /// Adds its labels to others; says why, where one is missing.
    fn derive(
        &self,
        units: &[&LabelUnit<'_>],
        replicas: u32,
        labels: &mut BTreeMap<String, String>,
    ) -> Result<(), Missing> {
        let mut groups: BTreeMap<String, Vec<&LabelUnit<'_>>> = BTreeMap::new();
        let mut problem = None;
        for unit in units {
            match self.name_for(unit) {
                Ok(name) => groups.entry(name).or_default().push(unit),
                Err(why) => {
                    problem.get_or_insert(why);
                }
            }
        }
        if groups.len() > MOST_OF_A_RULE {
            return Err(Missing::Many(groups.len()));
        }
        for (name, units) in groups {
            match self.value_for(&units, replicas) {
                Ok(value) => {
                    labels.entry(name).or_insert(value);
                }
                Err(why) => {
                    problem.get_or_insert(why);
                }
            }
        }
        problem.map_or(Ok(()), Err)
    }

    fn name_for(&self, unit: &LabelUnit<'_>) -> Result<String, Missing> {
        let values = self.name.properties().map(|name| property(unit, name));
        self.name.with(&values.collect::<Result<Vec<_>, _>>()?)
    }

    fn value_for(&self, units: &[&LabelUnit<'_>], replicas: u32) -> Result<String, Missing> {
        let value = match self.of {
            Of::Same | Of::Mixed => self.text(units, replicas)?,
            Of::Min | Of::Max | Of::Total => self.number(units)?.to_string(),
        };
        if !self.values.is_empty() && !self.values.iter().any(|pattern| pattern.matches(&value)) {
            return Err(Missing::NotListed(value));
        }
        Ok(value)
    }

    fn text(&self, units: &[&LabelUnit<'_>], replicas: u32) -> Result<String, Missing> {
        const MIXED: &str = "mixed";
        let mut told: Option<String> = None;
        for unit in units {
            let text = match self.expand(unit, units, replicas) {
                Ok(text) => label_value(&text)?,
                Err(_) if self.of == Of::Mixed && units.len() > 1 && self.has_any(units) => return Ok(MIXED.to_owned()),
                Err(why) => return Err(why),
            };
            match &told {
                Some(other) if *other == text => {}
                Some(_) if self.of == Of::Mixed => return Ok(MIXED.to_owned()),
                Some(other) => {
                    let other = other.clone();
                    return Err(Missing::Differ(other, text));
                }
                None => told = Some(text),
            }
        }
        told.ok_or(Missing::NoUnit)
    }

    /// Whether one of the units has what the template asks for.
    fn has_any(&self, units: &[&LabelUnit<'_>]) -> bool {
        units.iter().any(|unit| self.expand(unit, units, 0).is_ok())
    }

    fn expand(&self, unit: &LabelUnit<'_>, units: &[&LabelUnit<'_>], replicas: u32) -> Result<String, Missing> {
        let mut out = String::new();
        for part in &self.value {
            match part {
                Part::Literal(text) => out += text,
                Part::Property(name) => out += property(unit, name)?,
                Part::Resource => out += unit.offered.as_str(),
                Part::Count => out += &units.len().to_string(),
                Part::Healthy => out += &units.iter().filter(|unit| unit.healthy).count().to_string(),
                Part::NumaNodes => {
                    let nodes: BTreeSet<_> = units.iter().flat_map(|unit| unit.numa_nodes).collect();
                    out += &nodes.len().to_string();
                }
                Part::Replicas => out += &replicas.to_string(),
            }
        }
        Ok(out)
    }

    fn number(&self, units: &[&LabelUnit<'_>]) -> Result<u64, Missing> {
        let mut numbers = Vec::with_capacity(units.len());
        for unit in units {
            let text = match self.value.as_slice() {
                [Part::Property(name)] => property(unit, name)?,
                // The policy was refused otherwise.
                _ => return Err(Missing::NoProperty),
            };
            let number = number(text).ok_or_else(|| {
                let (text, id) = (escape(text, 80), escape(unit.facts.id, 80));
                Missing::NoNumber { text, id }
            })?;
            numbers.push(number);
        }
        let told = match self.of {
            Of::Min => numbers.iter().min().copied(),
            Of::Max => numbers.iter().max().copied(),
            _ => numbers
                .iter()
                .try_fold(0_u64, |sum, n| sum.checked_add(*n))
                .filter(|sum| i64::try_from(*sum).is_ok()),
        };
        let told = told.ok_or(Missing::Large)?;
        Ok(self.size.map_or(told, |size| size.tell(told)))
    }
}

fn property<'a>(unit: &LabelUnit<'a>, name: &str) -> Result<&'a str, Missing> {
    let found = unit.facts.properties.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str()).ok_or_else(|| {
        let (id, name) = (escape(unit.facts.id, 80), escape(name, 80));
        Missing::Property { id, name }
    })
}
