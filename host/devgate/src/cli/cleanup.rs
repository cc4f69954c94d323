//! Options of `devgate cleanup`.

use super::monitoring::STATUS_SOCKET;
use super::{KubeletArgs, Output};
use clap::Args;
use std::path::PathBuf;

/// What `devgate cleanup --help` says last.
pub(super) const HELP: &str = "\
Examples:
  devgate cleanup --dry-run            what would be removed
  devgate cleanup                      after devgate has ended on this node
  devgate cleanup --state              for good: also what was handed out, and the cache of components

What the kubelet keeps: five minutes after devgate has ended the node shows its resources as 0, and goes on to.
It is the API server's, which devgate does not talk to; take each away with
  kubectl patch node NODE --subresource=status --type=json -p '[{\"op\":\"remove\",\"path\":\"/status/capacity/vendor.com~1gpu\"}]'

Exit codes:
  0  it is gone, or there was nothing
  1  something failed at run time
  4  something is still there that could not be looked at or removed; what is shown says why
  5  refused: a devgate runs here, pods have devices of it (with --state), or the state directory is not one; nothing was removed";

/// Options of `devgate cleanup`.
#[derive(Debug, Clone, Args)]
pub struct CleanupArgs {
    /// In its directory of device plugins devgate's own sockets go, where no process answers; what pods have of devgate keeps the state.
    #[command(flatten)]
    pub(crate) kubelet: KubeletArgs,

    /// The kubelet's directory of plugins: sockets of devgate's drivers go, where no process answers, and none of other drivers
    #[arg(long, value_name = "DIR", default_value = "/var/lib/kubelet/plugins_registry")]
    pub(crate) plugins_registry_dir: PathBuf,

    /// Where Node Feature Discovery reads files: devgate's own goes, and with it its labels of the node
    #[arg(long, value_name = "DIR", default_value = devgate_core::labels::DEFAULT_DIR)]
    pub(crate) nfd_dir: PathBuf,

    /// Where a meta network plugin (Multus) is told of functions: the files go that the state directory says are devgate's
    #[arg(long, value_name = "DIR", default_value = "/var/run/k8s.cni.cncf.io/devinfo/dp")]
    pub(crate) device_info_dir: PathBuf,

    /// Where container runtimes read what leased devices are: the files that the state directory says are devgate's go, so that no
    /// container gets what nothing looks after; a devgate that comes back writes them again
    #[arg(long, value_name = "DIR", default_value = devgate_cdi::DEFAULT_DIR)]
    pub(crate) cdi_dir: PathBuf,

    /// Where devgate keeps what was handed out; stays, unless --state is given
    #[arg(long, value_name = "DIR", default_value = "/var/lib/devgate")]
    pub(crate) state_dir: PathBuf,

    /// The socket of the host that must not run any more; goes, where no process answers
    #[arg(long, value_name = "PATH", default_value = STATUS_SOCKET)]
    pub(crate) status_socket: PathBuf,

    /// Remove the state directory, too: what was handed out, health, what components remember, and the cache of components. A
    /// devgate that comes back does not know then which devices running pods have had
    #[arg(long)]
    pub(crate) state: bool,

    /// With --state: also while the kubelet shows devices of devgate with pods. A devgate that comes back may give them to others, while
    /// those pods have them
    #[arg(long, requires = "state")]
    pub(crate) even_if_in_use: bool,

    /// Remove nothing, and show what would be
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// How to show it
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}
