//! The command line.

use clap::Parser;
use std::path::PathBuf;

const ABOUT: &str = "Speaks with the API server for devgate: publishes its devices, reads claims, tells how it is";

const LONG_ABOUT: &str = "\
Publishes devgate's devices as ResourceSlices, and reads ResourceClaims for it (Kubernetes' dynamic resource allocation).

It runs beside `devgate run`: with a token of the API server and nothing of the node, while the host has the devices and no token. \
The host connects to its socket. Only slices of this node that say that devgate wrote them are ever changed. With --events and --node-condition \
it also tells the cluster how the host is.";

/// What ends it, and how.
pub(crate) const CODES: &str = "\
Exit codes:
  0  it was asked to stop, and did
  1  something failed at run time; the message says what
  2  the command line is wrong
  4  a directory or file is missing or may not be used";

/// What was asked for.
#[derive(Debug, Parser)]
#[command(name = "devgate-agent", version, about = ABOUT, long_about = LONG_ABOUT, after_help = CODES)]
pub struct Cli {
    /// Socket for the host
    ///
    /// In a directory that only devgate's pod has. What is left there of a process before is replaced.
    #[arg(long, value_name = "PATH", default_value = "/run/devgate-agent/agent.sock")]
    pub(crate) socket: PathBuf,

    /// Name of this node, as the API server knows it
    #[arg(long, env = "NODE_NAME", value_name = "NAME")]
    pub(crate) node_name: String,

    /// Kubeconfig, outside of a pod
    ///
    /// Without it, the token and the authority that the kubelet mounts into a pod. Not one that starts a program for its token: none is
    /// started.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Publish the devices of policies with dra as ResourceSlices; without it nothing is asked about slices
    #[arg(long)]
    pub(crate) slices: bool,

    /// Tell by Events, on the node and on pods that have a device that fails, what is wrong and what is not any more
    ///
    /// At most 16 at once and two in a minute; `devgate run --tell-agent` says what. Pods are found without a right to read them.
    #[arg(long)]
    pub(crate) events: bool,

    /// Keep the node's condition DevgateHealthy, as `devgate status` ends: True where all is well
    ///
    /// Written where it changes and each ten minutes; Unknown where the host is away for a minute, and at the end.
    #[arg(long)]
    pub(crate) node_condition: bool,

    /// What to log: error, warn, info, debug, trace or off
    #[arg(long, env = "DEVGATE_LOG", value_name = "LEVEL", default_value = "info")]
    pub(crate) log: tracing_subscriber::filter::LevelFilter,
}
