//! Limits on their way to a child.

use super::wire;
use devgate_types::{ByteSize, Limits};
use std::time::Duration;

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl From<&Limits> for wire::Limits {
    fn from(limits: &Limits) -> Self {
        Self {
            cpu: nanoseconds(limits.cpu),
            deadline: nanoseconds(limits.deadline),
            memory: limits.memory.0,
            instances: limits.instances,
            memories: limits.memories,
            tables: limits.tables,
            table_elements: limits.table_elements,
            handles: limits.handles,
            transfer: limits.transfer.0,
            host_calls: limits.host_calls,
            read: limits.read.0,
            log: limits.log.0,
            component_size: limits.component_size.0,
            functions: limits.functions,
            function_size: limits.function_size.0,
        }
    }
}

impl From<wire::Limits> for Limits {
    fn from(limits: wire::Limits) -> Self {
        Self {
            cpu: Duration::from_nanos(limits.cpu),
            deadline: Duration::from_nanos(limits.deadline),
            memory: ByteSize(limits.memory),
            instances: limits.instances,
            memories: limits.memories,
            tables: limits.tables,
            table_elements: limits.table_elements,
            handles: limits.handles,
            transfer: ByteSize(limits.transfer),
            host_calls: limits.host_calls,
            read: ByteSize(limits.read),
            log: ByteSize(limits.log),
            component_size: ByteSize(limits.component_size),
            functions: limits.functions,
            function_size: ByteSize(limits.function_size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_arrive_as_they_were_sent() {
        let limits = Limits::default().for_devices(5_000);
        assert_eq!(Limits::from(wire::Limits::from(&limits)), limits);
    }
}
