//! Python, by componentize-py.

use super::{by_pip, tools};
use crate::process;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Exact: what it makes depends on it.
const PACKAGE: &str = "componentize-py==0.25.1";

pub(super) fn build(folder: &Path, file: &Path) -> Result<()> {
    let mut command = Command::new(ready()?);
    // Without WASI, which this host serves with nothing behind it, and of which it refuses clocks, random numbers and sockets.
    command
        .current_dir(folder)
        .args(["-d", "../wit", "-w", "widget"])
        .args(["componentize", "--stub-wasi", "app", "-o"])
        .arg(file);
    process::run(&mut command)
}

fn ready() -> Result<PathBuf> {
    let folder = tools()?.join("componentize-py");
    let program = folder.join("bin/componentize-py");
    let version = PACKAGE.replace("==", " ");
    if process::read(Command::new(&program).arg("--version")).is_ok_and(|said| said == version) {
        return Ok(program);
    }
    by_pip(PACKAGE, &folder)?;
    Ok(program)
}
