//! The `devgate-agent` program.
#![forbid(unsafe_code)]

use clap::Parser;
use devgate_agent::{Cli, report, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}
