//! What a consumer had, with what stands for it today.

use super::held::{holds, offered};
use super::{AllDevices, Gone, Granted};
use crate::allocations::{Allocation, AllocationId, Consumer};
use crate::resource::NotRestored;
use std::sync::Arc;

impl AllDevices {
    /// All that a consumer has, each as it is today.
    pub(super) async fn restored(&self, who: &Consumer) -> Vec<Result<Granted, Gone>> {
        let mut all = Vec::new();
        for (id, of) in self.allocations.held(who) {
            all.push(self.restored_one(id, &of).await);
        }
        all
    }

    pub(super) async fn restored_one(&self, id: AllocationId, of: &Allocation) -> Result<Granted, Gone> {
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
