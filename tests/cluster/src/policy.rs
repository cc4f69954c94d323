//! Policies of scenarios.

use crate::archive::digest;
use crate::cluster::Cluster;
use crate::devgate::{COMPONENT, DISK};
use anyhow::{Context, Result};

impl Cluster {
    /// The policy that scenarios begin with: each disk is one device of [`DISK`].
    ///
    /// # Errors
    /// When the component cannot be read.
    pub(crate) fn policy(&self) -> Result<String> {
        self.policy_of(&[("disks", DISK, self.disks.names(), "")])
    }

    /// The same for claims.
    ///
    /// # Errors
    /// When the component cannot be read.
    pub(crate) fn claims_policy(&self) -> Result<String> {
        self.policy_of(&[(
            "disks",
            DISK,
            self.disks.names(),
            "dra: {driver: disk.example.com, attributes: {kind: loop}}",
        )])
    }

    /// A policy of plugins: of each its name, its resource, its disks, and what else it says.
    ///
    /// # Errors
    /// When the component cannot be read.
    pub(crate) fn policy_of(&self, plugins: &[(&str, &str, &[String], &str)]) -> Result<String> {
        let component = std::fs::read(self.given.components.join(COMPONENT)).context("read the component")?;
        let digest = digest(&component);
        let plugin = |(name, resource, disks, more): &(&str, &str, &[String], &str)| {
            let (disks, more) =
                (disks.join(", "), if more.is_empty() { String::new() } else { format!("    {more}\n") });
            format!(
                "  {name}:
    component: {{file: {COMPONENT}, sha256: \"{digest}\"}}
    resources: [{resource}]
    hardware:
      - {{subsystem: block, name: [{disks}], use: offer, nodes: [{{access: rw}}]}}
    config: {{devices: [{{resource: {resource}, subsystem: block, name: \"loop*\"}}]}}
{more}"
            )
        };
        let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n".to_owned();
        Ok(plugins.iter().map(plugin).fold(head, |text, plugin| text + &plugin))
    }
}
