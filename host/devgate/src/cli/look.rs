//! Options of the commands that look and change nothing: `explain`, `check`.

use super::monitoring::STATUS_SOCKET;
use super::{HEADING, RegistryArgs};
use crate::output;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Where image and package have the policy.
const POLICY: &str = "/etc/devgate/policy.d";

/// Where image and package have components.
const COMPONENTS: [&str; 2] = ["/components", "/usr/share/devgate/components"];

/// What `devgate explain --help` says last.
pub(super) const EXPLAIN_HELP: &str = "\
Examples:
  devgate explain example.com/gpu --policy policy.yaml      a resource
  devgate explain pci/0000:3b:00.0 --policy policy.yaml     a kernel device, by subsystem and name or by name alone
  devgate explain /dev/acme0 --policy policy.yaml           a node
  devgate explain GPU-1234 --policy policy.yaml             a unit's id, as the kubelet knows it
  kubectl -n devgate exec POD -- devgate explain /dev/acme0    in a cluster, by the policy that is in force there

Exit codes:
  0  it is offered and can be allocated
  1  something failed at run time
  3  the policy is wrong
  4  the node cannot be read
  5  it is not offered, or unhealthy, or not known here; what is shown says why";

/// Options of `devgate explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// A resource, a kernel device, a node in /dev, or a unit's id
    #[arg(value_name = "WHAT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) what: String,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// The socket of the host that runs on the node: what it has against a device, such as what it remembers of one, is shown as well
    /// [default: on the node itself /run/devgate/status.sock]
    #[arg(long, value_name = "PATH")]
    status_socket: Option<PathBuf>,

    /// How to show it
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

impl ExplainArgs {
    /// The socket to ask; none for another node than this one, unless it is named.
    pub(crate) fn running(&self) -> Option<PathBuf> {
        let here = self.place.node_root.as_os_str() == "/";
        let usual = || here.then(|| PathBuf::from(STATUS_SOCKET));
        self.status_socket.clone().or_else(usual)
    }
}

/// Which policy, on which node.
#[derive(Debug, Clone, Args)]
pub struct PlaceArgs {
    /// The policy: a YAML file, or a directory of them; may be given several times
    #[arg(long, value_name = "PATH", default_value = POLICY)]
    pub policy: Vec<PathBuf>,

    /// Where the components' files are [default: beside the policy that names them; of the default policy where image and package have
    /// them]
    #[arg(long, value_name = "DIR")]
    components: Option<PathBuf>,

    /// The node's root, with sys and dev in it; with devgatectl also a recorded node's file
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub node_root: PathBuf,

    /// Pull components that are not in the cache; without it no registry is asked
    #[arg(long, help_heading = HEADING)]
    pub pull: bool,

    /// Where components come from that are no files.
    #[command(flatten)]
    pub registry: RegistryArgs,
}

impl PlaceArgs {
    /// The directory with the components' files; nothing where each is beside the policy that names it.
    pub fn components(&self) -> Option<PathBuf> {
        let is_default = self.policy.iter().all(|policy| policy.as_os_str() == POLICY);
        let usual = || COMPONENTS.into_iter().map(PathBuf::from).find(|dir| dir.is_dir());
        self.components.clone().or_else(|| is_default.then(usual).flatten())
    }

    /// The options that say the same to another command, as a shell takes them.
    pub fn options(&self) -> String {
        let policies = self.policy.iter().filter(|policy| policy.as_os_str() != POLICY);
        let named = policies.map(|policy| ("--policy", policy));
        let node = Some(&self.node_root).filter(|root| root.as_os_str() != "/");
        let named = named.chain(node.map(|node| ("--node-root", node)));
        let named = named.chain(self.components.iter().map(|dir| ("--components", dir)));
        named.map(|(option, path)| format!(" {option} {}", output::quoted(path))).collect()
    }
}

/// Forms of what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    #[value(alias = "table")]
    Text,
    /// One JSON object; docs/devgatectl.md has its fields
    Json,
}

/// What `devgate check --help` says last.
pub(super) const CHECK_HELP: &str = "\
Examples:
  devgate check --policy policy.yaml                                this node
  devgatectl check --policy policy.d --node-root recorded.umockdev     a recorded one, anywhere
  devgatectl check --policy policy.d --nodes nodes --strict            all kinds of nodes that are recorded there
  devgatectl check --policy policy.d --nodes nodes --for 0.1.0         whether that version would take it
  devgate check --policy policy.yaml --run                          start each component once, too
  devgate check --policy policy.yaml --strict --output json         in a pipeline
  kubectl -n devgate exec POD -- devgate check                      in a cluster, the policy that came to the node

Exit codes:
  0  no errors; with --strict no warnings either
  1  something failed at run time
  3  the policy is wrong; all of its mistakes are shown
  4  the node cannot be read
  5  errors were found, or with --strict warnings";

/// Options of `devgate check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// The kubelet's directory with the socket that tells which pods have which devices
    #[arg(long, value_name = "DIR", default_value = "/var/lib/kubelet/pod-resources")]
    pub(crate) pod_resources_dir: PathBuf,

    /// Recorded nodes, one for each kind in the cluster, in place of this one: files, or folders of them. What matches nothing on one is
    /// said only where it matches nothing on any; each finding once, with its nodes. For devgatectl
    #[arg(long, value_name = "PATH", conflicts_with = "node_root")]
    pub(crate) nodes: Vec<PathBuf>,

    /// Say what an earlier version would refuse of the policy, before a node goes back to it: 0.1.0. For devgatectl
    #[arg(long = "for", value_name = "VERSION")]
    pub(crate) version: Option<String>,

    /// Load each component and ask it once for its devices and their health, as `explain` does
    #[arg(long)]
    pub(crate) run: bool,

    /// Let warnings fail
    #[arg(long)]
    pub(crate) strict: bool,

    /// How to show it
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        place: PlaceArgs,
    }

    fn place(args: &[&str]) -> PlaceArgs {
        Cli::parse_from(["devgate"].iter().chain(args)).place
    }

    #[test]
    fn without_a_word_it_is_the_policy_of_image_and_package_with_their_components() {
        let usual = COMPONENTS.into_iter().map(PathBuf::from).find(|dir| dir.is_dir());
        assert_eq!(place(&[]).policy, [PathBuf::from(POLICY)]);
        assert_eq!(place(&[]).components(), usual);
        assert_eq!(place(&["--policy", POLICY]).components(), usual);
        assert_eq!(place(&["--policy", "p.yaml"]).components(), None, "beside the policy");
        assert_eq!(place(&[]).options(), "");
        let all = ["--policy", "my own.yaml", "--policy", "b.yaml", "--components", "c", "--node-root", "/n"];
        assert_eq!(place(&all).options(), " --policy 'my own.yaml' --policy b.yaml --node-root /n --components c");
        let named = place(&["--components", "here"]).components();
        assert_eq!(named, Some(PathBuf::from("here")));
    }
}
