//! Scenarios: those of the components in guests/, and what is said of scenarios that fail or are wrong.

use devgate_tests::{components, devgate};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn guests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests")
}

fn simulate(args: &[&Path]) -> anyhow::Result<Output> {
    let mut command = Command::new(devgate()?);
    command.arg("simulate").args(args);
    Ok(command.arg("--components").arg(components()?).output()?)
}

/// What every component brings to show that it does what it says.
#[test]
fn the_scenarios_of_all_components_pass() -> anyhow::Result<()> {
    let mut folders = Vec::new();
    for guest in std::fs::read_dir(guests())? {
        let folder = guest?.path().join("scenarios");
        if folder.is_dir() {
            folders.push(folder);
        }
    }
    assert!(!folders.is_empty());
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let output = simulate(&folders)?;
    let (text, wrong) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert!(output.status.success(), "{text}\n{wrong}");
    println!("{text}");
    Ok(())
}
