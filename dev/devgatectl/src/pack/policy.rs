//! Puts the author's policy into a component.

use super::about::without;
use super::strip::{CUSTOM_SECTION, section};
use crate::author_policy::{AuthorPolicy, SECTION};
use crate::inspect;
use anyhow::{Context, bail};
use devgate::exit;
use devgate_policy::PluginPolicy;
use devgate_runner::{Programs, Runners};
use devgate_types::load::Need;
use std::path::Path;

/// The largest file that is looked at: more is too long in any case.
const MAX_FILE: u64 = 1 << 20;

/// The component with this policy, in place of the one that it carried.
pub(super) fn put(path: &Path, component: &[u8]) -> anyhow::Result<Vec<u8>> {
    let wrong = |why: anyhow::Error| exit::with_code(exit::POLICY, format!("policy {}: {why:#}", path.display()));
    let bytes = inspect::read(path, MAX_FILE)?;
    let text = std::str::from_utf8(&bytes).ok().context("is not UTF-8").map_err(wrong)?;
    let policy = AuthorPolicy::parse(text).map_err(wrong)?;
    granted(component, policy.plugin()).map_err(wrong)?;
    let mut packed = without(component, &[SECTION])?;
    let mut contents = vec![u8::try_from(SECTION.len())?];
    contents.extend_from_slice(SECTION.as_bytes());
    contents.extend_from_slice(text.as_bytes());
    section(&mut packed, CUSTOM_SECTION, &contents)?;
    Ok(packed)
}

/// Fails where a host with that policy would not load the component.
fn granted(component: &[u8], plugin: &PluginPolicy) -> anyhow::Result<()> {
    let grants = |interface: &str| plugin.grants(interface);
    let inspection = Runners::new(Programs::beside_or_own()?, None)?.inspect(component, &plugin.limits, &grants);
    let contents = inspection.contents?;
    for import in &contents.imports {
        if let Need::Key(key) = &import.need {
            bail!("the component imports {}, which needs \"{key}:\" in it", import.name);
        }
    }
    contents.profile?;
    Ok(())
}
