//! Whether all plugins together fit into what the container or service may have.

use super::PluginReport;
use devgate_policy::Policy;
use devgate_runner::{COMPILER_MEMORY, HOST_MEMORY, memory_limit, runner_memory};
use devgate_types::ByteSize;

/// Warns at the first plugin that does not fit beside those before it.
pub(super) fn look(policy: &Policy, plugins: &mut [PluginReport]) {
    if let Some(limit) = memory_limit() {
        compare(limit, policy, plugins);
    }
}

fn compare(limit: ByteSize, policy: &Policy, plugins: &mut [PluginReport]) {
    let mut all = HOST_MEMORY.0.saturating_add(COMPILER_MEMORY.0);
    for (policy, report) in policy.plugins.values().zip(plugins) {
        let own =
            runner_memory(&policy.limits, u64::try_from(report.component.size.unwrap_or_default()).unwrap_or(u64::MAX));
        all = all.saturating_add(own.0);
        if all > limit.0 {
            let message = format!(
                "its process may take {} MiB, which with devgate, a compiler and the plugins before it is {} MiB, and this container or service \
                 may have {limit}: components that take all that their limits give them end all plugins together; raise the memory of the \
                 container (resources.limits.memory) or service (MemoryMax), or lower limits.memory of plugins",
                own.0 >> 20,
                all >> 20
            );
            report.finds("memory-short", message);
            return;
        }
    }
}
