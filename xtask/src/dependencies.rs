//! What this project may depend on: the one-way order of its crates, no vendor by name in the host, and licence, source, pinning
//! and features of everything else.

mod features;
mod layers;
mod licence;
mod vendors;

use crate::static_binary::Machine;
use crate::workspace::{guests, host, metadata_for, root};
use anyhow::{Context, Result, bail};
use cargo_metadata::Metadata;

/// Checks both workspaces against all rules.
///
/// # Errors
/// Names everything that breaks a rule, at once.
pub(crate) fn check() -> Result<()> {
    let text = std::fs::read_to_string(root().join("deny.toml")).context("read deny.toml")?;
    let allowed = allowed_licences(&text)?;
    let platform = host()?;
    let mut problems = vendors::problems(&root(), "host")?;
    // What is released is built for another target than what is tested.
    let musl = metadata_for(&root(), Machine::here()?.musl())?;
    problems.extend(foreign(&musl, &allowed));
    for (folder, own) in [(root(), true), (guests(), false)] {
        let metadata = metadata_for(&folder, &platform)?;
        problems.extend(foreign(&metadata, &allowed));
        if own {
            problems.extend(layers::problems(&metadata));
            problems.extend(features::problems(&platform)?);
        }
        println!("{}: {} packages", folder.display(), metadata.packages.len());
    }
    problems.sort();
    problems.dedup();
    if !problems.is_empty() {
        bail!("dependencies break the rules:\n  {}", problems.join("\n  "));
    }
    Ok(())
}

/// What breaks the rules for code of others.
fn foreign(metadata: &Metadata, allowed: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in metadata.packages.iter() {
        let name = format!("{} {}", package.name, package.version);
        if let Some(source) = package.source.as_ref().filter(|source| !source.is_crates_io()) {
            problems.push(format!(
                "{name}: comes from {}, not from cargo's own registry",
                source.repr
            ));
        }
        match &package.license {
            None => problems.push(format!("{name}: states no licence")),
            Some(expression) if !licence::is_allowed(expression, allowed) => {
                problems.push(format!("{name}: licence {expression} is not on the list in deny.toml"));
            }
            Some(_) => {}
        }
    }
    problems
}

/// The list `allow` of the section `[licenses]`, so that this check and cargo-deny read the same one.
fn allowed_licences(deny: &str) -> Result<Vec<String>> {
    let section = deny
        .split("[licenses]")
        .nth(1)
        .context("deny.toml: no section [licenses]")?;
    let list = section
        .split("allow = [")
        .nth(1)
        .and_then(|rest| rest.split(']').next());
    let quoted = |line: &str| Some(line.trim().strip_prefix('"')?.split('"').next()?.to_owned());
    let licences: Vec<String> = list
        .context("deny.toml: no list `allow` in [licenses]")?
        .lines()
        .filter_map(quoted)
        .collect();
    if licences.is_empty() {
        bail!("deny.toml: the list `allow` in [licenses] has no line with a licence");
    }
    Ok(licences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_obeys_its_rules() {
        check().unwrap();
    }

    #[test]
    fn the_list_is_that_of_the_section() {
        let text = "[bans]\nallow = [\n \"x\",\n]\n[licenses]\nallow = [\n  \"MIT\", # why\n  \"ISC\",\n]\n";
        assert_eq!(allowed_licences(text).unwrap(), ["MIT", "ISC"]);
        assert!(allowed_licences("[licenses]\nallow = []").is_err());
        assert!(allowed_licences("[bans]").is_err());
    }

    #[test]
    fn licences_and_sources_of_others_are_held_against_the_rules() {
        let metadata = metadata_for(&root(), &host().unwrap()).unwrap();
        let problems = foreign(&metadata, &["Apache-2.0".to_owned()]);
        assert!(
            problems
                .iter()
                .any(|problem| problem.contains("is not on the list in deny.toml")),
            "{problems:?}"
        );
        assert!(
            !problems.iter().any(|problem| problem.starts_with("anyhow ")),
            "{problems:?}"
        );
    }
}
