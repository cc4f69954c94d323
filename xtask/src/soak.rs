//! Hours of the kubelet from hell.

use crate::workspace::{WHOLE, cargo, target};
use crate::{components, demo, process};
use anyhow::Result;
use std::process::{Command, ExitCode};

/// Builds the components, the program and the harness, and becomes it.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    components::build()?;
    println!("Building the harness (minutes the first time) …");
    let programs = [
        "devgate",
        "devgate-runner",
        "devgate-compile",
        "devgate-pull",
        "devgatectl",
        "soak",
    ];
    let programs = programs.iter().flat_map(|name| ["--bin", name]);
    process::run(cargo().args(["build", "--locked", WHOLE]).args(programs))?;
    let mut soak = Command::new(target()?.join("debug/soak"));
    soak.args(arguments);
    demo::become_it(&mut soak)
}
