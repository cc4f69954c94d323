//! devgate on a real Kubernetes.

use super::Outcome;
use super::stages::unless_ci;
use crate::cluster;
use anyhow::Result;

/// Every scenario, where a Kubernetes is at hand.
pub(super) fn check() -> Result<Outcome> {
    if let Err(error) = cluster::kubernetes() {
        return unless_ci(error);
    }
    cluster::play()?;
    Ok(Outcome::Passed)
}
