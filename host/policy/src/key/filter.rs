//! The keys of what is left out or offered under another name.

use super::{Kind, Section, key};

pub(crate) const FILTER: Section = Section {
    name: "filter",
    keys: &[
        key("id", Kind::Patterns),
        key("resource", Kind::Patterns),
        key("device", Kind::Patterns),
        key("property", Kind::NamedPatterns),
    ],
};

pub(crate) const RENAME: Section = Section {
    name: "rename",
    keys: &[
        key("resource", Kind::Text(None)),
        key("id", Kind::Patterns),
        key("device", Kind::Patterns),
        key("property", Kind::NamedPatterns),
        key("to", Kind::Text(None)),
    ],
};
