//! What one call of a component may ask: its grants, as numbered handles that mean nothing to any other call.

mod capabilities;
mod control;
mod outside;

use crate::grants::{Grants, least};
use crate::plugin_services::PluginServices;
use crate::status::Used;
use crate::units::{GrantedNode, UnitRecord};
use control::Lent;
use devgate_node::{DeviceNode, DevicePath, ReadError, Subsystem};
use devgate_policy::{MountGrant, attribute_rule};
use devgate_types::component::{Answered, Call, CallKind, Component, Denied, Output};
use devgate_types::{CallError, DeviceHandle, Failure, FailureKind, GuestFault, Limits, NodeHandle, escape};
use indexmap::IndexMap;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// The largest text attribute, as the contract says and the kernel makes them (one page).
const ATTRIBUTE_BYTES: usize = 4096;

/// The capabilities of one call. See [`devgate_types::component::Capabilities`] for what each method is.
pub(crate) struct CallHost {
    pub(crate) grants: Arc<Grants>,
    services: Arc<PluginServices>,
    limits: Arc<Limits>,
    /// The function that is called. Until one is, nothing may be done but read, as in the least of them.
    pub(crate) kind: CallKind,
    /// Whether a container has the units already and is about to start, maybe not for the first time: nothing is written then.
    pub(crate) is_start: bool,
    /// The units that the call is about, where it may write to them.
    lent: Lent,
    /// Cancelled when the call is not waited for any more: it must not act on the node then.
    given_up: CancellationToken,
    /// What handles stand for: the place of each here. Of devices what they are part of, once they have said so: a place in the tree is
    /// never of another subsystem.
    devices: IndexMap<DevicePath, Option<Subsystem>>,
    nodes: IndexMap<DeviceNode, GrantedNode>,
    mounts: IndexMap<String, Arc<MountGrant>>,
    /// The iommu groups of the node, read once for all units of an answer.
    iommu_groups: OnceCell<Result<BTreeMap<String, Vec<DevicePath>>, ReadError>>,
    bytes_read: u64,
}

impl CallHost {
    pub(crate) fn new(grants: Arc<Grants>, services: Arc<PluginServices>, limits: Arc<Limits>) -> Self {
        Self {
            grants,
            services,
            limits,
            kind: CallKind::Choose,
            is_start: false,
            lent: Lent::default(),
            given_up: CancellationToken::new(),
            devices: IndexMap::new(),
            nodes: IndexMap::new(),
            mounts: IndexMap::new(),
            iommu_groups: OnceCell::new(),
            bytes_read: 0,
        }
    }

    /// The same, for a call that is given up on when this is cancelled.
    pub(crate) fn until(mut self, given_up: CancellationToken) -> Self {
        self.given_up = given_up;
        self
    }

    /// Makes a call about these units. What the component was given in it is held here.
    pub(crate) fn call(
        &mut self,
        component: &dyn Component,
        call: Call<'_>,
        units: &[Arc<UnitRecord>],
    ) -> Result<Output, CallError> {
        self.kind = call.kind;
        let lent: Vec<_> = units.iter().map(|unit| unit.lend(self)).collect();
        let begun = Instant::now();
        let called = component.call(&Call { units: &lent, ..call }, self);
        let used = called.as_ref().map(|(_, cost)| Used::of(cost, &self.limits, self.bytes_read));
        self.grants.recorder.record_call(call.kind, begun.elapsed(), used);
        Ok(called?.0)
    }

    /// What it is called for, in words.
    fn moment(&self) -> &'static str {
        if self.is_start { "prepare before a container's start" } else { self.kind.as_str() }
    }

    /// The handle of a device in this call.
    pub(crate) fn hold_device(&mut self, device: DevicePath) -> DeviceHandle {
        self.hold_known(device, None)
    }

    /// The same, and what the device is part of, if it has said so.
    pub(crate) fn hold_known(&mut self, device: DevicePath, known: Option<Subsystem>) -> DeviceHandle {
        let held = self.devices.entry(device);
        let handle = DeviceHandle(number(held.index()));
        let held = held.or_default();
        *held = known.or_else(|| held.take());
        handle
    }

    /// The handle of a node in this call.
    pub(crate) fn hold_node(&mut self, node: GrantedNode) -> NodeHandle {
        let held = self.nodes.entry(node.node.clone());
        let handle = NodeHandle(number(held.index()));
        let grant = node.grant.clone();
        let held = held.or_insert(node);
        held.grant = least(held.grant.clone(), grant);
        handle
    }

    /// The device that a handle stands for, if this call holds it.
    pub(crate) fn held_device(&self, handle: DeviceHandle) -> Option<&DevicePath> {
        Some(self.devices.get_index(usize::try_from(handle.0).ok()?)?.0)
    }

    /// The node that a handle stands for, if this call holds it.
    pub(crate) fn held_node(&self, handle: NodeHandle) -> Option<&GrantedNode> {
        let (_, node) = self.nodes.get_index(usize::try_from(handle.0).ok()?)?;
        Some(node)
    }

    /// The NUMA node of a device, as the kernel names it.
    pub(crate) fn numa_node(&self, device: &DevicePath) -> Option<u32> {
        self.grants.node.numa_node(device)
    }

    /// The places that a device's node reaches besides its own; none where the device went, as its nodes are not given then.
    pub(crate) fn pieces(&self, device: &DevicePath) -> Result<Vec<DevicePath>, ReadError> {
        let pieces = match self.devices.get(device).and_then(Option::as_ref) {
            Some(known) => self.grants.node.pieces_of(device, &known.name),
            None => self.grants.node.pieces(device),
        };
        match pieces {
            Err(ReadError::Gone) => Ok(Vec::new()),
            pieces => pieces,
        }
    }

    /// What is wrong with these nodes for these devices: see [`Grants::group_problem`].
    pub(crate) fn group_problem(&self, nodes: &[GrantedNode], backing: &[DevicePath]) -> Option<String> {
        let groups = || self.iommu_groups.get_or_init(|| self.grants.node.iommu_groups());
        self.grants.group_problem_with(nodes, backing, |group| match groups() {
            Ok(groups) => Ok(groups.get(group).cloned().unwrap_or_default()),
            Err(error) => Err(error.clone()),
        })
    }

    /// The policy that the call is made under.
    pub(crate) fn policy(&self) -> &devgate_policy::PluginPolicy {
        &self.grants.policy
    }

    fn device(&self, handle: DeviceHandle) -> Answered<DevicePath> {
        self.held_device(handle).cloned().ok_or_else(|| forged("device", handle.0))
    }

    /// Asks about a held device, and says `gone` where the device is what is missing.
    fn ask_device<T>(
        &self,
        handle: DeviceHandle,
        what: &str,
        question: impl FnOnce(&Grants, &DevicePath) -> Result<T, ReadError>,
    ) -> Answered<T> {
        let device = self.device(handle)?;
        let answer = match question(&self.grants, &device) {
            Err(ReadError::NotFound) if !self.grants.node.exists(&device) => Err(ReadError::Gone),
            answer => answer,
        };
        let of = || format!("{} of {}", escape(what, 80), escape(device.name(), 80));
        answer.map_err(|error| failure(&of(), &error).into())
    }

    /// Asks about something in a held device's directory. A path may lead into the directory of another device (a function
    /// behind a bridge, a device behind a hub), which must then be granted itself.
    fn ask_within<T>(
        &self,
        handle: DeviceHandle,
        what: &str,
        path: &str,
        question: impl FnOnce(&Grants, &DevicePath, &str) -> Result<T, ReadError>,
    ) -> Answered<T> {
        self.ask_device(handle, &format!("{what} \"{path}\""), |grants, device| {
            check_holder(grants, device, path)?;
            attribute_rule(path).map_err(ReadError::Denied)?;
            question(grants, device, path)
        })
    }

    fn read_bytes(&mut self, handle: DeviceHandle, path: &str, range: Option<(u64, usize)>) -> Answered<Vec<u8>> {
        let bytes = self.ask_within(handle, "attribute", path, |grants, device, path| match range {
            None => grants.node.attribute(device, path, ATTRIBUTE_BYTES),
            Some((offset, length)) => grants.node.attribute_at(device, path, offset, length),
        })?;
        self.count(bytes.len())?;
        Ok(bytes)
    }

    fn count(&mut self, bytes: usize) -> Answered<()> {
        self.bytes_read += u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.bytes_read > self.limits.read.0 {
            let limit = devgate_types::Limit::Read(self.limits.read);
            return Err(Denied::End(CallError::Guest(GuestFault::Limit(limit))));
        }
        Ok(())
    }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Refuses a path that lies in the directory of another device that is not granted.
fn check_holder(grants: &Grants, device: &DevicePath, path: &str) -> Result<(), ReadError> {
    let holder = grants.node.holder(device, path)?;
    if holder == *device || grants.usage(&holder).is_some() {
        return Ok(());
    }
    Err(ReadError::Denied("the policy does not grant the device that has it"))
}

/// A handle that this call never held: the sandbox checks them first, so this is a broken runner or a bug.
fn forged(what: &str, number: u32) -> Denied {
    let fault = GuestFault::contract(&format!("{what} handle {number} was never handed out in this call"));
    Denied::End(CallError::Guest(fault))
}

/// What the node answered, in the contract's words.
fn failure(what: &str, error: &ReadError) -> Failure {
    let kind = match error {
        ReadError::NotFound | ReadError::NotADevice => FailureKind::NotFound,
        ReadError::Gone => FailureKind::Gone,
        ReadError::Invalid(_) => FailureKind::Invalid,
        ReadError::Denied(_) => FailureKind::Denied,
        ReadError::TooLarge { .. } => FailureKind::Limit,
        ReadError::NotANode => FailureKind::Other,
        _ => FailureKind::Io,
    };
    let failure = Failure::new(kind, format!("{what}: {error}"));
    match (kind, error) {
        (FailureKind::Other, _) => failure.with_code("not-a-node"),
        (FailureKind::Io, error) => failure.with_code(error.code()),
        _ => failure,
    }
}
