//! Options of `devgatectl dev`.

use clap::Args;
use devgate::cli::PlaceArgs;
use std::path::PathBuf;

/// What `devgatectl dev --help` says last.
pub(super) const DEV_HELP: &str = "\
Examples:
  devgatectl dev --policy policy.yaml --node-root nodes/lab.umockdev --components target/wasm32-unknown-unknown/release \\
      -- cargo build --release --target wasm32-unknown-unknown
  devgatectl dev --policy policy.yaml --node-root nodes/lab.umockdev                    something else builds it
  devgatectl dev --policy policy.yaml                                                   on this machine

Ends with Ctrl-C. Exit codes:
  1  something failed at run time
  2  the command line is wrong";

/// Options of `devgatectl dev`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DevArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// What is built from: run the command when something changes there; hidden files, `target`, `build` and `node_modules` do not count
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub(crate) watch: Vec<PathBuf>,

    /// The command that builds the component
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) build: Vec<String>,
}
