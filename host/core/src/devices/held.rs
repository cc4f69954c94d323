//! What a consumer has: as it was told, and with what stands for it today.

use super::{AllDevices, Ask, Gone, Granted};
use crate::allocations::{Allocation, AllocationId, Consumer, Mode, Slot, State, StoredReply};
use crate::offer::AllocateError;
use crate::replica::REPLICA;
use crate::resource::NotRestored;
use devgate_types::{ResourceName, escape};
use std::sync::Arc;

impl AllDevices {
    /// What a consumer that asks for just what it has is told; nothing where it has nothing, or was never told. Fails where it has
    /// something else, or has no more what it had.
    pub(super) async fn again(&self, who: &Consumer, asks: &[Ask]) -> Result<Option<Vec<Granted>>, AllocateError> {
        let held = self.allocations.held(who);
        let Some((id, first)) = held.first() else {
            return Ok(None);
        };
        let is_held = |ask: &Ask| {
            let is_it = |of: &Allocation| {
                (of.ask.resource.as_str(), of.ask.mode, &of.ask.tag) == (ask.resource.as_str(), ask.mode, &ask.tag)
                    && offered(of) == ask.sorted_ids()
                    && share(of) == ask.share.as_deref()
            };
            held.iter().any(|(_, of)| is_it(of))
        };
        if held.len() != asks.len() || !asks.iter().all(is_held) {
            let (ids, resource) = (offered(first).join(", "), escape(&first.ask.resource, 160));
            return Err(AllocateError::Refused(format!(
                "{who} has {} of resource {resource} already (allocation {id}), and asks for something else now; release it first",
                escape(&ids, 160)
            )));
        }
        if held.iter().any(|(_, of)| of.ask.state == State::Recorded || self.is_made_ready_no_more(of)) {
            return Ok(None);
        }
        let mut restored = Vec::with_capacity(held.len());
        for (id, of) in &held {
            restored.push(self.restored(*id, of).await.map_err(|gone| AllocateError::Refused(gone.to_string()))?);
        }
        // As they were asked for.
        restored.sort_by_key(|granted| asks.iter().position(|ask| is_of(ask, granted)));
        Ok(Some(restored))
    }

    /// Whether a component made it ready in an earlier boot: what it did to the hardware is gone.
    fn is_made_ready_no_more(&self, of: &Allocation) -> bool {
        let resource = || self.registry.resource(&ResourceName::try_new(&of.ask.resource).ok()?);
        let has_lifecycle = || resource().is_some_and(|resource| resource.core.calls().has_lifecycle());
        holds(of) && self.allocations.is_of_earlier_boot(of) && has_lifecycle()
    }

    /// An allocation, as its consumer was told.
    pub(super) fn granted(&self, id: AllocationId, of: &Allocation) -> Option<Granted> {
        Some(Granted {
            id,
            tag: of.ask.tag.clone(),
            resource: ResourceName::try_new(&of.ask.resource).ok()?,
            ids: offered(of),
            reply: Arc::new(of.ask.reply.as_ref().map(StoredReply::to_reply).unwrap_or_default()),
            left: self.allocations.left(of),
            told: of.ask.state != State::Recorded && !self.is_made_ready_no_more(of),
            earlier_boot: self.allocations.is_of_earlier_boot(of),
        })
    }

    /// What a consumer has, as it is today.
    pub(super) async fn restored(&self, id: AllocationId, of: &Allocation) -> Result<Granted, Gone> {
        let granted = async {
            let told = self.granted(id, of).ok_or(NotRestored::NoName)?;
            let resource = self.registry.resource(&told.resource).ok_or(NotRestored::NoPlugin)?;
            let reply = resource.restored(&offered(of), &told.reply, holds(of)).await?;
            Ok(Granted { reply: Arc::new(reply), ..told })
        };
        granted.await.map_err(|why: NotRestored| Gone {
            allocation: id,
            resource: of.ask.resource.clone(),
            why: why.to_string(),
            may_come: matches!(why, NotRestored::NoPlugin),
        })
    }
}

fn is_of(ask: &Ask, granted: &Granted) -> bool {
    let all = ask.ids.iter().all(|id| granted.ids.contains(id));
    (&ask.resource, &ask.tag) == (&granted.resource, &granted.tag) && all
}

/// The ids of an allocation, as they were offered; sorted.
pub(super) fn offered(of: &Allocation) -> Vec<String> {
    let take = of.ask.take.iter();
    let mut ids: Vec<_> = take
        .map(|take| match take.slot {
            Slot::Replica(number) => format!("{}{REPLICA}{number}", take.unit),
            Slot::Whole | Slot::Share(_) => take.unit.clone(),
        })
        .collect();
    ids.sort_unstable();
    ids
}

fn share(of: &Allocation) -> Option<&str> {
    of.ask.take.iter().find_map(|take| match &take.slot {
        Slot::Share(share) => Some(share.as_str()),
        Slot::Whole | Slot::Replica(_) => None,
    })
}

/// Whether it keeps others from what it has.
pub(super) fn holds(of: &Allocation) -> bool {
    of.ask.mode == Mode::Hold
}
