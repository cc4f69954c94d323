//! Options of `devgatectl migrate`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What `devgatectl migrate --help` says last.
pub(super) const MIGRATE_HELP: &str = "\
Examples:
  devgatectl migrate sriovdp-config.yaml sriovdp-daemonset.yaml > policy.d/sriov.yaml
  kubectl -n gpu-operator get configmap time-slicing -o yaml | devgatectl migrate - --key a100 --output policy.d/nvidia.yaml
  devgatectl migrate generic-device-plugin.yaml --output policy.d/generic.yaml
  kubectl get configurations.akri.sh -A -o yaml | devgatectl migrate - > policy.d/akri.yaml

guests/PARITY.md says of each option what becomes of it. Look at the policy before a node does: `devgatectl check --run` on a
recording of the node.

Exit codes:
  0  all of it is in the policy
  1  a file cannot be read
  2  several configurations are in the files, of which one must be chosen
  5  something is not in the policy, which is shown with its key; or nothing was found, and no policy is written";

/// Options of `devgatectl migrate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MigrateArgs {
    /// Files with the other plugin's configuration as YAML or JSON: the configuration itself, or what it is in, such as a
    /// ConfigMap, a DaemonSet or a chart's values; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Whose configuration it is; without it, whatever is recognised
    #[arg(long, value_name = "PLUGIN", value_enum)]
    pub(crate) from: Option<Peer>,

    /// Of several configurations in a ConfigMap, the one under this key
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// A file to write the policy to, in place of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Plugins whose configuration is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Peer {
    /// The SR-IOV network device plugin
    Sriov,
    /// NVIDIA's device plugin
    Nvidia,
    /// The generic device plugin (squat)
    Generic,
    /// Mellanox's plugin for shared RDMA devices
    RdmaShared,
    /// smarter-device-manager
    Smarter,
    /// Akri's Configurations with rules of udev
    Akri,
}
