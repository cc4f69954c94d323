//! Offering units under another name.

use super::{Conditions, MOST, UnitFacts};
use crate::error::Report;
use crate::fields::{Fields, Item};
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

    pub(crate) fn read_list(
        item: &Item<'_>,
        plugin: &str,
        resources: &[ResourceGrant],
        report: &mut Report,
    ) -> Vec<Self> {
        let list = item.list(report);
        if list.len() > MOST {
            item.error(report, format!("must have at most {MOST} entries"));
        }
        let place = format!("rename of {plugin}");
        let mut out: Vec<Self> = Vec::new();
        for entry in list.iter().take(MOST) {
            let Some(rename) = Self::read(entry, &place, resources, report) else {
                continue;
            };
            if let Some(other) = out
                .iter()
                .find(|other| other.to == rename.to && other.resource != rename.resource)
            {
                let message = format!(
                    "{place} sends units of \"{}\" to \"{}\", as it does those of \"{}\" ({})",
                    rename.resource, rename.to, other.resource, other.origin
                );
                let hint = "a resource is made of units of one kind";
                report.error_with_hint(entry.node.at, message, hint);
                continue;
            }
            out.push(rename);
        }
        out
    }

    fn read(entry: &Item<'_>, place: &str, resources: &[ResourceGrant], report: &mut Report) -> Option<Self> {
        let fields = Fields::open(entry.node, place, &key::RENAME, report)?;
        let resource = fields.need("resource", report).and_then(|item| name(&item, report));
        let to = fields.need("to", report).and_then(|item| {
            let to = name(&item, report)?;
            if !resources.is_empty() && !resources.iter().any(|grant| grant.matches(&to)) {
                let shown = escape(to.as_str(), 80);
                item.error_with_hint(
                    report,
                    format!("has \"{shown}\", which \"resources\" does not grant"),
                    "add it there",
                );
                return None;
            }
            Some(to)
        });
        // A name and no pattern here, which `matches` compares.
        let conditions = Conditions::read(&fields.without("resource"), report);
        Some(Self {
            resource: resource?,
            to: to?,
            origin: Origin::new(report, entry.node.at),
            conditions,
        })
    }
}

fn name(item: &Item<'_>, report: &mut Report) -> Option<ResourceName> {
    let text = item.text(report)?;
    match ResourceName::try_new(text) {
        Ok(name) => Some(name),
        Err(error) => {
            let shown = escape(text, 80);
            item.error(report, format!("{}, not \"{shown}\"", error.problem()));
            None
        }
    }
}
