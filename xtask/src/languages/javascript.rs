//! JavaScript, by componentize-qjs.

use crate::process;
use crate::tools::{folder as tools, needs};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Exact: what it makes depends on it.
const PACKAGE: &str = "componentize-qjs@0.4.5";

pub(super) fn build(folder: &Path, file: &Path) -> Result<()> {
    let mut command = Command::new(ready()?);
    // Without WASI, which this host serves with nothing behind it, and of which it refuses clocks and random numbers. Not with
    // `--opt-size`, whose code uses tail calls, which are off here.
    command
        .current_dir(folder)
        .args(["--wit", "../wit", "--world", "widget"])
        .args(["--js", "widget.js", "--sync", "--stub-wasi", "-o"])
        .arg(file);
    process::run(&mut command)
}

fn ready() -> Result<PathBuf> {
    // The version is in the folder's name: the tool does not tell it.
    let folder = tools()?.join(PACKAGE);
    let program = folder.join("node_modules/.bin/componentize-qjs");
    if program.exists() {
        return Ok(program);
    }
    needs("npm", "install Node.js 20 or later")?;
    println!("Installing {PACKAGE} into {} …", folder.display());
    std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    process::run(
        Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"])
            .arg(&folder)
            .arg(PACKAGE),
    )?;
    Ok(program)
}
