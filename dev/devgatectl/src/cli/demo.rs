//! Options of `devgatectl demo`.

use clap::Args;
use std::path::PathBuf;

pub(super) const DEMO_HELP: &str = "\
Examples:
  cargo xtask demo                  build everything, then run the demo
  devgatectl demo --components target/components";

/// Options of `devgatectl demo`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Where generic.wasm and overreach.wasm are; `cargo xtask components` makes them
    #[arg(long, value_name = "DIR", required = true)]
    pub(crate) components: PathBuf,

    /// The node's root, with sys and dev in it; or a recorded node's file
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) node_root: PathBuf,
}
