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
pub mod exit;
pub mod explain;
mod in_use;
pub mod loader;
mod logging;
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
#[cfg(test)]
mod tests;
pub mod transfer;
pub mod watching;

use cli::Command;
use node::OpenNode;

/// Runs a command of the host on the nodes that `open` opens, and says with which exit code it ends.
///
/// # Errors
/// As the command's `--help` says; [`exit::report`] shows them and has their codes.
pub fn run(command: &Command, open: OpenNode) -> anyhow::Result<u8> {
    match command {
        Command::Run(args) => run::run(args, open).map(|()| exit::OK),
        Command::Check(args) => check::check(args, open),
        Command::Pull(args) => transfer::pull(args),
        Command::Explain(args) => explain::explain(args, open),
        Command::Status(args) => status::status(args),
        Command::Reload(args) => reload::command(args),
        Command::Cleanup(args) => cleanup::cleanup(args),
        Command::State(args) => state::state(args),
        Command::Cdi(args) => cdi::cdi(args, open),
    }
}
