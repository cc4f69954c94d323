//! What a cluster's scheduler may know of a plugin's units, where it picks them (dynamic resource allocation).
//!
//! Whoever can read the cluster's slices reads it, and a rule in a pod's claim acts on it: what the policy does not name is not told. What
//! limits values are those of `resource.k8s.io/v1`.

mod fact;

pub use fact::{FactRule, Facts};

use crate::containers::Containers;
use crate::error::Problem;
use crate::fields::{Fields, Item};
use crate::resources::ResourceGrant;
use crate::{key, qualified};
use devgate_types::{Condition, Effect, answer, escape};
use std::collections::BTreeMap;

/// The longest name of a driver, and of an attribute's domain.
const MAX_DOMAIN: usize = 63;
/// The longest text of an attribute.
pub(crate) const MAX_TEXT: usize = 64;
/// The most attributes and capacities of a unit are 32, of which the host's own are some.
const MAX_FACTS: usize = 24;
/// The most keys of conditions.
const MAX_CONDITIONS: usize = 16;

/// `dra:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dra {
    /// The driver's name, which no other plugin has.
    pub driver: String,
    /// Whether pods end whose device becomes unhealthy.
    pub evicts: bool,
    /// Whether who looks after a device may have it beside others.
    pub admin_access: bool,
    /// How many claims may have a unit at once, each a share of it that the scheduler counts.
    pub shares: u32,
    /// What becomes of parameters that a claim or its class has for the driver.
    pub parameters: Parameters,
    /// How far a condition of the component's may go, by its key.
    pub conditions: BTreeMap<String, Effect>,
    attributes: Vec<FactRule>,
    capacity: Vec<FactRule>,
}

/// What becomes of parameters for a driver, which tenants may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Parameters {
    /// A claim that has some gets nothing.
    #[default]
    Refuse,
    /// They are not read.
    Ignore,
    /// The component is told of them.
    Component,
}

impl Dra {
    /// A condition as far as the policy lets it go; nothing where the policy does not name it.
    #[must_use]
    pub fn granted(&self, condition: Condition) -> Option<Condition> {
        let most = *self.conditions.get(&condition.key)?;
        Some(Condition { effect: condition.effect.min(most), ..condition })
    }

    pub(crate) fn read(
        item: &Item<'_>,
        plugin: &str,
        resources: &[ResourceGrant],
        containers: &Containers,
    ) -> Option<Self> {
        let place = format!("dra of {plugin}");
        let fields = item.open(&place, &key::DRA)?;
        let driver = fields.need("driver").and_then(|item| item.parse(driver));
        let (attributes, capacity) = (rules(&fields, "attributes", &place), rules(&fields, "capacity", &place));
        if attributes.len() + capacity.len() > MAX_FACTS {
            let count = attributes.len() + capacity.len();
            item.error(format!("has {count} attributes and capacities, more than {MAX_FACTS}"));
        }
        let admin_access = fields.flag("admin-access");
        let mut shares = 1;
        fields.number("shares", &mut shares);
        if !containers.annotations.is_empty() {
            item.error(
                "must not be there with annotations in \"containers\": the kubelet has no place for those of a claim",
            );
        }
        // It is an attribute of each unit.
        if let Some(long) = resources.iter().map(ToString::to_string).find(|name| name.len() > MAX_TEXT) {
            item.error(format!(
                "resource \"{}\" is longer than the {MAX_TEXT} bytes of an attribute",
                escape(&long, 80)
            ));
        }
        let evicts = fields.word("unhealthy") == Some("NoExecute");
        let parameters = match fields.word("parameters") {
            Some("ignore") => Parameters::Ignore,
            Some("component") => Parameters::Component,
            _ => Parameters::Refuse,
        };
        let conditions = conditions(&fields);
        Some(Self { driver: driver?, evicts, admin_access, shares, parameters, conditions, attributes, capacity })
    }
}

fn rules(fields: &Fields<'_>, of: &str, place: &str) -> Vec<FactRule> {
    let entries = fields.read(of, |item| item.map(MAX_FACTS)).into_iter();
    entries.filter_map(|entry| FactRule::read(&entry, of == "capacity", place)).collect()
}

fn conditions(fields: &Fields<'_>) -> BTreeMap<String, Effect> {
    let mut conditions = BTreeMap::new();
    for (entry, word) in fields.named_words("conditions", MAX_CONDITIONS) {
        let effect = Effect::ALL.into_iter().find(|effect| effect.as_str() == word);
        if let Some(effect) = effect.filter(|_| answer::is_key(entry.key)) {
            conditions.insert(entry.key.to_owned(), effect);
        } else {
            entry.error("must be lower-case letters, digits and single dashes between them, at most 63 characters");
        }
    }
    conditions
}

fn driver(text: &str) -> Result<String, Problem> {
    if qualified::is_domain(text) && text.len() <= MAX_DOMAIN && !qualified::is_kubernetes(text) {
        return Ok(text.to_owned());
    }
    Err(Problem(format!(
        "must be a domain of the vendor's in lower case, of at most {MAX_DOMAIN} characters, such as gpu.vendor.com, not \"{}\"",
        escape(text, 80)
    )))
}

#[cfg(test)]
mod tests;
