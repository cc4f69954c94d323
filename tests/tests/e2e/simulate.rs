//! Scenarios: those of the components in guests/, what each step does, and what is said of scenarios that fail or are wrong.

mod everything;
mod failing;
mod reports;

use devgate_tests::{components, devgatectl};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn guests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests")
}

fn simulate(args: &[&Path]) -> anyhow::Result<Output> {
    let mut command = Command::new(devgatectl()?);
    command.arg("simulate").args(args);
    Ok(command.arg("--components").arg(components()?).output()?)
}

/// A scenario on the machine of `generic`'s example.
fn scenario(about: &str, rest: &str) -> String {
    let generic = guests().join("generic");
    let generic = generic.display();
    format!(
        "apiVersion: devgate.dev/v1alpha1\nkind: Scenario\nabout: {about}\npolicy: {generic}/policy.yaml\n\
         node: {generic}/nodes/edge.umockdev\n{rest}"
    )
}

/// The folders of one name that components have.
fn folders(name: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for guest in std::fs::read_dir(guests())? {
        let folder = guest?.path().join(name);
        if folder.is_dir() {
            folders.push(folder);
        }
    }
    folders.sort();
    assert!(!folders.is_empty());
    Ok(folders)
}

/// What every component brings to show that it does what it says.
#[test]
fn the_scenarios_of_all_components_pass() -> anyhow::Result<()> {
    let folders = folders("scenarios")?;
    let mut args: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    args.extend([Path::new("--jobs"), Path::new("2")]);
    let output = simulate(&args)?;
    let (text, wrong) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert!(output.status.success(), "{text}\n{wrong}");
    println!("{text}");
    Ok(())
}

/// Every example policy has no errors on the machines recorded beside it, with its component started once.
#[test]
fn the_policies_of_all_components_pass_their_check() -> anyhow::Result<()> {
    for folder in folders("nodes")? {
        let guest = folder.parent().unwrap_or(&folder);
        let policy = guest.join("policy.yaml");
        if !policy.is_file() {
            continue;
        }
        for node in std::fs::read_dir(&folder)? {
            let node = node?.path();
            if node.extension().is_none_or(|ext| ext != "umockdev") {
                continue;
            }
            let output = Command::new(devgatectl()?)
                .args([Path::new("check"), Path::new("--run"), Path::new("--policy"), &policy])
                .args([Path::new("--node-root"), &node, Path::new("--components"), &components()?])
                .output()?;
            let (text, wrong) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
            assert!(output.status.success(), "{}:\n{text}\n{wrong}", node.display());
        }
    }
    Ok(())
}
