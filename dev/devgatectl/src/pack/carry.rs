//! What an author puts into a component for those who use it: a policy, the schema of its `config`, and what it can do without.

use super::about::without;
use super::strip::{CUSTOM_SECTION, section};
use crate::author_policy::{self, AuthorPolicy};
use crate::config_schema::{self, ConfigSchema};
use crate::inspect::{self, not_run};
use anyhow::{Context, bail};
use devgate::exit;
use devgate_types::escape;
use devgate_types::load::OPTIONAL_SECTION;
use std::path::Path;

/// The largest file that is looked at: more is too long in any case.
const MAX_FILE: u64 = 1 << 20;

/// The component with this policy, in place of the one that it carried.
pub(super) fn policy(path: &Path, component: &[u8]) -> anyhow::Result<Vec<u8>> {
    let wrong = |why: anyhow::Error| exit::with_code(exit::POLICY, format!("policy {}: {why:#}", path.display()));
    let bytes = inspect::read(path, MAX_FILE)?;
    let text = std::str::from_utf8(&bytes).ok().context("is not UTF-8").map_err(wrong)?;
    let policy = loads(text, component).map_err(wrong)?;
    with(component, author_policy::SECTION, policy.text())
}

/// The component with this schema, in place of the one that it carried.
pub(super) fn config_schema(path: &Path, component: &[u8]) -> anyhow::Result<Vec<u8>> {
    let wrong = |why: anyhow::Error| {
        exit::with_code(exit::FOUND, format!("config schema {}: {why:#}; nothing was written", path.display()))
    };
    let bytes = inspect::read(path, MAX_FILE)?;
    let text = std::str::from_utf8(&bytes).ok().context("is not UTF-8").map_err(wrong)?;
    let schema = ConfigSchema::parse(text).map_err(wrong)?;
    with(component, config_schema::SECTION, schema.text())
}

/// The component with these interfaces as what it can do without, in place of those that it named.
///
/// # Errors
/// Where one of them is none that it imports and a policy grants.
pub(super) fn optional(interfaces: &[String], component: &[u8]) -> anyhow::Result<Vec<u8>> {
    let bare = without(component, &[OPTIONAL_SECTION])?;
    let granted = inspect::of(Path::new("component"), &bare)?.granted();
    let named: Vec<&str> = interfaces.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
    if let Some(other) = named.iter().find(|name| !granted.iter().any(|granted| granted == *name)) {
        let granted = if granted.is_empty() { "nothing".to_owned() } else { granted.join(", ") };
        bail!(
            "--optional {}: is nothing that it imports and a policy grants, which is {granted}; nothing was written",
            escape(other, 80)
        );
    }
    if named.is_empty() {
        return Ok(bare);
    }
    with(&bare, OPTIONAL_SECTION, &named.join("\n"))
}

/// Fails where a component's author would start admins from a `config` that is not as its own schema says.
pub(super) fn fit(component: &[u8]) -> anyhow::Result<()> {
    let Ok(Some(policy)) = AuthorPolicy::of(component) else { return Ok(()) };
    let problems = config_schema::look(component, &policy.plugin().config);
    if problems.is_empty() {
        return Ok(());
    }
    let lines: String = problems.iter().map(|problem| format!("\n  {problem}")).collect();
    let message = format!("the author's policy is not as the schema of its config says; nothing was written:{lines}");
    Err(exit::with_code(exit::POLICY, message))
}

/// A policy with which a host would load the component.
fn loads(text: &str, component: &[u8]) -> anyhow::Result<AuthorPolicy> {
    let policy = AuthorPolicy::parse(text)?;
    match not_run(component, policy.plugin())? {
        None => Ok(policy),
        Some(why) => bail!("with it no host would load the component: {why}"),
    }
}

fn with(component: &[u8], name: &str, text: &str) -> anyhow::Result<Vec<u8>> {
    let mut packed = without(component, &[name])?;
    let mut contents = vec![u8::try_from(name.len())?];
    contents.extend_from_slice(name.as_bytes());
    contents.extend_from_slice(text.as_bytes());
    section(&mut packed, CUSTOM_SECTION, &contents)?;
    Ok(packed)
}
