//! Measuring devgate.

use crate::workspace::{WHOLE, cargo, target};
use crate::{components, demo, process};
use anyhow::Result;
use std::process::{Command, ExitCode};

/// Builds the components and the benchmark, and becomes it.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    components::build()?;
    println!("Building the benchmark (minutes the first time) …");
    // The programs, too, which it starts.
    let programs = [
        "devgate",
        "devgate-runner",
        "devgate-compile",
        "devgate-pull",
        "devgatectl",
        "bench",
    ];
    let programs = programs.iter().flat_map(|name| ["--bin", name]);
    process::run(cargo().args(["build", "--locked", WHOLE]).args(programs))?;
    let mut bench = Command::new(target()?.join("debug/bench"));
    bench.args(arguments);
    demo::become_it(&mut bench)
}
