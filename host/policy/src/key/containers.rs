//! The keys of what a container may get besides nodes.

use super::{Kind, Section, key};

pub(crate) const CONTAINERS: Section = Section {
    name: "containers",
    keys: &[
        key("env", Kind::Rules),
        key("annotations", Kind::Rules),
        key("cdi", Kind::Rules),
        key("mounts", Kind::Named(&MOUNT)),
        key("device-info", Kind::Flag),
    ],
};

pub(crate) const MOUNT: Section = Section {
    name: "mounts",
    keys: &[
        key("source", Kind::Text(Some("^/"))),
        key("target", Kind::Text(Some("^/"))),
        key("writable", Kind::Flag),
        key("unchecked", Kind::Flag),
    ],
};
