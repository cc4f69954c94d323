//! Options of `devgatectl call`.

use clap::{Args, ValueEnum};
use devgate::cli::Output;
use std::path::PathBuf;

/// What `devgatectl call --help` says last.
pub(super) const CALL_HELP: &str = "\
Examples:
  devgatectl call vendor.wasm enumerate --policy policy.yaml --node-root nodes/lab.umockdev
  devgatectl call vendor.wasm health --node-root nodes/lab.umockdev                by the policy that the component carries
  devgatectl call vendor.wasm allocate GPU-1 GPU-2 --policy policy.yaml --node-root nodes/lab.umockdev --output json
  devgatectl call vendor.wasm enumerate --policy policy.yaml --trace               on this machine, with each question to the host

Exit codes:
  0  the component answered, and the policy grants what it answered
  1  something failed at run time
  2  there is no such unit, resource or function
  3  the policy is wrong, or has no such plugin
  4  the node cannot be read
  5  the component is not loaded, the call failed, or what it answered is refused";

/// Options of `devgatectl call`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CallArgs {
    /// The component's file
    #[arg(value_name = "COMPONENT")]
    pub(crate) component: PathBuf,

    /// Which of its functions
    #[arg(value_name = "FUNCTION", value_enum)]
    pub(crate) function: Function,

    /// The units that it is about, by their ids [default: all of the resource; for `health` and `examine` of all resources]
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,

    /// The resource whose units are meant, as the policy offers it; not needed where ids say it, or there is one alone
    #[arg(long, value_name = "NAME")]
    pub(crate) resource: Option<String>,

    /// How many units `choose` is to choose
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) count: u32,

    /// What a claim says for the driver, as JSON, for `allocate` (`parameters`); may come again
    #[arg(long, value_name = "JSON")]
    pub(crate) claim: Vec<String>,

    /// The same of its class, which counts before
    #[arg(long, value_name = "JSON")]
    pub(crate) class: Vec<String>,

    /// The policy: a YAML file, or a directory of them; its file and digest of the component do not count here [default: on a recorded
    /// node that which the component carries]
    #[arg(long, value_name = "PATH")]
    pub(crate) policy: Option<PathBuf>,

    /// The plugin of the policy, where it has several
    #[arg(long, value_name = "NAME", requires = "policy")]
    pub(crate) plugin: Option<String>,

    /// The node's root, with sys and dev in it, or a recorded node's file
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) node_root: PathBuf,

    /// Show each question to the host, with its answer and how long that took
    #[arg(long)]
    pub(crate) trace: bool,

    /// How to show it
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// A component's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Function {
    /// All units that there are
    Enumerate,
    /// Whether units work
    Health,
    /// What a container with these units gets
    Allocate,
    /// Which units to take (`preference`)
    Choose,
    /// Make units ready for a container (`lifecycle`)
    Prepare,
    /// Undo what a container left (`lifecycle`)
    Release,
    /// What is not as it should be with units that work (`conditions`)
    Examine,
}
