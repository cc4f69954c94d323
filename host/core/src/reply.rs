//! The gate of `allocate`: a reply is built from what was enumerated and what the policy grants. What the component
//! says only selects among that, and a value that the policy does not expect fails the allocation.

mod paths;
mod values;

use crate::call::CallHost;
use crate::grants::Grants;
use crate::offer::Reply;
use crate::units::{PoolRecord, UnitRecord};
use devgate_policy::{MountGrant, PluginPolicy, Record};
use devgate_types::{CallError, Edits, Failure, FailureKind, GuestFault, MountHandle, Property, ResourceName, escape};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What of an answer the policy does not allow, naming the policy's key; complete text, escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ReplyRefused(String);

/// What a component asked for in an allocation, its handles already looked up.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) edits: Edits,
    pub(crate) mounts: Vec<Arc<MountGrant>>,
}

impl Asked {
    /// What a component asked for, with the table of the call in which it did.
    pub(crate) fn of(edits: Edits, host: &CallHost) -> Result<Self, CallError> {
        let mount = |handle: &MountHandle| {
            let held = host.held_mount(*handle).cloned();
            held.ok_or_else(|| GuestFault::contract("a mount handle was never handed out in this call"))
        };
        let mounts = edits.mounts.iter().map(mount).collect::<Result<Vec<_>, _>>()?;
        match mounts.iter().find_map(|mount| host.grants.mount_problem_now(&mount.name)) {
            Some(problem) => Err(CallError::Failed(Failure::new(FailureKind::Denied, problem))),
            None => Ok(Self { edits, mounts }),
        }
    }
}

/// Builds the reply for `units` of `resource`. The error names what the component asked for that the policy does not grant, and the
/// policy's key.
pub(crate) fn build(
    policy: &PluginPolicy,
    resource: &ResourceName,
    pool: &PoolRecord,
    units: &[Arc<UnitRecord>],
    asked: &Asked,
) -> Result<Reply, ReplyRefused> {
    let edits = &asked.edits;
    if let Some(unknown) = edits.properties.first() {
        let edit = escape(&unknown.name, 80);
        return Err(ReplyRefused(format!("edit \"{edit}\" is not known to this host")));
    }
    let rules = policy.containers.rules(resource);
    let records: Vec<_> = units.iter().map(|unit| record(unit)).collect();
    let nodes = paths::nodes(pool, units)?;
    let mounts = paths::mounts(&asked.mounts, &nodes)?;
    let cdi = values::cdi_names(&rules, &records, &edits.cdi)?;
    Ok(Reply {
        env: values::env(&rules, &records, &edits.env)?,
        nodes,
        mounts,
        annotations: values::annotations(&rules, &records, &edits.annotations)?,
        cdi,
    })
}

/// What stands today for units whose owner was told this: values and mounts as they were, and today's nodes. Never more than then. The
/// error names what the policy does not grant any more, or is not there, and the policy's key.
pub(crate) fn again(
    grants: &Grants,
    resource: &ResourceName,
    pool: &PoolRecord,
    units: &[Arc<UnitRecord>],
    told: &Reply,
) -> Result<Reply, ReplyRefused> {
    let rules = grants.policy.containers.rules(resource);
    let records: Vec<_> = units.iter().map(|unit| record(unit)).collect();
    let said = |values: &BTreeMap<String, String>| {
        let property = |(name, value): (&String, &String)| Property { name: name.clone(), value: value.clone() };
        values.iter().map(property).collect::<Vec<_>>()
    };
    values::env(&rules, &records, &said(&told.env))?;
    values::annotations(&rules, &records, &said(&told.annotations))?;
    values::cdi_names(&rules, &records, &told.cdi)?;
    for mount in &told.mounts {
        let granted = grants.policy.containers.mounts.values().find(|grant| {
            let same = (&grant.source, &grant.target) == (&mount.host_path, &mount.container_path);
            same && (mount.read_only || grant.writable)
        });
        let path = escape(&mount.container_path, 160);
        let Some(granted) = granted else {
            return Err(ReplyRefused(format!("the mount at {path} is not granted any more (containers.mounts)")));
        };
        let looked = grants.mount(&granted.name);
        looked.map_err(|why| ReplyRefused(format!("the mount at {path} is not given any more: {why}")))?;
    }
    let nodes = paths::again(&paths::nodes(pool, units)?, &told.nodes)?;
    Ok(Reply { nodes, ..told.clone() })
}

fn record(unit: &UnitRecord) -> Record<'_> {
    Record { id: unit.id.as_str(), properties: &unit.properties }
}

#[cfg(test)]
mod tests;
