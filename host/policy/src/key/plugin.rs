//! The keys of a file and of a plugin.

use super::{
    CONTAINERS, CONTROL, FILTER, HEALTH, HOST_NODES, Kind, LABEL, LIMITS, PARTITIONS, RENAME, SELECTOR, Section, key,
};
use crate::{API_VERSION, KIND};

pub(crate) const POLICY: Section = Section {
    name: "policy",
    keys: &[
        key("apiVersion", Kind::Exactly(API_VERSION)),
        key("kind", Kind::Exactly(KIND)),
        key("plugins", Kind::Named(&PLUGIN)),
    ],
};

pub(crate) const PLUGIN: Section = Section {
    name: "plugin",
    keys: &[
        key("component", Kind::One(&COMPONENT)),
        key("resources", Kind::Texts),
        key("hardware", Kind::Many(&SELECTOR)),
        key("host-nodes", Kind::One(&HOST_NODES)),
        key("files", Kind::Paths),
        key("kernel-log", Kind::Texts),
        key("control", Kind::Many(&CONTROL)),
        key("state", Kind::Flag),
        key("wasi", Kind::SomeOf(&["clocks", "random"])),
        key("dangerous", Kind::Dangers),
        key("containers", Kind::One(&CONTAINERS)),
        key("shares-hardware", Kind::Flag),
        key("partitions", Kind::One(&PARTITIONS)),
        key("replicas", Kind::Number(1, 4_096)),
        key("placement", Kind::OneOf(&["packed", "spread"])),
        key("prepare", Kind::OneOf(&["allocate", "start"])),
        key("only", Kind::Many(&FILTER)),
        key("except", Kind::Many(&FILTER)),
        key("rename", Kind::Many(&RENAME)),
        key("labels", Kind::Labels(&LABEL)),
        key("health", Kind::One(&HEALTH)),
        key("limits", Kind::One(&LIMITS)),
        key("config", Kind::Anything),
    ],
};

pub(crate) const COMPONENT: Section = Section {
    name: "component",
    keys: &[
        key("file", Kind::Text(None)),
        key("sha256", Kind::Text(Some("^[0-9a-fA-F]{64}$"))),
        key("oci", Kind::Text(Some("^[^/@]+/[^@]+@sha256:[0-9a-f]{64}$"))),
        key("signature", Kind::One(&SIGNATURE)),
    ],
};

pub(crate) const SIGNATURE: Section = Section {
    name: "signature",
    keys: &[key("cosign-key", Kind::Texts)],
};
