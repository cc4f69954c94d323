//! The gate of `allocate`: a reply is built from what was enumerated and what the policy grants. What the component
//! says only selects among that, and a value that the policy does not expect fails the allocation.

use crate::inventory::{PoolRecord, UnitRecord};
use crate::offer::{NodeEdit, Reply};
use devgate_model::{Edits, ResourceName, escape};
use devgate_policy::{PluginPolicy, Record};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Builds the reply for `units` of `resource`.
///
/// # Errors
/// What the component asked for that the policy does not grant, naming the policy's key.
pub(crate) fn build(
    policy: &PluginPolicy,
    resource: &ResourceName,
    pool: &PoolRecord,
    units: &[Arc<UnitRecord>],
    edits: &Edits,
) -> Result<Reply, String> {
    Ok(Reply {
        env: env(policy, resource, units, edits)?,
        nodes: nodes(pool, units),
        ..nothing_else(edits)?
    })
}

/// The nodes of the units and the pool's shared ones, and no other: they were fixed when the units were enumerated.
fn nodes(pool: &PoolRecord, units: &[Arc<UnitRecord>]) -> Vec<NodeEdit> {
    let all = units.iter().flat_map(|unit| &unit.nodes).chain(&pool.shared_nodes);
    let edit = |granted: &crate::grants::GrantedNode| NodeEdit {
        container_path: granted.node.path.clone(),
        host_path: granted.node.path.clone(),
        access: granted.grant.access,
    };
    let mut nodes: Vec<_> = all.map(edit).collect();
    nodes.sort();
    nodes.dedup_by(|a, b| a.container_path == b.container_path);
    nodes
}

fn env(
    policy: &PluginPolicy,
    resource: &ResourceName,
    units: &[Arc<UnitRecord>],
    edits: &Edits,
) -> Result<BTreeMap<String, String>, String> {
    let records: Vec<_> = units
        .iter()
        .map(|u| Record {
            id: u.id.as_str(),
            properties: &u.properties,
        })
        .collect();
    let rules = policy.containers.rules(resource);
    let mut env = BTreeMap::new();
    for edit in &edits.env {
        let key = escape(&edit.name, 80);
        let Some(rule) = rules.env(&edit.name) else {
            return Err(format!("environment variable {key} is not granted (containers.env)"));
        };
        rule.check(&edit.value, &records).map_err(|expected| {
            let value = escape(&edit.value, 120);
            format!("environment variable {key} has the value \"{value}\", but the policy expects {expected}")
        })?;
        if env.insert(edit.name.clone(), edit.value.clone()).is_some() {
            return Err(format!("environment variable {key} is set twice"));
        }
    }
    Ok(env)
}

/// Kinds of edit that no policy of this version can grant.
fn nothing_else(edits: &Edits) -> Result<Reply, String> {
    let first = |count: usize, what: &str| match count {
        0 => Ok(()),
        _ => Err(format!("{what} are not granted: this version does not serve them yet")),
    };
    first(edits.mounts.len(), "mounts")?;
    first(edits.annotations.len(), "annotations")?;
    first(edits.cdi.len(), "CDI devices")?;
    match edits.properties.first() {
        None => Ok(Reply::default()),
        Some(unknown) => Err(format!(
            "edit \"{}\" is not known to this host",
            escape(&unknown.name, 80)
        )),
    }
}
