//! Nodes and mounts: what appears in a container under which path. Two edits never share one.

use super::ReplyRefused;
use crate::offer::{MountEdit, NodeEdit};
use crate::units::{GrantedNode, PoolRecord, UnitRecord};
use devgate_policy::MountGrant;
use devgate_types::escape;
use std::sync::Arc;

/// The nodes of the units and the pool's shared ones, and no other: they were fixed when the units were enumerated.
pub(super) fn nodes(pool: &PoolRecord, units: &[Arc<UnitRecord>]) -> Result<Vec<NodeEdit>, ReplyRefused> {
    let all = units.iter().flat_map(|unit| &unit.nodes).chain(&pool.shared_nodes);
    let edit = |granted: &GrantedNode| NodeEdit {
        container_path: granted.grant.container_path(&granted.node.path),
        host_path: granted.node.path.clone(),
        access: granted.grant.access,
    };
    let mut nodes: Vec<_> = all.map(edit).collect();
    nodes.sort();
    // Units that share hardware have the same node.
    nodes.dedup_by(|a, b| (&a.container_path, &a.host_path) == (&b.container_path, &b.host_path));
    for pair in nodes.windows(2) {
        if let [a, b] = pair
            && a.container_path == b.container_path
        {
            let (one, other) = (escape(&a.host_path, 80), escape(&b.host_path, 80));
            let path = escape(&a.container_path, 80);
            return Err(ReplyRefused(format!(
                "nodes {one} and {other} would both be {path} in the container (container-path)"
            )));
        }
    }
    Ok(nodes)
}

/// Of today's nodes those that the consumer was told of then, with what both allow. A node that appears where it is on the host, such as that
/// of a vfio group, may have another path by now: as many of those that are not there any more have to be new.
pub(super) fn again(today: &[NodeEdit], then: &[NodeEdit]) -> Result<Vec<NodeEdit>, ReplyRefused> {
    let moves = |node: &&NodeEdit, others: &[NodeEdit]| {
        let stays = others.iter().any(|other| other.container_path == node.container_path);
        node.container_path == node.host_path && !stays
    };
    let left: Vec<_> = then.iter().filter(|node| moves(node, today)).collect();
    let come: Vec<_> = today.iter().filter(|node| moves(node, then)).collect();
    let moved = |then: &NodeEdit| {
        let place = left.iter().position(|node| *node == then)?;
        come.get(place).copied().filter(|_| left.len() == come.len())
    };
    let now = |then: &NodeEdit| {
        let stays = today.iter().find(|now| now.container_path == then.container_path);
        let now = stays.or_else(|| moved(then));
        let path = escape(&then.container_path, 80);
        let Some(now) = now else {
            return Err(ReplyRefused(format!("node {path} is not one of its nodes any more")));
        };
        if now.access.both(then.access) != Some(then.access) {
            let (before, today) = (then.access, now.access);
            return Err(ReplyRefused(format!(
                "node {path} was given with access {before}, and the policy grants {today} now"
            )));
        }
        let access = then.access;
        Ok(NodeEdit { access, ..now.clone() })
    };
    then.iter().map(now).collect()
}

/// The mounts that the component chose, where the policy says that they appear.
pub(super) fn mounts(asked: &[Arc<MountGrant>], nodes: &[NodeEdit]) -> Result<Vec<MountEdit>, ReplyRefused> {
    let edit = |mount: &Arc<MountGrant>| MountEdit {
        container_path: mount.target.clone(),
        host_path: mount.source.clone(),
        read_only: !mount.writable,
    };
    let mut mounts: Vec<_> = asked.iter().map(edit).collect();
    mounts.sort();
    mounts.dedup();
    for mount in &mounts {
        let path = &mount.container_path;
        let twice = mounts.iter().filter(|other| other.container_path == *path).count() > 1;
        if twice || nodes.iter().any(|node| node.container_path == *path) {
            let path = escape(path, 80);
            return Err(ReplyRefused(format!("two edits would both be {path} in the container (containers.mounts)")));
        }
    }
    Ok(mounts)
}
