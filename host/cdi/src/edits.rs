//! What a reply of the gate is as a file: just that, with the kernel's numbers of today.

use crate::files::text;
use crate::name::{Kind, unit_name};
use crate::spec::{Device, DeviceNode, Edits, Mount, Spec};
use devgate_core::offer::{MountEdit, NodeEdit, Reply};
use devgate_node::{Node, ReadError};
use devgate_types::{NodeKind, ResourceName, escape};

/// Why a file cannot say what a reply says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("node {}: {why}", escape(.path, 160))]
pub struct NodeUnread {
    path: String,
    why: ReadError,
}

/// A file with the units of a resource, each with what a container with it gets; nothing where none of them gives anything. Their names
/// begin with `unit:`, which no lease's does.
pub fn file_of(resource: &ResourceName, units: &[(String, Reply)], node: &Node) -> Result<Option<Vec<u8>>, NodeUnread> {
    let kind = Kind::of(resource);
    let mut devices = Vec::new();
    for (id, reply) in units {
        let spec = spec(&kind, &[unit_name(id)], reply, node)?;
        devices.extend(spec.into_iter().flat_map(|spec| spec.devices));
    }
    Ok((!devices.is_empty()).then(|| text(&Spec::new(&kind.to_string(), devices))))
}

/// The file of devices that are each what this reply says; nothing where a container gets nothing by it.
///
/// Nodes have type, numbers and mode, so that a reader does not look at the machine, which may be another by then. Neither owner nor
/// group: a reader gives a node that has none to the container's process, of any user.
pub(crate) fn spec(
    kind: &Kind,
    names: &[impl AsRef<str>],
    reply: &Reply,
    node: &Node,
) -> Result<Option<Spec>, NodeUnread> {
    let env = reply.env.iter().map(|(name, value)| format!("{name}={value}"));
    let nodes = reply.nodes.iter().map(|edit| device_node(edit, node));
    let edits = Edits {
        env: env.collect(),
        device_nodes: nodes.collect::<Result<_, _>>()?,
        mounts: reply.mounts.iter().map(mount).collect(),
        ..Edits::default()
    };
    let device = |name: &str| Device { name: name.to_owned(), container_edits: edits.clone(), ..Device::default() };
    let devices = || names.iter().map(|name| device(name.as_ref())).collect();
    Ok((!edits.is_empty()).then(|| Spec::new(&kind.to_string(), devices())))
}

fn device_node(edit: &NodeEdit, node: &Node) -> Result<DeviceNode, NodeUnread> {
    let unread = |why| NodeUnread { path: edit.host_path.clone(), why };
    let number = node.node_at(&edit.host_path).map_err(unread)?.number;
    let look = node.tree().look(edit.host_path.trim_start_matches('/')).map_err(unread)?;
    let kind = match number.kind {
        NodeKind::Block => "b",
        NodeKind::Character => "c",
    };
    Ok(DeviceNode {
        path: edit.container_path.clone(),
        host_path: (edit.host_path != edit.container_path).then(|| edit.host_path.clone()),
        r#type: Some(kind.to_owned()),
        major: Some(number.major.into()),
        minor: Some(number.minor.into()),
        file_mode: Some(look.mode & 0o777),
        permissions: Some(edit.access.to_string()),
        ..DeviceNode::default()
    })
}

/// As other writers of such files have theirs.
fn mount(edit: &MountEdit) -> Mount {
    let access = if edit.read_only { "ro" } else { "rw" };
    Mount {
        host_path: edit.host_path.clone(),
        container_path: edit.container_path.clone(),
        options: [access, "nosuid", "nodev", "bind"].map(str::to_owned).to_vec(),
        ..Mount::default()
    }
}
