//! Spelling, by `typos`.

use super::Outcome;
use crate::process;
use crate::workspace::{root, target};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// As a Python package it is there in seconds; compiling it takes minutes.
const PACKAGE: &str = "typos==1.52.0";

pub(super) fn check() -> Result<Outcome> {
    let program = match found() {
        Some(program) => program,
        None => match install() {
            Ok(program) => program,
            Err(error) => {
                return Ok(Outcome::Skipped(format!("typos is not installed, and not by pip either: {error:#}")));
            }
        },
    };
    process::run(Command::new(program).current_dir(root()))?;
    Ok(Outcome::Passed)
}

fn environment() -> Result<PathBuf> {
    Ok(target()?.join("tools/python"))
}

/// The one on the path, or the one that was installed before.
fn found() -> Option<PathBuf> {
    let candidates = [Some(PathBuf::from("typos")), environment().ok().map(|folder| folder.join("bin/typos"))];
    candidates.into_iter().flatten().find(|program| process::answers(Command::new(program).arg("--version")))
}

/// Installs it beside what is built, for this alone.
fn install() -> Result<PathBuf> {
    let folder = environment()?;
    println!("Installing {PACKAGE} into {} …", folder.display());
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    process::run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", PACKAGE]))?;
    found().context("it was installed and does not start")
}
