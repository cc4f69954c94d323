//! Building the contract's records.

use crate::{Condition, Device, Edits, Effect, Node, Pool, Property, Unit};

/// The most bytes of a property's value.
const PROPERTY_BYTES: usize = 4_096;

impl Property {
    /// One named value; the name is at most 128 bytes, the value at most 4,096.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

impl Condition {
    /// Something that is not as it should be, and what that asks for.
    pub fn new(key: impl Into<String>, effect: Effect, message: impl Into<String>) -> Self {
        Self { key: key.into(), effect, message: message.into() }
    }
}

impl Unit {
    /// A unit of this id, made of one device and handing out these nodes.
    pub fn of(id: impl Into<String>, device: Device, nodes: Vec<Node>) -> Self {
        Self { id: id.into(), backing: vec![device], nodes, properties: Vec::new() }
    }

    /// The same with one more property.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.properties.push(Property::new(name, value));
        self
    }

    /// The value of one of its properties.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|p| p.name == name).map(|p| p.value.as_str())
    }
}

impl Pool {
    /// A resource and its units, without shared nodes.
    pub fn new(resource: impl Into<String>, units: Vec<Unit>) -> Self {
        Self { resource: resource.into(), units, shared_nodes: Vec::new(), properties: Vec::new() }
    }

    /// The same, with the kernel names of devices that are there and cannot be described now (`devgate.unread`). No more of them
    /// than a property holds, 4,096 bytes: an answer with a longer one would be refused as a whole.
    #[must_use]
    pub fn with_unread(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut unread = String::new();
        for name in names {
            let name = name.as_ref();
            if unread.len() + 1 + name.len() > PROPERTY_BYTES {
                break;
            }
            if !unread.is_empty() {
                unread.push(' ');
            }
            unread.push_str(name);
        }
        if !unread.is_empty() {
            self.properties.push(Property::new("devgate.unread", unread));
        }
        self
    }
}

impl Edits {
    /// Nothing besides the nodes of the units, which the host hands out by itself.
    #[must_use]
    pub const fn none() -> Self {
        Self { env: Vec::new(), mounts: Vec::new(), annotations: Vec::new(), cdi: Vec::new(), properties: Vec::new() }
    }

    /// The same with one more environment variable.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push(Property::new(name, value));
        self
    }
}

impl Default for Edits {
    fn default() -> Self {
        Self::none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_knows_its_properties() {
        let unit = Unit { id: "a".to_owned(), backing: vec![], nodes: vec![], properties: vec![] };
        let unit = unit.with("uuid", "GPU-1").with("model", "x");
        assert_eq!((unit.property("uuid"), unit.property("serial")), (Some("GPU-1"), None));
    }

    #[test]
    fn unread_devices_are_named_as_far_as_they_fit() {
        let value = |names: &[&str]| {
            let properties = Pool::new("a.com/b", Vec::new()).with_unread(names).properties;
            properties.first().map(|p| (p.name.clone(), p.value.clone()))
        };
        assert_eq!(value(&[]), None);
        assert_eq!(value(&["a", "b"]), Some(("devgate.unread".to_owned(), "a b".to_owned())));
        let length = value(&["0000:00:00.0"; 1_000]).map_or(0, |(_, value)| value.len());
        assert!((PROPERTY_BYTES - 13..=PROPERTY_BYTES).contains(&length), "{length}");
    }

    #[test]
    fn edits_start_empty() {
        let edits = Edits::default().with_env("A", "1");
        let env: Vec<_> = edits.env.iter().map(|p| (p.name.as_str(), p.value.as_str())).collect();
        assert_eq!(env, [("A", "1")]);
        assert!(edits.mounts.is_empty() && edits.annotations.is_empty() && edits.cdi.is_empty());
    }
}
