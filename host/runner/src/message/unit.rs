//! Units, properties and parameters, both ways.

use super::wire;
use devgate_types::{DeviceHandle, NodeHandle, Origin, Property, Setting, Unit};

impl From<&Property> for wire::Property {
    fn from(property: &Property) -> Self {
        Self { name: property.name.clone(), value: property.value.clone() }
    }
}

impl From<wire::Property> for Property {
    fn from(property: wire::Property) -> Self {
        Self { name: property.name, value: property.value }
    }
}

impl From<&Setting> for wire::Setting {
    fn from(Setting { origin, json }: &Setting) -> Self {
        Self { is_of_class: *origin == Origin::Class, json: json.clone() }
    }
}

impl From<wire::Setting> for Setting {
    fn from(wire::Setting { is_of_class, json }: wire::Setting) -> Self {
        Self { origin: if is_of_class { Origin::Class } else { Origin::Claim }, json }
    }
}

impl From<&Unit> for wire::Unit {
    fn from(unit: &Unit) -> Self {
        Self {
            id: unit.id.clone(),
            backing: unit.backing.iter().map(|device| device.0).collect(),
            nodes: unit.nodes.iter().map(|node| node.0).collect(),
            properties: unit.properties.iter().map(wire::Property::from).collect(),
        }
    }
}

impl From<wire::Unit> for Unit {
    fn from(unit: wire::Unit) -> Self {
        Self {
            properties: unit.properties.into_iter().map(Property::from).collect(),
            ..Self::from(wire::UnitHead { id: unit.id, backing: unit.backing, nodes: unit.nodes })
        }
    }
}

impl From<wire::UnitHead> for Unit {
    fn from(unit: wire::UnitHead) -> Self {
        // A list grew as it was decoded, to up to twice what is in it; this one is kept.
        let (mut backing, mut nodes) = (unit.backing, unit.nodes);
        backing.shrink_to_fit();
        nodes.shrink_to_fit();
        Self {
            id: unit.id,
            backing: backing.into_iter().map(DeviceHandle).collect(),
            nodes: nodes.into_iter().map(NodeHandle).collect(),
            properties: Vec::new(),
        }
    }
}
