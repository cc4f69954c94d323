//! The command line: the commands of the host, and options that other programs of devgate share.

mod cdi;
mod cleanup;
mod look;
mod monitoring;
mod registry;
mod state;

pub use cdi::{CdiAction, CdiArgs, GenerateArgs};
pub use cleanup::CleanupArgs;
pub use look::{CheckArgs, ExplainArgs, Output, PlaceArgs};
pub(crate) use monitoring::STATUS_SOCKET;
pub use monitoring::{HostArgs, MonitoringArgs, ReloadArgs, StatusArgs};
pub use registry::{CACHE, HEADING, PullArgs, RegistryArgs};
pub use state::{StateAction, StateArgs};

use crate::exit;
use clap::{Args, Parser, Subcommand, ValueEnum};
use devgate_device_plugin::PodResourcesConfig;
use std::path::PathBuf;

const ABOUT: &str = "One host for all device plugins of a Kubernetes node";

const LONG_ABOUT: &str = "\
One host for all device plugins of a Kubernetes node.

Vendors ship the logic for their GPUs, NICs and FPGAs as WebAssembly components. devgate runs them, each in a sandbox \
that reaches only what the policy grants, checks what they return, and speaks the kubelet's device-plugin protocol for \
all of them. Pods ask for `vendor.com/device: 1`, as with any device plugin.";

/// What was asked for.
#[derive(Debug, Parser)]
#[command(name = "devgate", version, about = ABOUT, long_about = LONG_ABOUT, after_help = exit::HELP, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    /// Which of them.
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a node: run the policy's components and offer their devices to the kubelet
    ///
    /// Runs until SIGTERM or SIGINT. Waits for a kubelet that is not there yet and registers again whenever it
    /// restarts. A component that is missing, broken or asks for more than it is granted costs its own devices only;
    /// a policy that is wrong starts nothing.
    #[command(after_help = RUN_HELP)]
    Run(Box<RunArgs>),

    /// Show what a policy means on this node: what it grants and matches, what is wrong, what is dangerous
    ///
    /// Says everything that is wrong at once: components that are missing or ask for what they are not granted, grants that match
    /// nothing here or everything, plugins that claim the same hardware, and what gives power over the whole node. Looks
    /// at files and at the node, and changes nothing; no component runs without --run.
    #[command(after_help = look::CHECK_HELP)]
    Check(CheckArgs),

    /// Get a component out of a registry, checked against its digest, into a file
    ///
    /// Prints the digest to write into a policy. With --cosign-key it must have been signed by that key. Does not change what runs.
    #[command(after_help = registry::PULL_HELP)]
    Pull(PullArgs),

    /// Say why a device, node or resource is offered to the kubelet, or is not
    ///
    /// Looks at the node as `run` would, and asks each component once for its devices and their health: which key of which
    /// selector does not hold, which nodes are withheld, what of the component's answer was rejected, who has the hardware
    /// instead, and who finds it unhealthy. Where a host runs, also what that remembers and who has it. Changes nothing.
    #[command(after_help = look::EXPLAIN_HELP)]
    Explain(ExplainArgs),

    /// Show what the host that runs here does: plugins, devices, health, who has what, refusals, limits near their edge
    ///
    /// Asks the `devgate run` of this node over its local socket, which answers root and the user that it runs as. Shows what
    /// is wrong first, with the reason and since when. Changes nothing.
    #[command(after_help = monitoring::STATUS_HELP)]
    Status(StatusArgs),

    /// Have the host that runs here read its policy and components again now
    ///
    /// It does so by itself when their files change, and on SIGHUP; this waits for what becomes of it and shows it. What is wrong is
    /// refused as a whole, and what was in force goes on.
    #[command(after_help = monitoring::RELOAD_HELP)]
    Reload(ReloadArgs),

    /// Remove what devgate has left on this node, once it does not run here any more
    ///
    /// Its sockets in the kubelet's directory, its file for Node Feature Discovery, its files for Multus and for leases, its status
    /// socket; with --state also what it remembers and its cache of components. Only what is its own by name and content: no link is followed,
    /// and what others have put there stays. Refuses while a devgate runs here. May be run as often as you like.
    #[command(after_help = cleanup::HELP)]
    Cleanup(CleanupArgs),

    /// Show what is recorded of what was handed out, and decide about it by hand
    ///
    /// Each allocation has a number, and says who has which units of which resource since when. What is recorded outlives restarts and
    /// reboots; devgate finds out by itself when a pod's is over.
    #[command(after_help = state::HELP)]
    State(StateArgs),

    /// Lease devices to containers that no kubelet starts: podman, docker, containerd
    ///
    /// A runtime gets a device by a name that a file explains (CDI, the Container Device Interface). A lease is such a name, for devices
    /// that nothing else has meanwhile. Needs a host on this machine: `devgate run`, where there is no kubelet with `--no-kubelet`.
    #[command(after_help = cdi::HELP)]
    Cdi(CdiArgs),

    /// Say what a command does, or what the code of a finding means and what to do about it
    #[command(after_help = HELP_HELP)]
    Help(HelpArgs),
}

const HELP_HELP: &str = "\
Examples:
  devgate help check               a command
  devgate help component-digest    a code that `check` shows
  devgate help codes               all of them";

/// Options of `devgate help`.
#[derive(Debug, Clone, Args)]
pub struct HelpArgs {
    /// A command, or the code of a finding
    #[arg(value_name = "COMMAND|CODE")]
    pub(crate) topic: Vec<String>,
}

const RUN_HELP: &str = "\
Examples:
  devgate run --policy /etc/devgate/policy.yaml
  devgate run --policy /etc/devgate/policy.d --components /opt/devgate --log debug

Reads the policy and components again when their files change, and at once on SIGHUP; what is wrong is
refused, and what was in force goes on (docs/operate.md). The kubelet's directory is mode 0750 and owned by
root, so run needs uid 0. It needs no capability.";

/// Options of `devgate run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The policy: a YAML file, or a directory of them; may be given several times
    #[arg(long, value_name = "PATH", required = true)]
    pub(crate) policy: Vec<PathBuf>,

    /// Where the components' files are [default: beside the policy that names them]
    #[arg(long, value_name = "DIR")]
    pub(crate) components: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) kubelet: KubeletArgs,

    /// Serve no kubelet: devices are only leased (`devgate cdi`)
    #[arg(long)]
    pub(crate) no_kubelet: bool,

    /// How often to ask it, in milliseconds; what was handed out counts as given for three times as long, whichever pod is seen to
    /// have it. For tests
    #[arg(long, value_name = "MS", default_value_t = 10_000, hide = true)]
    pub(crate) pod_resources_every: u32,

    /// The node's root, with sys and dev in it; with devgatectl also a recorded node's file
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) node_root: PathBuf,

    /// Where to keep what was handed out across restarts and reboots; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "/var/lib/devgate")]
    pub(crate) state_dir: PathBuf,

    /// Where another devgate serves from the same state directory, have it hand over once this one would do as well, and serve in its
    /// place; without, wait until it ends. For rollouts that start the next pod before they end the last (docs/install.md)
    #[arg(long, value_name = "IF", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "as-many")]
    pub(crate) take_over: Option<TakeOver>,

    /// Where to tell a meta network plugin (Multus) which PCI function is behind an id, for plugins with device-info; made
    /// with the first file
    #[arg(long, value_name = "DIR", default_value = "/var/run/k8s.cni.cncf.io/devinfo/dp")]
    pub(crate) device_info_dir: PathBuf,

    /// What the kubelet is told of a device that a pod gets; names in files need a runtime that reads them (docs/cdi.md)
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Edits::Reply, conflicts_with = "no_kubelet")]
    pub(crate) edits: Edits,

    /// Where container runtimes read what devices are, for leases (`devgate cdi`), claims and --edits cdi; made with the first of them
    #[arg(long, value_name = "DIR", default_value = devgate_cdi::DEFAULT_DIR)]
    pub(crate) cdi_dir: PathBuf,

    /// The kubelet's directory of plugins, for policies with dra; by the path that it has for the kubelet
    #[arg(long, value_name = "DIR", default_value = "/var/lib/kubelet/plugins_registry")]
    pub(crate) plugins_registry_dir: PathBuf,

    /// Have `devgate-agent` tell the cluster how this host is, by Events and a condition of its node (docs/operate.md)
    #[arg(long, conflicts_with = "no_kubelet")]
    pub(crate) tell_agent: bool,

    /// The socket of `devgate-agent`, which speaks with the API server, for policies with dra and --tell-agent
    #[arg(long, value_name = "PATH", default_value = "/run/devgate-agent/agent.sock")]
    pub(crate) agent_socket: PathBuf,

    /// Where Node Feature Discovery reads files, for plugins with labels; made with the first file
    #[arg(long, value_name = "DIR", default_value = devgate_core::labels::DEFAULT_DIR)]
    pub(crate) nfd_dir: PathBuf,

    /// Run only what is in the cache or in files; ask no registry
    #[arg(long, help_heading = HEADING)]
    pub(crate) no_pull: bool,

    #[command(flatten)]
    pub(crate) registry: RegistryArgs,

    #[command(flatten)]
    pub(crate) monitoring: MonitoringArgs,

    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// Whether to run where the kernel has no Landlock, or a filter of the container or the service forbids it. Filters of system calls
    /// are required in any case (docs/confinement.md)
    #[arg(long, value_name = "NEED", value_enum, default_value_t = Need::Available)]
    pub(crate) landlock: Need,
}

/// When a host takes over from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TakeOver {
    /// No plugin that works would fail, and no device that can be allocated would go
    AsMany,
    /// No plugin that works would fail
    Fewer,
}

/// What is needed of a fence that not every kernel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Need {
    /// Without it nothing is served
    Required,
    /// It is used where it is there
    Available,
}

/// What the kubelet is told of a device that a pod gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Edits {
    /// What a container needs: nodes, mounts, variables. It is so for as long as the pod lives
    Reply,
    /// A name, which stands in a file that the runtime reads at each start, with the nodes of that time
    Cdi,
}

/// Where the kubelet of the node is.
#[derive(Debug, Clone, Args)]
pub struct KubeletArgs {
    /// The kubelet's directory of device plugins, with its socket, theirs, and its record of what pods have
    #[arg(long, value_name = "DIR", default_value = "/var/lib/kubelet/device-plugins")]
    pub(crate) kubelet_dir: PathBuf,

    /// The kubelet's directory with the socket that tells which pods have which devices
    #[arg(long, value_name = "DIR", default_value = "/var/lib/kubelet/pod-resources")]
    pub(crate) pod_resources_dir: PathBuf,
}

impl KubeletArgs {
    /// How to ask it which pods have which devices.
    pub(crate) fn pod_resources(&self) -> PodResourcesConfig {
        PodResourcesConfig::new(self.pod_resources_dir.clone(), self.kubelet_dir.clone())
    }
}

/// How to log.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// What to log: error, warn, info, debug, trace; or a filter such as info,component=debug
    #[arg(long, value_name = "FILTER", env = "DEVGATE_LOG", default_value = "info")]
    pub(crate) log: String,

    /// How to write the log
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Auto)]
    pub(crate) log_format: LogFormat,

    /// A file for who got what, what was refused and what was written, as JSON lines; opened anew at SIGHUP, as logrotate wants it
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,

    /// Write to the audit log, and to no other, when a container is seen to have a device and when it is not any more
    #[arg(long, requires = "audit_log")]
    pub(crate) audit_pods: bool,
}

/// Forms of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise
    Auto,
    /// One line of text for each event
    Text,
    /// One JSON object for each event
    Json,
}
