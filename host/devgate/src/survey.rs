//! One look at what a policy's components find and offer on a node, and the words in which `check` and `explain` show it.

use crate::components::Components;
use crate::loader::ComponentLoader;
use devgate_core::{GrantedNode, Line, Surveyed};
use devgate_node::Node;
use devgate_policy::Policy;
use devgate_runner::Runners;
use devgate_types::component::LogLevel;
use devgate_types::{PluginName, escape};
use serde::Serialize;

/// Loads each component and asks it once for its devices and their health.
pub(crate) fn survey(runners: Runners, components: Components, policy: &Policy, node: &Node) -> Vec<Surveyed> {
    let mut loader = ComponentLoader::new(runners, components);
    loader.says_progress = true;
    devgate_core::survey(policy, node, &loader, None)
}

/// A line's level as the log names it, or that it is the host's refusal of what the component asked for.
pub(crate) const fn level(line: &Line) -> &'static str {
    match line.level {
        _ if line.refusal => "refused",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    }
}

/// What a plugin's error says where it is shown with the plugin.
pub(crate) fn without_plugin(why: &str, plugin: &PluginName) -> String {
    why.strip_prefix(&format!("plugin {plugin}: ")).unwrap_or(why).to_owned()
}

/// A node that may be handed out.
#[derive(Debug, Serialize)]
pub(crate) struct Given {
    pub(crate) path: String,
    pub(crate) access: String,
    pub(crate) shared: bool,
}

impl Given {
    pub(crate) fn of(node: &GrantedNode) -> Self {
        Self { path: escape(&node.node.path, 256), access: node.grant.access.to_string(), shared: node.grant.shared }
    }

    /// As people read it: `rw, shared`.
    pub(crate) fn access(&self) -> String {
        format!("{}{}", self.access, if self.shared { ", shared" } else { "" })
    }
}
