//! How much of what a component has, against the limits that a policy sets.

use devgate_types::load::Counts;
use devgate_types::{ByteSize, Limits};
use serde::Serialize;

/// One thing that is counted.
#[derive(Debug, Serialize)]
pub(super) struct Count {
    /// The key under the policy's `limits`.
    pub(super) limit: &'static str,
    /// What the component has, as the policy would write it.
    pub(super) found: String,
    /// What it may have where the policy says nothing.
    pub(super) default: String,
    /// What the policy must allow; nothing where the default is enough.
    pub(super) needs: Option<String>,
}

/// All that is counted.
pub(super) fn of(size: usize, counts: &Counts) -> Vec<Count> {
    let default = Limits::default();
    let size = ByteSize(u64::try_from(size).unwrap_or(u64::MAX));
    let number = |limit, found: u32, default: u32| plain(limit, found.into(), default.into());
    vec![
        bytes("component-size", size, default.component_size),
        number("functions", counts.functions, default.functions),
        bytes("function-size", counts.function_size, default.function_size),
        number("instances", counts.instances, default.instances),
        number("memories", counts.memories, default.memories),
        bytes("memory", counts.memory, default.memory),
        number("tables", counts.tables, default.tables),
        plain("table-elements", counts.table_elements, default.table_elements.into()),
    ]
}

fn plain(limit: &'static str, found: u64, default: u64) -> Count {
    Count {
        limit,
        found: found.to_string(),
        default: default.to_string(),
        needs: (found > default).then(|| found.to_string()),
    }
}

/// What is needed is rounded up: the next build is another few bytes larger.
fn bytes(limit: &'static str, found: ByteSize, default: ByteSize) -> Count {
    let step = if default >= ByteSize::mib(1) { ByteSize::mib(1) } else { ByteSize::kib(64) };
    let rounded = ByteSize(found.0.div_ceil(step.0).saturating_mul(step.0));
    Count {
        limit,
        found: found.to_string(),
        default: default.to_string(),
        needs: (found > default).then(|| rounded.to_string()),
    }
}
