//! The `devgate` program: what a node runs.
#![forbid(unsafe_code)]

use clap::Parser;
use devgate::cli::Cli;
use devgate::node::{self, Sources};
use devgate::{cdi, exit};
use devgate_runner::{Program, Programs};
use std::process::ExitCode;

/// Commands that were devgate's in 0.1 and are those of vendors and testers.
const MOVED: [&str; 8] = ["conform", "demo", "inspect", "new", "pack", "push", "record", "simulate"];

fn main() -> ExitCode {
    // Before all else: until then a process of the same user without any right can look into this one.
    if let Err(error) = devgate_confine::hide() {
        return exit::report(&exit::with_code(exit::NODE, format!("devgate: {error}")));
    }
    devgate_confine::keep_inherited();
    if let Some(code) = cdi::called() {
        return code;
    }
    if let Some(name) = std::env::args_os().nth(1)
        && let Some(name) = MOVED.into_iter().find(|moved| name == *moved)
    {
        let text =
            format!("{name}: is not a command of devgate any more; run `devgatectl {name}` with the same options");
        return exit::report(&exit::with_code(exit::USAGE, text));
    }
    let sources = Sources {
        node: node::open_live,
        programs: Programs::beside,
        puller: Program::puller,
        config: |_, _| Vec::new(),
        version: |_, _| Err(exit::with_code(exit::USAGE, "--for: is an option of devgatectl's check".to_owned())),
    };
    match devgate::run(&Cli::parse().command, sources) {
        Ok(code) => code.into(),
        Err(error) => exit::report(&error),
    }
}
