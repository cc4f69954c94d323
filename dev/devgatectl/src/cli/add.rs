//! Options of `devgatectl add` and `upgrade`.

use clap::Args;
use devgate::cli::RegistryArgs;
use std::path::PathBuf;

/// What `devgatectl add --help` says last.
pub(super) const ADD_HELP: &str = "\
Examples:
  devgatectl add oci:registry.example.com/vendor/gpu:1.2 --policy policy.d
  devgatectl add oci:registry.example.com/vendor/gpu:1.2 --policy policy.d --cosign-key vendor.pem
  devgatectl add vendor.wasm --policy policy.d                    the file is to lie beside the policy, or in --components DIR

Exit codes:
  0  the plugin is in the policy
  1  the registry cannot be asked, or a file cannot be read or written
  2  the command line is wrong
  3  the policy would be wrong; nothing was written
  5  no host could run the component, none of the keys has signed it, or the plugin is there already; nothing was written
  10 it was not confirmed; nothing was written";

/// What `devgatectl upgrade --help` says last.
pub(super) const UPGRADE_HELP: &str = "\
Examples:
  devgatectl upgrade gpus --policy policy.d                                  what its tag names now
  devgatectl upgrade gpus oci:registry.example.com/vendor/gpu:1.3 --policy policy.d --nodes nodes
  devgatectl upgrade gpus --policy policy.d --yes                            without a question; for `file`, the file as it is now

Exit codes:
  0   the policy names the other component, or did already
  1   the registry cannot be asked, or a file cannot be read or written
  2   the command line is wrong
  3   the policy is wrong, or has no such plugin
  4   a recorded node cannot be read
  5   no host could run it with what the policy grants, or it is not signed; nothing was written
  10  it was not confirmed; nothing was written";

/// Options of `devgatectl add`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AddArgs {
    /// The component: oci: and a reference, or a file
    #[arg(value_name = "COMPONENT")]
    pub(crate) component: PathBuf,

    /// The directory of the policy, where a file for the plugin is written; made where it is not there
    #[arg(long, value_name = "DIR", default_value = "/etc/devgate/policy.d")]
    pub(crate) policy: PathBuf,

    /// A public key that must have signed it, which the policy then asks for, too; copied beside the policy; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) cosign_key: Vec<PathBuf>,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// Options of `devgatectl upgrade`.
#[derive(Debug, Clone, Args)]
pub(crate) struct UpgradeArgs {
    /// The plugin, by its name in the policy
    #[arg(value_name = "PLUGIN")]
    pub(crate) plugin: String,

    /// The other component: oci: and a reference [default: what the tag in the policy names now, or the file as it is now]
    #[arg(value_name = "COMPONENT")]
    pub(crate) component: Option<PathBuf>,

    /// The policy: a directory of YAML files, or a file
    #[arg(long, value_name = "PATH", default_value = "/etc/devgate/policy.d")]
    pub(crate) policy: PathBuf,

    /// Where components are that are files [default: beside the policy that names them]
    #[arg(long, value_name = "DIR")]
    pub(crate) components: Option<PathBuf>,

    /// Recorded nodes on which to say what changes, as `plan` does
    #[arg(long, value_name = "PATH")]
    pub(crate) nodes: Vec<PathBuf>,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}
