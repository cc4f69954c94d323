//! The `devgate` command: reads the command line, wires the crates together, and turns errors into exit codes.
#![forbid(unsafe_code)]

mod audit;
mod check;
mod cleanup;
mod cli;
mod components;
mod conform;
mod demo;
mod exit;
mod explain;
mod inspect;
mod junit;
mod loader;
mod logging;
#[cfg(test)]
mod manual;
mod new;
mod output;
mod pack;
mod policy;
mod progress;
mod record;
mod recorded;
mod reload;
mod run;
mod said;
mod service;
mod simulate;
mod stage;
mod status;
mod transfer;
mod watching;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let done = |()| exit::OK;
    let result = match cli.command {
        cli::Command::Run(args) => run::run(&args).map(done),
        cli::Command::Demo(args) => demo::demo(&args).map(done),
        cli::Command::Simulate(args) => simulate::simulate(&args),
        cli::Command::Check(args) => check::check(&args),
        cli::Command::New(args) => new::new(&args).map(done),
        cli::Command::Inspect(args) => inspect::inspect(&args),
        cli::Command::Record(args) => record::record(&args),
        cli::Command::Pack(args) => pack::pack(&args),
        cli::Command::Pull(args) => transfer::pull(&args),
        cli::Command::Push(args) => transfer::push(&args),
        cli::Command::Conform(args) => conform::conform(&args),
        cli::Command::Explain(args) => explain::explain(&args),
        cli::Command::Status(args) => status::status(&args),
        cli::Command::Reload(args) => reload::command(&args),
        cli::Command::Cleanup(args) => cleanup::cleanup(&args),
    };
    match result {
        Ok(code) => code.into(),
        Err(error) => exit::report(&error),
    }
}
