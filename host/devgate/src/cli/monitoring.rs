//! Options about being watched: those of `run`, and those of `status`.

use super::Output;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where a host answers `devgate status`, unless it is told otherwise.
pub(crate) const STATUS_SOCKET: &str = "/run/devgate/status.sock";

/// Where a running host answers questions.
#[derive(Debug, Clone, Args)]
pub struct MonitoringArgs {
    /// Answer /metrics, /healthz and /readyz here, such as 0.0.0.0:9464; on a loopback address also the page, at /
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,

    /// Answer `devgate status` on this socket: root and the host's own user only
    #[arg(long, value_name = "PATH", default_value = STATUS_SOCKET)]
    pub(crate) status_socket: PathBuf,
}

/// Which host to ask.
#[derive(Debug, Clone, Args)]
pub struct HostArgs {
    /// The socket of the host to ask
    #[arg(long, value_name = "PATH", default_value = STATUS_SOCKET)]
    pub(crate) status_socket: PathBuf,
}

/// What `devgate status --help` says last.
pub(super) const STATUS_HELP: &str = "\
Examples:
  devgate status
  devgate status --watch
  devgate status --output json | jq '.plugins[] | {name, state, reason}'
  kubectl exec -n devgate ds/devgate -- devgate status

Exit codes:
  0  all is well
  1  something failed at run time
  4  no host answers on the socket, or it may not be used
  5  not all is well: a plugin is loading or fails, a device is unhealthy, a resource is not registered (there may be no
     kubelet yet), another policy is refused, …; `NOT well` says which";

/// What `devgate reload --help` says last.
pub(super) const RELOAD_HELP: &str = "\
Examples:
  devgate reload
  devgate reload --force
  kubectl exec -n devgate ds/devgate -- devgate reload

Exit codes:
  0  it is in force, also where it means the same as before; resources that have fewer devices by it are named
  4  no host answers on the socket, or it may not be used
  5  it was refused, and what was in force goes on; what is shown says why";

/// Options of `devgate reload`.
#[derive(Debug, Clone, Args)]
pub struct ReloadArgs {
    #[command(flatten)]
    pub(crate) host: HostArgs,

    /// Put it in force even where a pod holds a device that would go or become other hardware: such a device is unhealthy from
    /// then on, and stays its pod's
    #[arg(long)]
    pub(crate) force: bool,
}

/// Options of `devgate status`.
#[derive(Debug, Clone, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub(crate) host: HostArgs,

    /// Look again every two seconds, until interrupted
    #[arg(long)]
    pub(crate) watch: bool,

    /// How to show it; with --watch, json is one line for each look
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}
