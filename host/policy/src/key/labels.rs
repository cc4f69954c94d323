//! The keys of a label of the node.

use super::{Default, Kind, Section, key};
use Default::{Is, Means, Required};

pub(crate) const LABEL: Section = Section {
    name: "label",
    keys: &[
        key(
            "value",
            Kind::Text(None),
            Required,
            "A template: `{property.NAME}` and `{resource}` of each unit; `{count}`, `{healthy}` and `{numa-nodes}` of all; `{replicas}`; `{{` or `}}` for a brace.",
        ),
        key(
            "of",
            Kind::OneOf(&["same", "mixed", "min", "max", "total"]),
            Is("same"),
            "What the units' values become where they differ: `same` is no label, `mixed` is that word, `min`, `max` and `total` take the value as a number.",
        ),
        key(
            "in",
            Kind::OneOf(&["B", "KiB", "MiB", "GiB", "MB", "GB"]),
            Means("the number as it is"),
            "For `min`, `max` and `total` of a size: in which unit, rounded down. A number alone is bytes; `80GB` and `80GiB` are understood.",
        ),
        key(
            "units",
            Kind::One(&super::FILTER),
            Means("all"),
            "Which units count, as in a filter.",
        ),
        key(
            "values",
            Kind::Patterns,
            Means("any"),
            "Which values the label may have; with another one there is no label.",
        ),
    ],
};
