//! Options of `devgate simulate`.

use clap::Args;
use std::path::PathBuf;

/// What `devgate simulate --help` says last.
pub(super) const HELP: &str = "\
Examples:
  devgate simulate scenarios                              all scenarios in a folder and those beneath it
  devgate simulate scenarios/unplug.yaml -v               one, with each of its steps
  devgate simulate scenarios --components target/components

A scenario names its policy and its recorded node; docs/simulate.md has its form.

Exit codes:
  0  everything was as expected
  1  something failed at run time
  2  a scenario is wrong, or there is none
  3  a scenario's policy is wrong
  4  a scenario's node cannot be read
  5  something was not as expected; what is shown says what was there instead";

/// Options of `devgate simulate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SimulateArgs {
    /// Scenarios: YAML files, or folders of them
    #[arg(value_name = "SCENARIO", required = true)]
    pub(crate) scenarios: Vec<PathBuf>,

    /// Where the components' files are [default: what the scenario says, else beside its policy]
    #[arg(long, value_name = "DIR")]
    pub(crate) components: Option<PathBuf>,

    /// Show every step of every scenario, not only of those that fail
    #[arg(long, short)]
    pub(crate) verbose: bool,
}
