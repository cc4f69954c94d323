//! Python, by componentize-py.

use crate::{process, tools};
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Exact: what it makes depends on it.
const PACKAGE: &str = "componentize-py==0.25.1";

pub(super) fn build(folder: &Path, file: &Path) -> Result<()> {
    let mut command = Command::new(tools::from_python(PACKAGE, "componentize-py", &["--version"])?);
    // Without WASI, which this host serves with nothing behind it, and of which it refuses clocks, random numbers and sockets.
    command
        .current_dir(folder)
        .args(["-d", "../wit", "-w", "widget"])
        .args(["componentize", "--stub-wasi", "app", "-o"])
        .arg(file);
    process::run(&mut command)
}
