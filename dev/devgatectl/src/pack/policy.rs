//! Puts the author's policy into a component.

use super::about::without;
use super::strip::{CUSTOM_SECTION, section};
use crate::author_policy::{AuthorPolicy, SECTION};
use crate::inspect::{self, not_run};
use anyhow::{Context, bail};
use devgate::exit;
use std::path::Path;

/// The largest file that is looked at: more is too long in any case.
const MAX_FILE: u64 = 1 << 20;

/// The component with this policy, in place of the one that it carried.
pub(super) fn put(path: &Path, component: &[u8]) -> anyhow::Result<Vec<u8>> {
    let wrong = |why: anyhow::Error| exit::with_code(exit::POLICY, format!("policy {}: {why:#}", path.display()));
    let bytes = inspect::read(path, MAX_FILE)?;
    let text = std::str::from_utf8(&bytes).ok().context("is not UTF-8").map_err(wrong)?;
    let policy = read(text, component).map_err(wrong)?;
    let mut packed = without(component, &[SECTION])?;
    let mut contents = vec![u8::try_from(SECTION.len())?];
    contents.extend_from_slice(SECTION.as_bytes());
    contents.extend_from_slice(policy.text().as_bytes());
    section(&mut packed, CUSTOM_SECTION, &contents)?;
    Ok(packed)
}

/// A policy with which a host would load the component.
fn read(text: &str, component: &[u8]) -> anyhow::Result<AuthorPolicy> {
    let policy = AuthorPolicy::parse(text)?;
    match not_run(component, policy.plugin())? {
        None => Ok(policy),
        Some(why) => bail!("with it no host would load the component: {why}"),
    }
}
