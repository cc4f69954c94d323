//! Options of `devgatectl conform`.

use clap::Args;
use devgate::cli::{Output, PlaceArgs};
use std::path::PathBuf;

/// What `devgatectl conform --help` says last.
pub(super) const CONFORM_HELP: &str = "\
Examples:
  devgatectl conform --policy policy.yaml --node-root nodes/mi300x.umockdev
  devgatectl conform --policy policy.yaml --node-root node.umockdev --only garbage             one group
  devgatectl conform --policy policy.yaml --node-root node.umockdev --only unplug.enumerate    one check
  devgatectl conform --policy policy.yaml --node-root node.umockdev --junit conform.xml        in a pipeline
  devgatectl conform --policy policy.yaml --node-root node.umockdev --attest vendor.key        and signed, for `push --attest`

docs/components.md says what each group tries; a failure says what to do about it.

Exit codes:
  0  every check passed, or was skipped for a reason that is shown
  1  something failed at run time
  3  the policy is wrong, or has no such plugin
  4  the node cannot be read, or is not a recorded one
  5  a check failed";

/// Options of `devgatectl conform`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConformArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// The plugin whose component is tested [default: each of the policy's]
    #[arg(long, value_name = "NAME")]
    pub(crate) plugin: Option<String>,

    /// Only one group of checks, or one check
    #[arg(long, value_name = "ID")]
    pub(crate) only: Option<String>,

    /// Write the results there as well, as JUnit's XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Sign what came of it with this private key in PEM, which is not encrypted, as a statement of in-toto; `push --attest` puts it beside
    /// the component
    #[arg(long, value_name = "KEY", conflicts_with = "only")]
    pub(crate) attest: Option<PathBuf>,

    /// Where to write the statement: an envelope of DSSE for each plugin, one a line; what is there is replaced
    #[arg(long, value_name = "FILE", default_value = "conform.intoto.jsonl")]
    pub(crate) attest_out: PathBuf,

    /// How to show it
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}
