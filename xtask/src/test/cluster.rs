//! devgate on a real Kubernetes.

use super::Outcome;
use super::beside::Beside;
use super::stages::unless_ci;
use crate::cluster;
use anyhow::Result;

/// Every scenario, where a Kubernetes is at hand. They wait for kubelets most of the time.
pub(super) fn check() -> Result<Outcome> {
    if let Err(error) = cluster::kubernetes() {
        return unless_ci(error);
    }
    Ok(Outcome::Continues(Beside::start(&mut cluster::everything()?)?))
}
