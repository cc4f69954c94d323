//! Offering units under another name.

use super::{Conditions, MAX_FILTERS, UnitFacts};
use crate::error::Problem;
use crate::fields::Item;
use crate::resources::ResourceGrant;
use crate::{Origin, key};
use devgate_types::{ResourceName, escape};

/// One entry of `rename`. All that it states must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// The component's own name of the resource.
    pub resource: ResourceName,
    /// The name that the units are offered under; one that `resources` grants.
    pub to: ResourceName,
    /// Where it is written.
    pub origin: Origin,
    conditions: Conditions,
}

impl Rename {
    /// Whether it says the name of a unit.
    #[must_use]
    pub fn matches(&self, unit: &UnitFacts<'_>) -> bool {
        self.resource == *unit.resource && self.conditions.hold(unit)
    }

    pub(crate) fn read_list(item: &Item<'_>, plugin: &str, resources: &[ResourceGrant]) -> Vec<Self> {
        let place = format!("rename of {plugin}");
        let mut out: Vec<Self> = Vec::new();
        for entry in item.list(MAX_FILTERS) {
            let Some(rename) = Self::read(&entry, &place, resources) else {
                continue;
            };
            let is_other = |other: &&Self| other.to == rename.to && other.resource != rename.resource;
            match out.iter().find(is_other) {
                Some(other) => entry.report.error(
                    entry.node.at,
                    format!(
                        "{place} sends units of \"{}\" to \"{}\", as it does those of \"{}\" ({}); a resource is made of units of one kind",
                        rename.resource, rename.to, other.resource, other.origin
                    ),
                ),
                None => out.push(rename),
            }
        }
        out
    }

    fn read(entry: &Item<'_>, place: &str, resources: &[ResourceGrant]) -> Option<Self> {
        let fields = entry.open(place, &key::RENAME)?;
        let resource = fields.need("resource").and_then(|item| item.parse(name));
        let granted = |text: &str| {
            let to = name(text)?;
            if !resources.is_empty() && !resources.iter().any(|grant| grant.matches(&to)) {
                return Err(Problem::which(text, "\"resources\" does not grant; add it there"));
            }
            Ok(to)
        };
        let to = fields.need("to").and_then(|item| item.parse(granted));
        // A name and no pattern here, which `matches` compares.
        let conditions = Conditions::read(&fields.without("resource"));
        Some(Self { resource: resource?, to: to?, origin: entry.origin(), conditions })
    }
}

fn name(text: &str) -> Result<ResourceName, Problem> {
    let shown = escape(text, 80);
    ResourceName::try_new(text).map_err(|error| Problem(format!("{}, not \"{shown}\"", error.problem())))
}
