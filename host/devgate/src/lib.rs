//! The host of a node and what looks at it: the commands of `devgate`, which `devgatectl` has, too.
//!
//! Reads the command line, wires the crates together, and turns errors into exit codes.
#![forbid(unsafe_code)]

mod audit;
pub mod cdi;
mod check;
mod cleanup;
pub mod cli;
pub mod components;
mod confinement;
pub mod exit;
pub mod explain;
mod handover;
pub mod help;
mod in_use;
pub mod loader;
mod logging;
pub mod monitoring;
pub mod node;
pub mod output;
pub mod policy;
pub mod progress;
mod reload;
mod run;
mod service;
mod state;
pub mod status;
mod survey;
pub mod transfer;

pub use devgate_confine::keep_inherited;

use clap::CommandFactory;
use cli::Command;
use node::Sources;

/// Runs a command of the host with these sources, and says with which exit code it ends. [`exit::report`] shows its errors and has their
/// codes.
pub fn run(command: &Command, sources: Sources) -> anyhow::Result<u8> {
    match command {
        Command::Run(args) => run::run(args, sources).map(|()| exit::OK),
        Command::Check(args) => check::check(args, sources),
        Command::Pull(args) => transfer::pull(args, sources),
        Command::Explain(args) => explain::explain(args, sources),
        Command::Status(args) => status::status(args),
        Command::Reload(args) => reload::command(args),
        Command::Cleanup(args) => cleanup::cleanup(args),
        Command::State(args) => state::state(args),
        Command::Cdi(args) => cdi::cdi(args, sources),
        Command::Help(args) => help::help(args, cli::Cli::command(), &help::codes()),
    }
}
