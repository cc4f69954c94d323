//! The programs of `tests` that run devgate for minutes or hours: the benchmark, and the kubelet from hell.

use crate::workspace::{WHOLE, cargo, target};
use crate::{components, demo, process};
use anyhow::Result;
use std::process::{Command, ExitCode};

/// What they start.
const STARTED: [&str; 5] = [
    "devgate",
    "devgate-runner",
    "devgate-compile",
    "devgate-pull",
    "devgatectl",
];

/// Builds the components, the programs and this one of `tests`, and becomes it.
pub(crate) fn run(name: &str, arguments: &[String]) -> Result<ExitCode> {
    components::build()?;
    println!("Building {name} (minutes the first time) …");
    let programs = STARTED.iter().chain([&name]).flat_map(|name| ["--bin", name]);
    process::run(cargo().args(["build", "--locked", WHOLE]).args(programs))?;
    let mut harness = Command::new(target()?.join("debug").join(name));
    harness.args(arguments);
    demo::become_it(&mut harness)
}
