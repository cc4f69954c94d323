//! What this project may depend on: the one-way order of its crates and of core's modules, no vendor by name in the host, one set of features, what is
//! linked into which program; and what
//! deny.toml says of everybody else's code, which cargo-deny holds against licences, sources and pinning.

mod features;
mod layers;
mod linked;
mod modules;
mod page;
mod vendors;

use crate::process;
use crate::workspace::{WASM, guests, host, metadata, root};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// Checks the rules for the project's own code. The error names everything that breaks a rule, at once.
pub(crate) fn check() -> Result<()> {
    let platform = host()?;
    let mut problems = vendors::problems(&root(), "host")?;
    problems.extend(layers::problems(&metadata(&root())?));
    problems.extend(modules::problems(&root())?);
    problems.extend(features::problems(&platform)?);
    problems.extend(linked::problems(&platform)?);
    problems.extend(page::problems(&root())?);
    problems.sort();
    problems.dedup();
    if !problems.is_empty() {
        bail!("dependencies break the rules:\n  {}", problems.join("\n  "));
    }
    Ok(())
}

/// Has cargo-deny check both workspaces, and what is known of their vulnerabilities where its database can be reached.
/// Fails where something breaks a rule of deny.toml, which cargo-deny has said.
pub(crate) fn deny(program: &Path) -> Result<()> {
    let asked = |folder: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(folder).arg("--locked").args(arguments);
        command
    };
    let mut checks = vec!["check", "--hide-inclusion-graph", "bans", "licenses", "sources"];
    if process::answers(&mut asked(&root(), &["fetch", "db"])) {
        checks.push("advisories");
    } else {
        println!("known vulnerabilities were not checked: their database cannot be reached");
    }
    // Components are for another machine than their tests.
    let components = ["--target", WASM];
    for (folder, of) in [(root(), &[][..]), (guests(), &[]), (guests(), &components)] {
        process::run(&mut asked(&folder, &[of, &checks].concat()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_obeys_its_rules() {
        check().unwrap();
    }
}
