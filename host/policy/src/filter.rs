//! Filters: which of a component's units are offered, and under which name.

mod rename;

pub use rename::Rename;

use crate::fields::{Fields, Item};
use crate::pattern::Pattern;
use crate::yaml::Value;
use crate::{Origin, PluginPolicy, key};
use devgate_types::ResourceName;

/// The most filters in one list.
const MAX_FILTERS: usize = 256;

/// What the host knows of a unit when it decides where it belongs.
#[derive(Debug, Clone, Copy)]
pub struct UnitFacts<'a> {
    /// Its id, without a replica's suffix.
    pub id: &'a str,
    /// The component's own name of its resource.
    pub resource: &'a ResourceName,
    /// Each device that it is made of, by its path: the kernel's names of all that is above it, and its own.
    pub devices: &'a [&'a str],
    /// Its properties, by name and value.
    pub properties: &'a [(String, String)],
}

/// Where a unit belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed<'p> {
    /// It is offered under this name.
    Offered(ResourceName),
    /// It is not offered: a filter of `except` matches it, or none of `only` does. Where that is written.
    Left(&'p Origin),
    /// `resources` does not grant the component's name, and no `rename` moves it elsewhere.
    NotGranted,
}

/// One entry of `only` or `except`. All that it states must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Where it is written.
    pub origin: Origin,
    conditions: Conditions,
}

/// What a filter states; an empty list states nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Conditions {
    id: Vec<Pattern>,
    resource: Vec<Pattern>,
    device: Vec<Pattern>,
    property: Vec<(String, Vec<Pattern>)>,
}

impl Filter {
    /// Whether all that the filter states holds for a unit.
    #[must_use]
    pub fn matches(&self, unit: &UnitFacts<'_>) -> bool {
        self.conditions.hold(unit)
    }

    /// Whether it holds for the unit as a whole: `device` for each device that the unit is made of, not for one of them.
    #[must_use]
    pub fn covers(&self, unit: &UnitFacts<'_>) -> bool {
        let whole = |path: &&str| self.conditions.names(path);
        self.conditions.hold(unit) && (self.conditions.device.is_empty() || unit.devices.iter().all(whole))
    }

    pub(crate) fn read_list(item: &Item<'_>, plugin: &str) -> Vec<Self> {
        let place = format!("{} of {plugin}", item.key);
        let list = item.list(MAX_FILTERS).into_iter();
        list.filter_map(|entry| Self::read(&entry, &place)).collect()
    }

    pub(crate) fn read(entry: &Item<'_>, place: &str) -> Option<Self> {
        let fields = entry.open(place, &key::FILTER)?;
        let conditions = Conditions::read(&fields);
        if matches!(&entry.node.value, Value::Map(stated) if stated.is_empty()) {
            fields.error(format!(
                "{place} has an entry that states nothing, and would match every unit; state id, resource, device or property"
            ));
            return None;
        }
        Some(Self { origin: entry.origin(), conditions })
    }
}

impl Conditions {
    fn read(fields: &Fields<'_>) -> Self {
        let properties = fields.read("property", |item| item.map(usize::MAX)).into_iter();
        Self {
            id: fields.patterns("id", Pattern::value),
            resource: fields.patterns("resource", Pattern::path),
            device: fields.patterns("device", Pattern::value),
            property: properties.map(|entry| (entry.key.to_owned(), entry.patterns(Pattern::value))).collect(),
        }
    }

    /// Whether `device` matches a device by its own name or by one above it.
    fn names(&self, path: &str) -> bool {
        let matches = |name| self.device.iter().any(|pattern| pattern.matches(name));
        path.split('/').any(matches)
    }

    fn hold(&self, unit: &UnitFacts<'_>) -> bool {
        let any = |list: &[Pattern], text: &str| list.is_empty() || list.iter().any(|pattern| pattern.matches(text));
        let device = self.device.is_empty() || unit.devices.iter().any(|path| self.names(path));
        let property = |(name, values): &(String, Vec<Pattern>)| {
            let mut found = unit.properties.iter().filter(|(key, _)| key == name);
            found.any(|(_, value)| any(values, value))
        };
        any(&self.id, unit.id)
            && any(&self.resource, unit.resource.as_str())
            && device
            && self.property.iter().all(property)
    }
}

impl PluginPolicy {
    /// Whether a unit is offered, and under which name.
    #[must_use]
    pub fn place(&self, unit: &UnitFacts<'_>) -> Placed<'_> {
        if let Some(filter) = self.except.iter().find(|filter| filter.matches(unit)) {
            return Placed::Left(&filter.origin);
        }
        if let Some(first) = self.only.first()
            && !self.only.iter().any(|filter| filter.covers(unit))
        {
            return Placed::Left(&first.origin);
        }
        if let Some(rename) = self.rename.iter().find(|rename| rename.matches(unit)) {
            return Placed::Offered(rename.to.clone());
        }
        if self.grants_resource(unit.resource) {
            return Placed::Offered(unit.resource.clone());
        }
        Placed::NotGranted
    }

    /// Whether the component may use a resource's name at all: it is granted, or a `rename` moves units from it.
    #[must_use]
    pub fn knows_resource(&self, name: &ResourceName) -> bool {
        self.grants_resource(name) || self.rename.iter().any(|rename| rename.resource == *name)
    }
}
