//! The keys of a file and of a plugin.

use super::{Default, HEALTH, Key, Kind, LIMITS, Section};
use crate::{API_VERSION, KIND};
use Default::{Is, Means, Required};

const fn key(name: &'static str, kind: Kind, default: Default, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        default,
        doc,
    }
}

const fn later(name: &'static str, doc: &'static str) -> Key {
    key(name, Kind::Later, Means("nothing"), doc)
}

pub(crate) const POLICY: Section = Section {
    name: "policy",
    keys: &[
        key(
            "apiVersion",
            Kind::Exactly(API_VERSION),
            Required,
            "The format's version.",
        ),
        key("kind", Kind::Exactly(KIND), Required, "What the file is."),
        key(
            "plugins",
            Kind::Named(&PLUGIN),
            Required,
            "One entry for each plugin, by its name: 1 to 63 lower-case letters, digits or `-`, unique in the whole policy. `{}` grants nothing. At most 256 in all files together.",
        ),
    ],
};

pub(crate) const PLUGIN: Section = Section {
    name: "plugin",
    keys: &[
        key(
            "component",
            Kind::One(&COMPONENT),
            Required,
            "The vendor's WebAssembly component.",
        ),
        key(
            "resources",
            Kind::Texts,
            Required,
            "What it may offer, such as `vendor.com/gpu`: 1 to 16 names, or patterns after the `/` such as `vendor.com/af-*`; each offered by one plugin only.",
        ),
        key(
            "hardware",
            Kind::Many(&SELECTOR),
            Means("none"),
            "The kernel devices that it may see and offer. Grants the interface `hardware`.",
        ),
        key(
            "host-nodes",
            Kind::One(&HOST_NODES),
            Means("none"),
            "`/dev` nodes that belong to no kernel device. Grants the interface `host-paths`.",
        ),
        key(
            "files",
            Kind::Paths,
            Means("none"),
            "Files outside the device tree that it may read: absolute paths and patterns. Grants the interface `files`.",
        ),
        key(
            "kernel-log",
            Kind::Texts,
            Means("none"),
            "Regular expressions for lines of the kernel's log whose captures it gets: at most 64, each with `^` at its start and a capture. Not served yet.",
        ),
        key(
            "control",
            Kind::Many(&CONTROL),
            Means("none"),
            "Attributes that it may write. Not served yet.",
        ),
        key(
            "state",
            Kind::Flag,
            Is("false"),
            "Whether it may keep one small blob that survives restarts. Not served yet.",
        ),
        key(
            "dangerous",
            Kind::Dangers,
            Means("none"),
            "What the plugin may hand out although it reaches beyond one device.",
        ),
        key(
            "containers",
            Kind::One(&CONTAINERS),
            Means("nothing"),
            "What a container may get besides nodes.",
        ),
        key(
            "shares-hardware",
            Kind::Flag,
            Is("false"),
            "Whether several units may be made of the same devices and nodes. Without it, each device and each exclusive node belongs to one unit.",
        ),
        key(
            "replicas",
            Kind::Number(1, 4_096),
            Is("1"),
            "How many times each unit is offered, to be shared by as many containers.",
        ),
        key(
            "placement",
            Kind::OneOf(&["packed", "spread"]),
            Means("`packed`; `spread` with several `replicas`"),
            "Which units a container gets where it may get several: `packed` leaves whole groups of near devices free for those who need many, `spread` takes from the emptiest group and the least used hardware.",
        ),
        key(
            "only",
            Kind::Many(&FILTER),
            Means("everything"),
            "Units that match one of these filters are offered, and no others.",
        ),
        key(
            "except",
            Kind::Many(&FILTER),
            Means("nothing"),
            "Units that match one of these filters are not offered, even where `only` has them.",
        ),
        key(
            "rename",
            Kind::Many(&RENAME),
            Means("nothing"),
            "Under which other resource units are offered; the first entry that matches a unit counts.",
        ),
        key(
            "health",
            Kind::One(&HEALTH),
            Means("see below"),
            "When a device's state counts as changed, and how often the host looks.",
        ),
        key(
            "limits",
            Kind::One(&LIMITS),
            Means("see below"),
            "What one call of the component may use up.",
        ),
        key(
            "config",
            Kind::Anything,
            Means("nothing"),
            "What the component is told, as JSON; at most 64 KiB. Its meaning is the vendor's.",
        ),
    ],
};

pub(crate) const COMPONENT: Section = Section {
    name: "component",
    keys: &[
        key(
            "file",
            Kind::Text(None),
            Required,
            "The file's path in the directory of components; neither absolute nor with `..`.",
        ),
        key(
            "sha256",
            Kind::Text(Some("^[0-9a-fA-F]{64}$")),
            Means("not checked"),
            "The digest that the file must have, as `sha256sum` prints it.",
        ),
        later("oci", "The component as an artifact in a registry."),
        later("signature", "The key that must have signed it."),
    ],
};

pub(crate) const SELECTOR: Section = Section {
    name: "hardware",
    keys: &[
        key(
            "subsystem",
            Kind::Text(None),
            Required,
            "A bus or class of the kernel: `pci`, `usb`, `drm`, `misc`, …",
        ),
        key(
            "vendor",
            Kind::Texts,
            Means("any"),
            "For pci and usb: four hexadecimal digits, with or without `0x`: the attribute `vendor`, for USB `idVendor`.",
        ),
        key(
            "device",
            Kind::Texts,
            Means("any"),
            "For pci: the same for the attribute `device`.",
        ),
        key(
            "class",
            Kind::Texts,
            Means("any"),
            "For pci: the first two, four or all six digits of the class: `\"0x03\"` is every display controller.",
        ),
        key(
            "product",
            Kind::Texts,
            Means("any"),
            "For usb: four hexadecimal digits: the attribute `idProduct`.",
        ),
        key(
            "serial",
            Kind::Texts,
            Means("any"),
            "For usb: the attribute `serial`, letter by letter.",
        ),
        key(
            "driver",
            Kind::Patterns,
            Means("any"),
            "The bound driver. A device without one does not match.",
        ),
        key(
            "name",
            Kind::Patterns,
            Means("any"),
            "The kernel's name of the device, such as `0000:3b:00.0`.",
        ),
        key(
            "attributes",
            Kind::NamedPatterns,
            Means("any"),
            "Paths relative to the device, each with pattern(s) for its value; here `*` crosses a `/`, so `\"*\"` means that the attribute is there.",
        ),
        key(
            "use",
            Kind::OneOf(&["read", "offer"]),
            Is("read"),
            "Whether the component may only look at the devices, or also offer units that are made of them.",
        ),
        key(
            "nodes",
            Kind::Many(&NODE),
            Means("none"),
            "With `use: offer`: which nodes of the devices may be handed out.",
        ),
    ],
};

const CONTAINER_PATH: &str = "Where the node appears in a container: a path under `/dev/` in which `{name}` stands for the last part of the node's own.";

pub(crate) const NODE: Section = Section {
    name: "nodes",
    keys: &[
        key(
            "subsystem",
            Kind::Text(None),
            Means("the selector's"),
            "The subsystem of the kernel device that the node belongs to.",
        ),
        key(
            "name",
            Kind::Text(None),
            Means("any"),
            "The name of that device, such as `renderD*`: one pattern.",
        ),
        key(
            "access",
            Kind::Access,
            Is("rw"),
            "What a container may do: `r`, `w` or `rw`; `m` (make the node) only where it is written.",
        ),
        key(
            "shared",
            Kind::Flag,
            Is("false"),
            "Whether several containers may have the node at once.",
        ),
        key(
            "container-path",
            Kind::Text(Some("^/dev/")),
            Means("the node's own"),
            CONTAINER_PATH,
        ),
    ],
};

pub(crate) const HOST_NODES: Section = Section {
    name: "host-nodes",
    keys: &[
        key(
            "exclusive",
            Kind::Paths,
            Means("none"),
            "Paths of nodes that one container at a time may have.",
        ),
        key(
            "shared",
            Kind::Paths,
            Means("none"),
            "Paths of nodes that every container may have.",
        ),
        key(
            "access",
            Kind::Access,
            Is("rw"),
            "As for `nodes` above, for all of them.",
        ),
        key(
            "container-path",
            Kind::Text(Some("^/dev/")),
            Means("the node's own"),
            CONTAINER_PATH,
        ),
    ],
};

pub(crate) const CONTROL: Section = Section {
    name: "control",
    keys: &[
        key(
            "attribute",
            Kind::Text(None),
            Required,
            "The attribute's path relative to a device that the component holds.",
        ),
        key(
            "values",
            Kind::Texts,
            Required,
            "What may be written, letter by letter: 1 to 64 values of at most 256 bytes.",
        ),
        key(
            "moment",
            Kind::SomeOf(&["prepare", "release"]),
            Required,
            "In which calls.",
        ),
    ],
};

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
        later("device-info", "Files that tell Multus which device a pod got."),
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
