//! What an admin may change about a component's limits.

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::key;
use crate::time;
use devgate_model::{ByteSize, Limits};
use std::time::Duration;

/// Reads `limits:` over the defaults. The ranges keep a typing error from switching a limit off, and every limit above
/// what any component needs at all.
pub(crate) fn read(item: &Item<'_>, plugin: &str, report: &mut Report) -> Limits {
    let mut limits = Limits::default();
    let place = format!("limits of {plugin}");
    let Some(f) = Fields::open(item.node, &place, &key::LIMITS, report) else {
        return limits;
    };
    // What waits longer than a minute for a component is better served by its next call.
    let call = Duration::from_millis(1)..=Duration::from_secs(60);
    f.duration("cpu", call.clone(), &mut limits.cpu, report);
    f.duration("deadline", call, &mut limits.deadline, report);
    f.size(
        "memory",
        ByteSize::kib(64)..=ByteSize::mib(1_024),
        &mut limits.memory,
        report,
    );
    f.number("instances", 1..=1_000, &mut limits.instances, report);
    f.number("memories", 1..=64, &mut limits.memories, report);
    f.number("tables", 1..=1_000, &mut limits.tables, report);
    f.number("table-elements", 1..=10_000_000, &mut limits.table_elements, report);
    f.number("handles", 16..=1_000_000, &mut limits.handles, report);
    f.size(
        "transfer",
        ByteSize::kib(4)..=ByteSize::mib(64),
        &mut limits.transfer,
        report,
    );
    f.number("host-calls", 1..=10_000_000, &mut limits.host_calls, report);
    f.size(
        "read",
        ByteSize::kib(4)..=ByteSize::mib(1_024),
        &mut limits.read,
        report,
    );
    f.size("log", ByteSize(0)..=ByteSize::mib(1), &mut limits.log, report);
    f.size(
        "component-size",
        ByteSize::kib(1)..=ByteSize::mib(64),
        &mut limits.component_size,
        report,
    );
    f.number("functions", 1..=1_000_000, &mut limits.functions, report);
    f.size(
        "function-size",
        ByteSize::kib(1)..=ByteSize::mib(16),
        &mut limits.function_size,
        report,
    );
    if limits.cpu > limits.deadline
        && let Some(item) = f.get("cpu").or_else(|| f.get("deadline"))
    {
        let (cpu, deadline) = (time::show(limits.cpu), time::show(limits.deadline));
        let problem =
            format!("leaves cpu {cpu} longer than deadline {deadline}, so the deadline always ends a call first");
        item.error_with_hint(report, problem, "raise deadline or lower cpu");
    }
    limits
}
