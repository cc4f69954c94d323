//! Measuring devgate.

use crate::workspace::{WHOLE, cargo, target};
use crate::{components, demo, process};
use anyhow::Result;
use std::process::{Command, ExitCode};

/// Builds the components and the benchmark, and becomes it.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    components::build()?;
    println!("Building the benchmark (minutes the first time) …");
    // The program, too, which it starts.
    let programs = ["--bin", "devgate", "--bin", "devgatectl", "--bin", "bench"];
    process::run(cargo().args(["build", "--locked", WHOLE]).args(programs))?;
    let mut bench = Command::new(target()?.join("debug/bench"));
    bench.args(arguments);
    demo::become_it(&mut bench)
}
