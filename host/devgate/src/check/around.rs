//! What is around all plugins together: the memory that the container or service may have, and the kubelet that says what pods have.

use super::PluginReport;
use super::finding::Finding;
use devgate_device_plugin::PodResourcesConfig;
use devgate_node::Node;
use devgate_policy::Policy;
use devgate_runner::{COMPILER_MEMORY, HOST_MEMORY, memory_limit, runner_memory};
use std::path::Path;

/// Warns at the first plugin that does not fit beside those before it.
pub(super) fn memory(policy: &Policy, plugins: &mut [PluginReport]) {
    let Some(limit) = memory_limit() else { return };
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

/// Where it cannot be seen what pods have, says so with each plugin whose component releases devices; and once where there is a kubelet.
pub(super) fn pods(node: &Node, dir: &Path, plugins: &mut [PluginReport]) {
    let socket = PodResourcesConfig::new(dir.to_owned(), dir.to_owned()).socket();
    if node.is_recorded() || socket.exists() {
        return;
    }
    let mut has_kubelet = dir.parent().is_some_and(Path::exists);
    for plugin in plugins {
        let consequence = if plugin.component.profile.lifecycle {
            "devices are released only when they are allocated again"
        } else if has_kubelet {
            "what was handed out once stays as it was until devgate forgets it (docs/operate.md)"
        } else {
            continue;
        };
        has_kubelet = false;
        let message = format!(
            "there is no {}: {consequence}; mount the kubelet's pod-resources directory (--pod-resources-dir)",
            socket.display()
        );
        plugin.findings.push(Finding::new("pods-not-seen", None, message));
    }
}
