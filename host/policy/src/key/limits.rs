//! The keys of `health` and `limits`, with their ranges.

use super::{Kind, Section, key};
use devgate_types::ByteSize;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);
const TICK: Duration = Duration::from_millis(100);

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

/// What waits longer than a minute for a component is better served by its next call.
const CALL: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(60));

/// The ranges keep a typing error from switching a limit off, and every limit above what any component needs at all.
pub(crate) const LIMITS: Section = Section {
    name: "limits",
    keys: &[
        key("cpu", Kind::Time(CALL.0, CALL.1)),
        key("deadline", Kind::Time(CALL.0, CALL.1)),
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
