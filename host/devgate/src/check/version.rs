//! `--for`: what an earlier version of devgate would refuse of a policy.

use super::finding::Finding;
use super::{PluginReport, of_line};
use crate::node::LookForVersion;
use crate::policy::Texts;
use devgate_policy::Policy;

/// Finds it in the policy's files.
pub(super) fn look(
    version: &str,
    refused_by: LookForVersion,
    texts: &Texts,
    policy: &Policy,
    reports: &mut [PluginReport],
) -> anyhow::Result<()> {
    for (file, text) in texts {
        for (line, message) in refused_by(version, text)? {
            let Some((at, report)) = of_line(policy, reports, file, line) else { continue };
            report.findings.push(Finding::error("version-refuses", Some(&at), message));
        }
    }
    Ok(())
}
