//! Whether anybody can tell which pods have which devices.

use super::PluginReport;
use super::finding::Finding;
use devgate_device_plugin::PodResourcesConfig;
use devgate_node::Node;
use std::path::Path;

/// Where that cannot be seen, says so with each plugin whose component releases devices; and once where there is a kubelet.
pub(super) fn look(node: &Node, dir: &Path, plugins: &mut [PluginReport]) {
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
