//! What somebody was given, as it is today.

use super::Resource;
use crate::offer::Reply;
use crate::reply;

impl Resource {
    /// What stands today for ids that somebody has, who was told this: never more.
    ///
    /// # Errors
    /// Where it would be less, or something else: complete text for people.
    pub(crate) async fn restored(&self, ids: &[String], told: &Reply, holds: bool) -> Result<Reply, String> {
        let ids = self.unit_ids(ids).map_err(|error| error.to_string())?;
        let _turn = self.core.tenancy.turns.turn(&ids).await;
        let (calls, snapshot) = (self.core.calls(), self.snapshot());
        // Whether they work is not the question: they are its own.
        let units = self
            .look_up_but(&snapshot, &ids, |_| true)
            .map_err(|error| error.to_string())?;
        let (policy, memory) = (&calls.grants.policy, &self.core.memory);
        for unit in units.iter().filter(|_| holds) {
            if !memory.is_as_handed_out(&self.name, &snapshot.pool, unit, policy) {
                return Err(format!(
                    "device {} is made of something else than when it was given",
                    unit.id
                ));
            }
        }
        let looked = self.look_again(&calls, &snapshot, &units).await;
        looked.map_err(|error| error.to_string())?;
        let restored = reply::again(&calls.grants, &self.name, &snapshot.pool, &units, told)?;
        if holds {
            memory.see_again(&self.name, &snapshot.pool, &units, policy);
        }
        Ok(restored)
    }
}
