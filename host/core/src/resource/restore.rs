//! What a consumer was given, as it is today.

use super::Resource;
use crate::offer::{AllocateError, Reply};
use crate::reply;
use devgate_types::UnitId;

/// Why what a consumer was given does not stand any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRestored {
    #[error("its resource has a name that none has")]
    NoName,
    #[error("no plugin offers it")]
    NoPlugin,
    #[error(transparent)]
    Unit(#[from] AllocateError),
    #[error("device {0} is made of something else than when it was given")]
    Changed(UnitId),
    #[error(transparent)]
    Refused(#[from] reply::ReplyRefused),
}

impl Resource {
    /// What stands today for ids that a consumer has which was told this: never more. Fails where it would be less, or something else.
    pub(crate) async fn restored(&self, ids: &[String], told: &Reply, holds: bool) -> Result<Reply, NotRestored> {
        let ids = self.unit_ids(ids)?;
        let _turn = self.core.held_units.locks.lock(&ids).await;
        let (calls, snapshot) = (self.core.calls(), self.snapshot());
        // Whether they work is not the question: they are its own.
        let units = self.look_up(&snapshot, &ids, |_| true)?;
        let (policy, allocations) = (&calls.grants.policy, &self.core.allocations);
        for unit in units.iter().filter(|_| holds) {
            if !allocations.is_as_handed_out(&self.name, &snapshot.pool, unit, policy) {
                return Err(NotRestored::Changed(unit.id.clone()));
            }
        }
        self.look_again(&calls, &snapshot, &units).await?;
        let restored = reply::again(&calls.grants, &self.name, &snapshot.pool, &units, told)?;
        if holds {
            allocations.see_again(&self.name, &snapshot.pool, &units, policy);
        }
        Ok(restored)
    }
}
