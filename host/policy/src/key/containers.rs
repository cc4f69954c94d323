//! The keys of what a container may get besides nodes.

use super::{Default, Kind, Section, key};
use Default::{Is, Means, Required};

pub(crate) const CONTAINERS: Section = Section {
    name: "containers",
    keys: &[
        key(
            "env",
            Kind::Rules,
            Means("none"),
            "Environment variables, each with a rule for its value. At most 64.",
        ),
        key(
            "annotations",
            Kind::Rules,
            Means("none"),
            "Annotations for the container runtime, by their exact keys, each with a rule for its value. At most 64.",
        ),
        key(
            "cdi",
            Kind::Rules,
            Means("none"),
            "CDI devices: `vendor.com/class` with a rule for the names after the `=`. At most 16.",
        ),
        key(
            "mounts",
            Kind::Named(&MOUNT),
            Means("none"),
            "Files and directories of the node that a container may see, by a name that the component asks for. Grants the interface `host-paths`. At most 64.",
        ),
        key(
            "device-info",
            Kind::Flag,
            Is("false"),
            "Whether the host writes a file for each id that it hands out which tells a meta network plugin (Multus) the PCI function behind it. Only for units that are made of one PCI function.",
        ),
    ],
};

pub(crate) const MOUNT: Section = Section {
    name: "mounts",
    keys: &[
        key(
            "source",
            Kind::Text(Some("^/")),
            Required,
            "The path on the node; neither a link nor beneath one.",
        ),
        key("target", Kind::Text(Some("^/")), Required, "The path in the container."),
        key(
            "writable",
            Kind::Flag,
            Is("false"),
            "Whether the container may write to it.",
        ),
        key(
            "unchecked",
            Kind::Flag,
            Is("false"),
            "Whether the host hands it out without having looked at the source, because it cannot see it.",
        ),
    ],
};
