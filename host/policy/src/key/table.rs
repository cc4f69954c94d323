//! Every mapping of the format, the whole file first, and what each of its keys may be.

use super::{Kind, Section, key};
use crate::{API_VERSION, KIND};
use devgate_types::{ByteSize, Effect};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);
const TICK: Duration = Duration::from_millis(100);
/// What waits longer than a minute for a component is better served by its next call.
const CALL: Kind = Kind::Time(Duration::from_millis(1), Duration::from_secs(60));

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
        key("exec", Kind::One(&EXEC)),
        key("dra", Kind::One(&DRA)),
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

pub(crate) const SIGNATURE: Section = Section { name: "signature", keys: &[key("cosign-key", Kind::Texts)] };

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

pub(crate) const PARTITIONS: Section =
    Section { name: "partitions", keys: &[key("own", Kind::Paths), key("common", Kind::Paths)] };

pub(crate) const EXEC: Section = Section {
    name: "exec",
    keys: &[
        key("type", Kind::Text(Some("^[A-Za-z][A-Za-z0-9]{0,15}$"))),
        key("resource", Kind::Text(None)),
        key("nodes-only", Kind::Flag),
    ],
};

pub(crate) const DRA: Section = Section {
    name: "dra",
    keys: &[
        key("driver", Kind::Text(Some("^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$"))),
        key("attributes", Kind::Labels(&ATTRIBUTE)),
        key("capacity", Kind::Labels(&CAPACITY)),
        key("unhealthy", Kind::OneOf(&["NoSchedule", "NoExecute"])),
        key("admin-access", Kind::Flag),
        key("shares", Kind::Number(1, 4_096)),
        key("parameters", Kind::OneOf(&["refuse", "ignore", "component"])),
        key("conditions", Kind::NamedWords(&[Effect::Inform.as_str(), Effect::NoNew.as_str(), Effect::Evict.as_str()])),
    ],
};

pub(crate) const ATTRIBUTE: Section = Section {
    name: "attribute",
    keys: &[
        key("value", Kind::Text(None)),
        key("type", Kind::OneOf(&["text", "int", "bool", "version"])),
        key("required", Kind::Flag),
        key("values", Kind::Patterns),
    ],
};

pub(crate) const CAPACITY: Section = Section {
    name: "capacity",
    keys: &[key("value", Kind::Text(None)), key("required", Kind::Flag), key("values", Kind::Patterns)],
};

pub(crate) const CONTROL: Section = Section {
    name: "control",
    keys: &[
        key("attribute", Kind::Text(None)),
        key("values", Kind::Texts),
        key("moment", Kind::SomeOf(&["prepare", "release"])),
    ],
};

pub(crate) const CONTAINERS: Section = Section {
    name: "containers",
    keys: &[
        key("env", Kind::Rules),
        key("annotations", Kind::Rules),
        key("cdi", Kind::Rules),
        key("mounts", Kind::Named(&MOUNT)),
        key("device-info", Kind::Flag),
        key("release-hook", Kind::Flag),
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

pub(crate) const LABEL: Section = Section {
    name: "label",
    keys: &[
        key("value", Kind::Text(None)),
        key("of", Kind::OneOf(&["same", "mixed", "min", "max", "total"])),
        key("in", Kind::OneOf(&["B", "KiB", "MiB", "GiB", "MB", "GB"])),
        key("units", Kind::One(&FILTER)),
        key("values", Kind::Patterns),
    ],
};

pub(crate) const HEALTH: Section = Section {
    name: "health",
    keys: &[
        key("unhealthy-after", Kind::Time(Duration::ZERO, HOUR)),
        key("healthy-after", Kind::Time(Duration::ZERO, DAY)),
        key("stale-after", Kind::Time(Duration::ZERO, DAY)),
        key("check-every", Kind::Time(TICK, HOUR)),
        key("enumerate-every", Kind::Time(TICK, HOUR)),
        key("new-boot", Kind::OneOf(&["keeps", "forgives"])),
    ],
};

/// The ranges keep a typing error from switching a limit off, and every limit above what any component needs at all.
pub(crate) const LIMITS: Section = Section {
    name: "limits",
    keys: &[
        key("cpu", CALL),
        key("deadline", CALL),
        key("memory", Kind::Size(ByteSize::kib(64), ByteSize::mib(1_024))),
        key("instances", Kind::Number(1, 1_000)),
        key("memories", Kind::Number(1, 64)),
        key("tables", Kind::Number(1, 1_000)),
        key("table-elements", Kind::Number(1, 10_000_000)),
        key("handles", Kind::Number(16, 1_000_000)),
        key("transfer", Kind::Size(ByteSize::kib(4), ByteSize::mib(64))),
        key("host-calls", Kind::Number(1, 10_000_000)),
        key("read", Kind::Size(ByteSize::kib(4), ByteSize::mib(1_024))),
        key("log", Kind::Size(ByteSize(0), ByteSize::mib(1))),
        key("component-size", Kind::Size(ByteSize::kib(1), ByteSize::mib(64))),
        key("functions", Kind::Number(1, 1_000_000)),
        key("function-size", Kind::Size(ByteSize::kib(1), ByteSize::mib(16))),
    ],
};
