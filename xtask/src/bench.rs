//! Measuring devgate.

use crate::workspace::cargo;
use crate::{components, demo};
use anyhow::Result;
use std::process::ExitCode;

/// Builds the components and the benchmark, and becomes it.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    components::build()?;
    println!("Building the benchmark (minutes the first time) …");
    let mut command = cargo();
    command
        .args(["run", "--locked", "--package", "devgate-tests", "--bin", "bench", "--"])
        .args(arguments);
    demo::become_it(&mut command)
}
