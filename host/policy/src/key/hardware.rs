//! The keys of what says which devices and nodes a plugin may have.

use super::{Kind, Section, key};

pub(crate) const SELECTOR: Section = Section {
    name: "hardware",
    keys: &[
        key("subsystem", Kind::Text(None)),
        key("vendor", Kind::Texts),
        key("device", Kind::Texts),
        key("class", Kind::Texts),
        key("product", Kind::Texts),
        key("serial", Kind::Texts),
        key("driver", Kind::Patterns),
        key("name", Kind::Patterns),
        key("attributes", Kind::NamedPatterns),
        key("use", Kind::OneOf(&["read", "offer"])),
        key("nodes", Kind::Many(&NODE)),
    ],
};

pub(crate) const NODE: Section = Section {
    name: "nodes",
    keys: &[
        key("subsystem", Kind::Text(None)),
        key("name", Kind::Text(None)),
        key("access", Kind::Access),
        key("shared", Kind::Flag),
        key("container-path", Kind::Text(Some("^/dev/"))),
    ],
};

pub(crate) const HOST_NODES: Section = Section {
    name: "host-nodes",
    keys: &[
        key("exclusive", Kind::Paths),
        key("shared", Kind::Paths),
        key("access", Kind::Access),
        key("container-path", Kind::Text(Some("^/dev/"))),
    ],
};

pub(crate) const PARTITIONS: Section = Section {
    name: "partitions",
    keys: &[key("own", Kind::Paths), key("common", Kind::Paths)],
};

pub(crate) const CONTROL: Section = Section {
    name: "control",
    keys: &[
        key("attribute", Kind::Text(None)),
        key("values", Kind::Texts),
        key("moment", Kind::SomeOf(&["prepare", "release"])),
    ],
};
