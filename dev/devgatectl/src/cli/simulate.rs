//! Options of `devgatectl simulate`.

use clap::Args;
use devgate::cli::{HEADING, Output, RegistryArgs};
use std::path::PathBuf;

/// What `devgatectl simulate --help` says last.
pub(super) const HELP: &str = "\
Examples:
  devgatectl simulate scenarios                              all scenarios in a folder and those beneath it
  devgatectl simulate scenarios/unplug.yaml -v               one, with each of its steps
  devgatectl simulate scenarios --components target/components --junit results.xml
  devgatectl simulate scenarios/unplug.yaml --trace --keep /tmp/looked-at

A scenario names its policy and its recorded node; docs/scenarios.md has its form.

Exit codes:
  0  everything was as expected
  1  something failed at run time
  2  a scenario is wrong, or there is none
  3  a scenario's policy is wrong
  4  a scenario's node cannot be read
  5  something was not as expected; what is shown says what was there instead";

/// Options of `devgatectl simulate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SimulateArgs {
    /// Scenarios: YAML files, or folders of them
    #[arg(value_name = "SCENARIO", required = true)]
    pub(crate) scenarios: Vec<PathBuf>,

    /// Where the components' files are [default: what the scenario says, else beside its policy]
    #[arg(long, value_name = "DIR")]
    pub(crate) components: Option<PathBuf>,

    /// Pull components that are not in the cache; without it no registry is asked
    #[arg(long, help_heading = HEADING)]
    pub(crate) pull: bool,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,

    /// How many are played at a time; those with short times may fail on a busy machine
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: u16,

    /// Show every step of every scenario, not only of those that fail
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Show what happened when: the steps, and what the kubelet saw of them
    #[arg(long)]
    pub(crate) trace: bool,

    /// Keep policy, node, status, log and timeline of each scenario in a folder beneath this one
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,

    /// Write the results as JUnit's XML, too
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// How to show the results
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}
