//! What an admin may change about a component's limits.

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::key;
use crate::time;
use devgate_types::Limits;

/// Reads `limits:` over the defaults.
pub(crate) fn read(item: &Item<'_>, plugin: &str, report: &mut Report) -> Limits {
    let mut limits = Limits::default();
    let place = format!("limits of {plugin}");
    let Some(f) = Fields::open(item.node, &place, &key::LIMITS, report) else {
        return limits;
    };
    f.duration("cpu", &mut limits.cpu, report);
    f.duration("deadline", &mut limits.deadline, report);
    f.size("memory", &mut limits.memory, report);
    f.number("instances", &mut limits.instances, report);
    f.number("memories", &mut limits.memories, report);
    f.number("tables", &mut limits.tables, report);
    f.number("table-elements", &mut limits.table_elements, report);
    f.number("handles", &mut limits.handles, report);
    f.size("transfer", &mut limits.transfer, report);
    f.number("host-calls", &mut limits.host_calls, report);
    f.size("read", &mut limits.read, report);
    f.size("log", &mut limits.log, report);
    f.size("component-size", &mut limits.component_size, report);
    f.number("functions", &mut limits.functions, report);
    f.size("function-size", &mut limits.function_size, report);
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
