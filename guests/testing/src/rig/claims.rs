//! Units by a claim, which may say something for the driver.

use super::{Rig, TIMEOUT, strings};
use devgate_core::offer::{AllocateError, Reply};
use devgate_core::{Ask, Consumer, Mode};
use devgate_types::{Origin, Setting};
use std::sync::Arc;

impl Rig {
    /// What a claim's container gets that is given these units, where class and claim say this for the driver: JSON, that of the
    /// class first. It has them until [`Rig::end`].
    ///
    /// # Errors
    /// Why it is refused, as the kubelet is told.
    ///
    /// # Panics
    /// As [`Rig::allocate`] does.
    #[track_caller]
    pub fn claim(&mut self, resource: &str, ids: &[&str], settings: &[(Origin, &str)]) -> Result<Reply, AllocateError> {
        let resource = self.offer(resource).resource().clone();
        let setting = |(origin, json): &(Origin, &str)| Setting { origin: *origin, json: (*json).to_owned() };
        let ask = Ask {
            resource,
            ids: strings(ids),
            share: None,
            mode: Mode::Hold,
            tag: String::new(),
            settings: settings.iter().map(setting).collect(),
        };
        let devices = self.plugins.devices();
        let mut granted = self.run(devices.allocate(&claimant(), &[ask], None))?;
        Ok(granted.pop().map(|granted| Arc::unwrap_or_clone(granted.reply)).unwrap_or_default())
    }

    /// The end of what [`Rig::claim`] gave.
    ///
    /// # Panics
    /// Where the component panics.
    #[track_caller]
    pub fn end(&mut self) {
        let devices = self.plugins.devices();
        self.run(devices.release(&claimant(), TIMEOUT));
    }
}

/// The only claim of a test.
fn claimant() -> Consumer {
    Consumer::Claim { driver: "test.devgate.dev".to_owned(), uid: "claim".to_owned() }
}
