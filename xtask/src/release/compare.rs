//! Whether a release is the same bytes when it is made again elsewhere.

use super::sums;
use crate::process;
use crate::static_binary::Machine;
use crate::workspace::{cargo, root, target};
use anyhow::{Result, bail};
use clap::ValueEnum;
use std::path::Path;
use std::process::Command;

/// Makes the release of the last commit from a clone in another folder, with a target folder of its own, and compares.
/// Fails when it cannot be made there, and when a file differs or is missing; each is named.
pub(super) fn with_a_clone(first: &Path, targets: &[Machine]) -> Result<()> {
    let elsewhere = tempfile::Builder::new().prefix("again-").tempdir_in(target()?)?;
    let clone = elsewhere.path().join("clone").join("devgate");
    println!("\n== again, in {} ==", clone.display());
    process::run(Command::new("git").args(["clone", "--quiet"]).arg(root()).arg(&clone))?;
    let second = elsewhere.path().join("release");
    let mut again = cargo();
    again
        .current_dir(&clone)
        .env("CARGO_TARGET_DIR", elsewhere.path().join("built"))
        .args(["xtask", "release", "--out"])
        .arg(&second);
    for machine in targets {
        let name = machine.to_possible_value();
        again.args(name.iter().flat_map(|name| ["--target", name.get_name()]));
    }
    process::run(&mut again)?;
    let different = differences(first, &second)?;
    if different.is_empty() {
        println!("Made twice, and every file has the same bytes.");
        return Ok(());
    }
    // To look at, for a maintainer who wants to know why.
    let kept = elsewhere.keep();
    bail!("made twice, and not the same bytes: {}; the second is in {}", different.join(", "), kept.display())
}

/// The files that are not in both folders with the same bytes.
fn differences(one: &Path, other: &Path) -> Result<Vec<String>> {
    let mut names = sums::files(one)?;
    names.extend(sums::files(other)?);
    names.push(sums::NAME.to_owned());
    names.sort();
    names.dedup();
    let same = |name: &String| {
        let read = |folder: &Path| std::fs::read(folder.join(name)).ok();
        matches!((read(one), read(other)), (Some(one), Some(other)) if one == other)
    };
    Ok(names.into_iter().filter(|name| !same(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_differs_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let release = |name: &str, files: &[(&str, &str)]| {
            let folder = dir.path().join(name);
            std::fs::create_dir_all(folder.join("components")).unwrap();
            for (file, text) in files {
                std::fs::write(folder.join(file), text).unwrap();
            }
            sums::write(&folder).unwrap();
            folder
        };
        let files = [("devgate", "1"), ("components/a.wasm", "2")];
        let one = release("one", &files);
        assert!(differences(&one, &release("two", &files)).unwrap().is_empty());
        let other = release("three", &[("devgate", "1"), ("components/a.wasm", "3"), ("chart.tgz", "4")]);
        assert_eq!(differences(&one, &other).unwrap(), ["SHA256SUMS", "chart.tgz", "components/a.wasm"]);
    }
}
