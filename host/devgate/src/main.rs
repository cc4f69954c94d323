//! The `devgate` command: reads the command line, wires the crates together, and turns errors into exit codes.
#![forbid(unsafe_code)]

mod cli;
mod demo;
mod exit;
mod loader;
mod logging;
mod policy;
mod recorded;
mod run;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let result = match cli.command {
        cli::Command::Run(args) => run::run(&args),
        cli::Command::Demo(args) => demo::demo(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error),
    }
}
