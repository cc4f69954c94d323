//! What a container gets, as lines for people.

use devgate_core::offer::Reply;
use devgate_types::escape;
use std::collections::BTreeSet;

/// The longest value that is shown.
const SHOWN: usize = 256;

/// A line for each node, mount, variable, annotation and name.
pub(crate) fn lines(reply: &Reply) -> BTreeSet<String> {
    let shown = |text: &str| escape(text, SHOWN);
    let under = |container: &str, host: &str| match container == host {
        true => shown(container),
        false => format!("{} as {}", shown(host), shown(container)),
    };
    let mut lines = BTreeSet::new();
    for node in &reply.nodes {
        lines.insert(format!("node {} ({})", under(&node.container_path, &node.host_path), node.access));
    }
    for mount in &reply.mounts {
        let access = if mount.read_only { "r" } else { "rw" };
        lines.insert(format!("mount {} ({access})", under(&mount.container_path, &mount.host_path)));
    }
    let pair = |what: &str, (name, value): (&String, &String)| format!("{what} {}={}", shown(name), shown(value));
    lines.extend(reply.env.iter().map(|entry| pair("variable", entry)));
    lines.extend(reply.annotations.iter().map(|entry| pair("annotation", entry)));
    lines.extend(reply.cdi.iter().map(|name| format!("CDI {}", shown(name))));
    lines
}
