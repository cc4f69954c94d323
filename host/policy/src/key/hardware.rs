//! The keys of what says which devices and nodes a plugin may have.

use super::{Default, Kind, Section, key};
use Default::{Is, Means, Required};

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

pub(crate) const PARTITIONS: Section = Section {
    name: "partitions",
    keys: &[
        key(
            "own",
            Kind::Paths,
            Required,
            "Paths of nodes that tell parts from each other: each part has one that the other has not, and a unit without one is a whole.",
        ),
        key(
            "common",
            Kind::Paths,
            Means("none"),
            "Paths of nodes that several parts may have. All others that are not shared are one unit's, and so is every node that opens an iommu group.",
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
