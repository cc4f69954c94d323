//! The keys of what is left out or offered under another name.

use super::{Default, Kind, Section, key};
use Default::{Means, Required};

pub(crate) const FILTER: Section = Section {
    name: "filter",
    keys: &[
        key(
            "id",
            Kind::Patterns,
            Means("any"),
            "The unit's id, without a replica's number.",
        ),
        key(
            "resource",
            Kind::Patterns,
            Means("any"),
            "The component's own name of the resource, before any `rename`.",
        ),
        key(
            "device",
            Kind::Patterns,
            Means("any"),
            "The kernel's name of a device that the unit is made of.",
        ),
        key(
            "property",
            Kind::NamedPatterns,
            Means("any"),
            "The unit's properties, each with pattern(s) for its value.",
        ),
    ],
};

pub(crate) const RENAME: Section = Section {
    name: "rename",
    keys: &[
        key(
            "resource",
            Kind::Text(None),
            Required,
            "The component's own name of the resource; no pattern.",
        ),
        key("id", Kind::Patterns, Means("any"), "As in a filter."),
        key("device", Kind::Patterns, Means("any"), "As in a filter."),
        key("property", Kind::NamedPatterns, Means("any"), "As in a filter."),
        key(
            "to",
            Kind::Text(None),
            Required,
            "The name that the units are offered under: one that `resources` grants.",
        ),
    ],
};
