//! The keys of a file and of a plugin.

use super::{
    CONTAINERS, CONTROL, Default, FILTER, HEALTH, HOST_NODES, Kind, LABEL, LIMITS, PARTITIONS, RENAME, SELECTOR,
    Section, key,
};
use crate::{API_VERSION, KIND};
use Default::{Is, Means, Required};

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
            "Regular expressions for lines of the kernel's log whose captures it gets: at most 64, each with `^` at its start and a capture.",
        ),
        key(
            "control",
            Kind::Many(&CONTROL),
            Means("none"),
            "Attributes that it may write.",
        ),
        key(
            "state",
            Kind::Flag,
            Is("false"),
            "Whether it may keep one small blob that survives restarts.",
        ),
        key(
            "wasi",
            Kind::SomeOf(&["clocks", "random"]),
            Means("none"),
            "What of WASI it may have besides what has nothing behind it: clocks, random numbers.",
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
            "partitions",
            Kind::One(&PARTITIONS),
            Means("none"),
            "Which units are parts of one device, which they have in common. Without it, each device and each exclusive node belongs to one unit.",
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
            "prepare",
            Kind::OneOf(&["allocate", "start"]),
            Means("`allocate`"),
            "When the component's `prepare` is called: when units are allocated, or before each start of a container that has them, where nothing may be written to hardware (`control`). With `start`, the host looks at the hardware at that moment too, also for a component without `prepare`; while devgate is away, containers of these resources do not start.",
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
            "labels",
            Kind::Labels(&LABEL),
            Means("none"),
            "Labels of the node that tell of its units, through Node Feature Discovery: each a template, or a mapping (see below). At most 64; no other plugin may have one of the same name.",
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
            Means("none; this or `oci` must be there"),
            "The file's path in the directory of components; neither absolute nor with `..`.",
        ),
        key(
            "sha256",
            Kind::Text(Some("^[0-9a-fA-F]{64}$")),
            Means("not checked"),
            "The digest that the file must have, as `sha256sum` prints it.",
        ),
        key(
            "oci",
            Kind::Text(Some("^[^/@]+/[^@]+@sha256:[0-9a-f]{64}$")),
            Means("none; this or `file` must be there"),
            "The component as an artifact in a registry, by its digest: `registry.example.com/vendor/gpu:1.2@sha256:…`. `devgatectl push` and `devgate pull` print it; docs/registry.md says more.",
        ),
        key(
            "signature",
            Kind::One(&SIGNATURE),
            Means("not checked"),
            "Who must have signed it.",
        ),
    ],
};

pub(crate) const SIGNATURE: Section = Section {
    name: "signature",
    keys: &[key(
        "cosign-key",
        Kind::Texts,
        Required,
        "Files with public keys in PEM, of which one must have signed the component with cosign: 1 to 8 paths beside the policy or, where there is no such file, in the directory of components; neither absolute nor with `..`. An artifact's signature is in its registry, a file's is beside it as `FILE.sig`.",
    )],
};
