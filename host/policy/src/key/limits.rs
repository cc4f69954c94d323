//! The keys of `health` and `limits`, with their ranges.

use super::{Default, Key, Kind, Section, key};
use devgate_types::ByteSize;
use std::time::Duration;

const fn time(name: &'static str, default: &'static str, least: Duration, most: Duration, doc: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Time(least, most),
        default: Default::Is(default),
        doc,
    }
}

const fn size(name: &'static str, default: &'static str, least: ByteSize, most: ByteSize, doc: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Size(least, most),
        default: Default::Is(default),
        doc,
    }
}

const fn number(name: &'static str, default: &'static str, least: u32, most: u32, doc: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Number(least, most),
        default: Default::Is(default),
        doc,
    }
}

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);
const TICK: Duration = Duration::from_millis(100);

pub(crate) const HEALTH: Section = Section {
    name: "health",
    keys: &[
        time(
            "unhealthy-after",
            "0s",
            Duration::ZERO,
            HOUR,
            "How long a device must be found unhealthy before it is reported so.",
        ),
        time(
            "healthy-after",
            "0s",
            Duration::ZERO,
            DAY,
            "How long it must be found healthy again before it is reported so.",
        ),
        time(
            "stale-after",
            "1m",
            Duration::ZERO,
            DAY,
            "How long the last good list stands while the component fails; then its devices are unhealthy.",
        ),
        time(
            "check-every",
            "1s",
            TICK,
            HOUR,
            "How often the component is asked for its devices' health.",
        ),
        time(
            "enumerate-every",
            "5s",
            TICK,
            HOUR,
            "How often it is asked for its devices, where no event of the kernel asks earlier.",
        ),
        key(
            "new-boot",
            Kind::OneOf(&["keeps", "forgives"]),
            Default::Is("keeps"),
            "What a device that was unhealthy before the node was booted anew is: `keeps` it unhealthy until it was found healthy for `healthy-after`, as after a restart of devgate; `forgives` takes the boot for evidence that it is well.",
        ),
    ],
};

/// What waits longer than a minute for a component is better served by its next call.
const CALL: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(60));

/// The ranges keep a typing error from switching a limit off, and every limit above what any component needs at all.
pub(crate) const LIMITS: Section = Section {
    name: "limits",
    keys: &[
        time(
            "cpu",
            "100ms",
            CALL.0,
            CALL.1,
            "Processor time; at most the deadline. Grows with the number of granted devices.",
        ),
        time(
            "deadline",
            "500ms",
            CALL.0,
            CALL.1,
            "Wall-clock time. Grows with the number of granted devices.",
        ),
        size(
            "memory",
            "16MiB",
            ByteSize::kib(64),
            ByteSize::mib(1_024),
            "All linear memories together.",
        ),
        number(
            "instances",
            "8",
            1,
            1_000,
            "Core instances in the component, each as often as it is made.",
        ),
        number("memories", "1", 1, 64, "Linear memories."),
        number("tables", "4", 1, 1_000, "Tables."),
        number("table-elements", "10000", 1, 10_000_000, "Elements in each table."),
        number(
            "handles",
            "1024",
            16,
            1_000_000,
            "Handles held at once. Grows with the number of granted devices.",
        ),
        size(
            "transfer",
            "1MiB",
            ByteSize::kib(4),
            ByteSize::mib(64),
            "Bytes passed between component and host, what is written to WASI's standard streams included. Grows with the number of granted devices.",
        ),
        number(
            "host-calls",
            "10000",
            1,
            10_000_000,
            "Calls to the host, writes to WASI's standard streams included. Grows with the number of granted devices.",
        ),
        size(
            "read",
            "4MiB",
            ByteSize::kib(4),
            ByteSize::mib(1_024),
            "Bytes read from the node. Grows with the number of granted devices.",
        ),
        size(
            "log",
            "16KiB",
            ByteSize(0),
            ByteSize::mib(1),
            "Bytes of one call in the log, and 128 for each line; what is over is dropped and counted.",
        ),
        size(
            "component-size",
            "4MiB",
            ByteSize::kib(1),
            ByteSize::mib(64),
            "The component's file.",
        ),
        number("functions", "20000", 1, 1_000_000, "Functions in the component."),
        size(
            "function-size",
            "256KiB",
            ByteSize::kib(1),
            ByteSize::mib(16),
            "One function's code.",
        ),
    ],
};
