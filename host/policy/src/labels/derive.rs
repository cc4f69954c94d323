//! From a plugin's units to the labels that its rules make of them.

use super::size::number;
use super::value::label_value;
use super::{LabelRule, Labels, Of, Part};
use crate::UnitFacts;
use crate::error::Problem;
use devgate_types::{ResourceName, escape};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The most labels of one name with placeholders.
const MAX_OF_A_RULE: usize = 16;
/// The value of units that differ, where the policy says so.
const MIXED: &str = "mixed";

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoLabel {
    /// Its name, as the policy writes it.
    pub name: String,
    /// Why: escaped and cut.
    pub why: String,
}

impl Labels {
    /// The labels for these units. Their order does not matter. Without units there is none.
    #[must_use]
    pub fn of(&self, units: &[LabelUnit<'_>], replicas: u32) -> Derived {
        let mut derived = Derived::default();
        for rule in &self.0 {
            let counts = |unit: &&LabelUnit<'_>| rule.units.as_ref().is_none_or(|filter| filter.matches(&unit.facts));
            let units: Vec<_> = units.iter().filter(counts).collect();
            if let Err(Problem(why)) = rule.derive(&units, replicas, &mut derived.labels) {
                let name = rule.name.to_string();
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
    ) -> Result<(), Problem> {
        let mut groups: BTreeMap<String, Vec<&LabelUnit<'_>>> = BTreeMap::new();
        // The first problem stays.
        let mut all = Ok(());
        for unit in units {
            match self.name.fill(|name| label_value(property(unit, name)?)) {
                Ok(name) => groups.entry(name).or_default().push(unit),
                Err(why) => all = all.and(Err(why)),
            }
        }
        if groups.len() > MAX_OF_A_RULE {
            let count = groups.len();
            return Err(Problem(format!("there would be {count} of it, more than {MAX_OF_A_RULE}")));
        }
        for (name, units) in groups {
            match self.value_for(&units, replicas) {
                Ok(value) => drop(labels.entry(name).or_insert(value)),
                Err(why) => all = all.and(Err(why)),
            }
        }
        all
    }

    fn value_for(&self, units: &[&LabelUnit<'_>], replicas: u32) -> Result<String, Problem> {
        let value = match self.of {
            Of::Same | Of::Mixed => self.text(units, replicas)?,
            Of::Min | Of::Max | Of::Total => self.number(units)?.to_string(),
        };
        if !self.values.is_empty() && !self.values.iter().any(|pattern| pattern.matches(&value)) {
            return Err(Problem(format!("\"{value}\" is none of its \"values\"")));
        }
        Ok(value)
    }

    fn text(&self, units: &[&LabelUnit<'_>], replicas: u32) -> Result<String, Problem> {
        let texts: Vec<_> = units.iter().map(|unit| self.expand(unit, units, replicas)).collect();
        if self.of == Of::Mixed && texts.iter().any(Result::is_ok) && texts.iter().any(Result::is_err) {
            return Ok(MIXED.to_owned());
        }
        let values: BTreeSet<String> = texts.into_iter().map(|text| label_value(&text?)).collect::<Result<_, _>>()?;
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            (Some(_), Some(_)) if self.of == Of::Mixed => Ok(MIXED.to_owned()),
            (Some(one), Some(other)) => {
                Err(Problem(format!("the units differ: \"{one}\" and \"{other}\"; \"of\" says what then")))
            }
            (None, _) => Err(Problem("there is no unit".to_owned())),
        }
    }

    fn expand(&self, unit: &LabelUnit<'_>, units: &[&LabelUnit<'_>], replicas: u32) -> Result<String, Problem> {
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

    fn number(&self, units: &[&LabelUnit<'_>]) -> Result<u64, Problem> {
        // The policy was refused otherwise.
        let [Part::Property(name)] = self.value.as_slice() else {
            return Err(Problem("it is no property".to_owned()));
        };
        let of_unit = |unit: &&LabelUnit<'_>| {
            let text = property(unit, name)?;
            let (shown, id) = (escape(text, 80), escape(unit.facts.id, 80));
            number(text).ok_or_else(|| Problem(format!("\"{shown}\" of \"{id}\" is no whole number")))
        };
        let numbers: Vec<u64> = units.iter().map(of_unit).collect::<Result<_, _>>()?;
        let sum = || numbers.iter().try_fold(0_u64, |sum, n| sum.checked_add(*n));
        let told = match self.of {
            Of::Min => numbers.iter().min().copied(),
            Of::Max => numbers.iter().max().copied(),
            _ => sum().filter(|sum| i64::try_from(*sum).is_ok()),
        };
        let told = told.ok_or_else(|| Problem("the sum is more than a number may be".to_owned()))?;
        Ok(self.size.map_or(told, |size| told / size))
    }
}

fn property<'a>(unit: &LabelUnit<'a>, name: &str) -> Result<&'a str, Problem> {
    let found = unit.facts.properties.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str()).ok_or_else(|| {
        let (id, name) = (escape(unit.facts.id, 80), escape(name, 80));
        Problem(format!("\"{id}\" has no property \"{name}\""))
    })
}
