//! The parts of an answer, put together as far as the call's limits go.

use crate::message::wire::{self, item::Item, verdict};
use devgate_types::component::{CallKind, Output};
use devgate_types::{Limits, MountHandle, NodeHandle, Pool, Property, Unit, Verdict};
use prost::Message;

/// What a part counts besides its bytes: about what it takes here.
const BESIDES: u64 = 64;
/// How many times `limits.transfer` all parts may count together. A component that is within that limit has parts of four bytes, which
/// count more here.
const TIMES: u64 = 4;

/// What came so far.
#[derive(Debug)]
pub(crate) struct Collected {
    kind: CallKind,
    left: u64,
    pub(super) output: Output,
}

impl Collected {
    pub(super) fn new(kind: CallKind, limits: &Limits) -> Self {
        Self { kind, left: limits.transfer.0.saturating_mul(TIMES), output: Output::default() }
    }

    /// Takes the next part. Fails where it belongs to nothing, or there is too much.
    pub(super) fn add(&mut self, item: wire::Item) -> Result<(), &'static str> {
        const OTHER: &str = "its answer has a part that belongs to nothing";
        let size = u64::try_from(item.encoded_len()).unwrap_or(u64::MAX);
        let left = self.left.checked_sub(size.saturating_add(BESIDES));
        self.left = left.ok_or("its answer is longer than limits.transfer lets any be")?;
        let item = item.item.ok_or(OTHER)?;
        let Output { pools, verdicts, edits, choice, conditions } = &mut self.output;
        match (self.kind, item) {
            (CallKind::Enumerate, Item::Pool(resource)) => {
                pools.push(Pool { resource, units: Vec::new(), shared_nodes: Vec::new(), properties: Vec::new() })
            }
            (CallKind::Enumerate, item) => in_pool(pools.last_mut().ok_or(OTHER)?, item).ok_or(OTHER)?,
            (CallKind::Health, Item::Verdict(said)) => verdicts.push(verdict(said)),
            (CallKind::Allocate, Item::Env(env)) => edits.env.push(env.into()),
            (CallKind::Allocate, Item::Mount(mount)) => edits.mounts.push(MountHandle(mount)),
            (CallKind::Allocate, Item::Annotation(annotation)) => edits.annotations.push(annotation.into()),
            (CallKind::Allocate, Item::Cdi(name)) => edits.cdi.push(name),
            (CallKind::Allocate, Item::EditsProperty(property)) => edits.properties.push(property.into()),
            (CallKind::Choose, Item::Choice(id)) => choice.push(id),
            (CallKind::Examine, Item::Conditions(of_unit)) => conditions.push(of_unit.into()),
            _ => return Err(OTHER),
        }
        Ok(())
    }
}

fn in_pool(pool: &mut Pool, item: Item) -> Option<()> {
    match item {
        Item::Unit(unit) => pool.units.push(Unit::from(unit)),
        Item::UnitProperty(property) => pool.units.last_mut()?.properties.push(Property::from(property)),
        Item::SharedNode(node) => pool.shared_nodes.push(NodeHandle(node)),
        Item::PoolProperty(property) => pool.properties.push(Property::from(property)),
        _ => return None,
    }
    Some(())
}

fn verdict(said: wire::Verdict) -> Verdict {
    match said.kind() {
        verdict::Kind::Healthy => Verdict::Healthy,
        verdict::Kind::Unhealthy => Verdict::Unhealthy(said.reason),
        verdict::Kind::Unknown => Verdict::Unknown(said.reason),
    }
}
