//! The keys of a label of the node.

use super::{Kind, Section, key};

pub(crate) const LABEL: Section = Section {
    name: "label",
    keys: &[
        key("value", Kind::Text(None)),
        key("of", Kind::OneOf(&["same", "mixed", "min", "max", "total"])),
        key("in", Kind::OneOf(&["B", "KiB", "MiB", "GiB", "MB", "GB"])),
        key("units", Kind::One(&super::FILTER)),
        key("values", Kind::Patterns),
    ],
};
