//! The parts of an answer, put together as far as the call's limits go.

use crate::message::wire::{self, Export, item::Item, verdict};
use devgate_types::{Edits, Limits, MountHandle, NodeHandle, Pool, Property, Unit, Verdict};
use prost::Message;

/// What a part counts besides its bytes: about what it takes here.
const BESIDES: u64 = 64;
/// How many times `limits.transfer` all parts may count together. A component that is within that limit has parts of four bytes, which
/// count more here.
const TIMES: u64 = 4;

/// What came so far.
#[derive(Debug)]
pub(crate) struct Collected {
    export: Export,
    left: u64,
    pub(crate) pools: Vec<Pool>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) edits: Edits,
    pub(crate) choice: Vec<String>,
}

impl Collected {
    pub(super) fn new(export: Export, limits: &Limits) -> Self {
        Self {
            export,
            left: limits.transfer.0.saturating_mul(TIMES),
            pools: Vec::new(),
            verdicts: Vec::new(),
            edits: Edits::default(),
            choice: Vec::new(),
        }
    }

    /// Takes the next part.
    ///
    /// # Errors
    /// Where it belongs to nothing, or there is too much.
    pub(super) fn add(&mut self, item: wire::Item) -> Result<(), &'static str> {
        const OTHER: &str = "its answer has a part that belongs to nothing";
        let size = u64::try_from(item.encoded_len()).unwrap_or(u64::MAX);
        let left = self.left.checked_sub(size.saturating_add(BESIDES));
        self.left = left.ok_or("its answer is longer than limits.transfer lets any be")?;
        let item = item.item.ok_or(OTHER)?;
        match (self.export, item) {
            (Export::Enumerate, Item::Pool(resource)) => {
                self.pools.push(Pool { resource, units: Vec::new(), shared_nodes: Vec::new(), properties: Vec::new() })
            }
            (Export::Enumerate, item) => in_pool(self.pools.last_mut().ok_or(OTHER)?, item).ok_or(OTHER)?,
            (Export::Health, Item::Verdict(said)) => self.verdicts.push(verdict(said)),
            (Export::Allocate, Item::Env(env)) => self.edits.env.push(env.into()),
            (Export::Allocate, Item::Mount(mount)) => self.edits.mounts.push(MountHandle(mount)),
            (Export::Allocate, Item::Annotation(annotation)) => self.edits.annotations.push(annotation.into()),
            (Export::Allocate, Item::Cdi(name)) => self.edits.cdi.push(name),
            (Export::Allocate, Item::EditsProperty(property)) => self.edits.properties.push(property.into()),
            (Export::Choose, Item::Choice(id)) => self.choice.push(id),
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
