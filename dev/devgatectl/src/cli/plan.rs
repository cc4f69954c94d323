//! Options of `devgatectl plan`.

use clap::{Args, ValueEnum};
use devgate::cli::{HEADING, RegistryArgs};
use std::path::PathBuf;

/// What `devgatectl plan --help` says last.
pub(super) const PLAN_HELP: &str = "\
Examples:
  devgatectl plan policy.d new-policy.d --nodes nodes
  devgatectl plan old.yaml new.yaml --nodes nodes --components target/components
  devgatectl plan old.yaml new.yaml --nodes nodes --output markdown >> \"$GITHUB_STEP_SUMMARY\"

A node's kind is recorded by `devgatectl record --policy FILE --no-redact -o nodes/NAME.umockdev`; what is held there is
what `devgate state list --output json` prints on it, as nodes/NAME.held.json.

Exit codes:
  0   nothing changes
  1   something failed at run time
  3   one of the policies is wrong
  4   a recording cannot be read, or there is none, or a component of the old policy is not there
  5   a device that is held would go or be another, or a plugin would fail that does not now
  10  something else changes";

/// Options of `devgatectl plan`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArgs {
    /// The policy that is in force: a YAML file, or a directory of them
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,

    /// The policy that is to be
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    /// Recorded nodes, one for each kind: files, or folders of files that end with .umockdev or .umockdev.gz
    #[arg(long, value_name = "PATH", required = true)]
    pub(crate) nodes: Vec<PathBuf>,

    /// Where the components' files are [default: beside the policy that names them]
    #[arg(long, value_name = "DIR")]
    pub(crate) components: Option<PathBuf>,

    /// Where those of the old policy are, if elsewhere
    #[arg(long, value_name = "DIR")]
    pub(crate) old_components: Option<PathBuf>,

    /// Pull components that are not in the cache; without it no registry is asked
    #[arg(long, help_heading = HEADING)]
    pub(crate) pull: bool,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,

    /// How to show it
    #[arg(long, value_name = "FORM", value_enum, default_value_t = PlanOutput::Text)]
    pub(crate) output: PlanOutput,
}

/// Forms of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanOutput {
    /// For people
    Text,
    /// For a pull request
    Markdown,
    /// One JSON object; docs/devgatectl.md has its fields
    Json,
}
