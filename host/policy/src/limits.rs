//! What an admin may change about a component's limits.

use crate::fields::Item;
use crate::{key, time};
use devgate_types::Limits;

/// Reads `limits:` over the defaults.
pub(crate) fn read(item: &Item<'_>, plugin: &str) -> Limits {
    let mut limits = Limits::default();
    let place = format!("limits of {plugin}");
    let Some(f) = item.open(&place, &key::LIMITS) else {
        return limits;
    };
    f.duration("cpu", &mut limits.cpu);
    f.duration("deadline", &mut limits.deadline);
    f.size("memory", &mut limits.memory);
    f.number("instances", &mut limits.instances);
    f.number("memories", &mut limits.memories);
    f.number("tables", &mut limits.tables);
    f.number("table-elements", &mut limits.table_elements);
    f.number("handles", &mut limits.handles);
    f.size("transfer", &mut limits.transfer);
    f.number("host-calls", &mut limits.host_calls);
    f.size("read", &mut limits.read);
    f.size("log", &mut limits.log);
    f.size("component-size", &mut limits.component_size);
    f.number("functions", &mut limits.functions);
    f.size("function-size", &mut limits.function_size);
    if limits.cpu > limits.deadline
        && let Some(item) = f.get("cpu").or_else(|| f.get("deadline"))
    {
        let (cpu, deadline) = (time::show(limits.cpu), time::show(limits.deadline));
        item.error(format!(
            "leaves cpu {cpu} longer than deadline {deadline}, so the deadline always ends a call first; raise deadline or lower cpu"
        ));
    }
    limits
}
