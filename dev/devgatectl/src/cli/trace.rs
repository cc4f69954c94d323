//! Options of `devgatectl trace`.

use clap::Args;
use devgate::cli::Output;
use std::path::PathBuf;

/// What `devgatectl trace --help` says last.
pub(super) const TRACE_HELP: &str = "\
Examples:
  devgatectl trace vendor.wasm --debug target/wasm32-unknown-unknown/traced/vendor.wasm 109@0x1b3f 37@0x1001
  devgate status | grep 'wasm `unreachable`' | devgatectl trace vendor.wasm --debug core.wasm -

Exit codes:
  0  each place was found
  1  a file cannot be read
  2  no place was given
  5  a place is in no function of the component, or the file with debug information is of another build";

/// Options of `devgatectl trace`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TraceArgs {
    /// The component as it runs, by the digest that `devgate status` shows
    #[arg(value_name = "FILE")]
    pub(crate) component: PathBuf,

    /// Functions and places as the trap's message has them, such as 109@0x1b3f; with - those of the text on standard input
    #[arg(value_name = "PLACE", required = true)]
    pub(crate) places: Vec<String>,

    /// The same build with names and debug information: the module that `devgatectl pack` made the component of
    #[arg(long, value_name = "FILE")]
    pub(crate) debug: Option<PathBuf>,

    /// How to show what was found
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}
