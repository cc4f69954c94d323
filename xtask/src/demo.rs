//! Showing devgate.

use crate::workspace::built;
use crate::{components, process};
use anyhow::{Result, anyhow};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// Builds the host and the components, and becomes `devgatectl demo`.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    components::build()?;
    println!("Building devgate (minutes the first time: it contains a compiler) …");
    let mut devgatectl = Command::new(built(&["devgatectl"])?.join("devgatectl"));
    devgatectl.arg("demo").arg("--components").arg(components::folder()?).args(arguments);
    become_it(&mut devgatectl)
}

/// Goes on as another program, so that signals and the exit status are its own. Returns only if it cannot be started.
pub(crate) fn become_it(command: &mut Command) -> Result<ExitCode> {
    let error = command.exec();
    Err(anyhow!(error).context(format!("start {}", process::shown(command))))
}
