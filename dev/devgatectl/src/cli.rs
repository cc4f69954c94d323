//! The command line.

mod add;
mod call;
mod conform;
mod demo;
mod dev;
mod dra;
mod fleet;
mod index;
mod inspect;
mod manual;
mod migrate;
mod new;
mod pack;
mod plan;
mod push;
mod record;
mod show;
mod simulate;
mod trace;

pub(crate) use add::{AddArgs, UpgradeArgs};
pub(crate) use call::{CallArgs, Function};
pub(crate) use conform::ConformArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use dev::DevArgs;
pub(crate) use dra::{ClassesArgs, DraArgs, DraCommand};
pub(crate) use fleet::FleetArgs;
pub(crate) use index::{IndexArgs, IndexBuildArgs, IndexCommand, SearchArgs};
pub(crate) use inspect::{InspectArgs, InspectOutput};
pub(crate) use manual::{CompletionsArgs, ManArgs, Product};
pub(crate) use migrate::{MigrateArgs, Peer};
pub(crate) use new::{Lang, NewArgs};
pub(crate) use pack::{AboutArgs, PackArgs};
pub(crate) use plan::{PlanArgs, PlanOutput};
pub(crate) use push::PushArgs;
pub(crate) use record::RecordArgs;
pub(crate) use show::ShowArgs;
pub(crate) use simulate::SimulateArgs;
pub(crate) use trace::TraceArgs;

use clap::{Parser, Subcommand};
use devgate::exit;
use devgate_types::{InvalidReference, Reference};

const ABOUT: &str = "The workshop of devgate: write, look into, record, try and publish components";

const LONG_ABOUT: &str = "\
The workshop of devgate, the host for all device plugins of a Kubernetes node.

Vendors write and publish components with it, testers try them without hardware and without a cluster, and admins look into \
them and at policies before a node does. It has the commands of `devgate`, too, which understand recorded nodes here. Under \
the name kubectl-devgate in the PATH it is `kubectl devgate`.";

/// What was asked for.
#[derive(Debug, Parser)]
#[command(name = "devgatectl", version, about = ABOUT, long_about = LONG_ABOUT, after_help = exit::HELP, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show on this machine, in seconds and without a cluster, what devgate does
    ///
    /// Runs the real `devgate run` against a kubelet stand-in over real sockets in a temporary directory, with this
    /// machine's own devices: what a policy grants, registration, a pod's allocation, a device that fails, a component
    /// that asks for too much, a kubelet restart. Changes nothing of the machine, but that it renames one node that
    /// is rarely used away for a moment if it may. Ends with 0 when all of it happened.
    #[command(after_help = demo::DEMO_HELP)]
    Demo(DemoArgs),

    /// Play scenarios: a component and its policy on a recorded node, with a kubelet stand-in, and expectations
    ///
    /// Runs the real `devgate run` for each scenario, in a temporary directory of its own: devices are unplugged, attributes
    /// change, the kernel says something, pods start and stop, kubelet and host restart; what the kubelet sees and what
    /// containers get must be as the scenario says. Needs no hardware, no cluster and no root. Changes nothing of the machine.
    #[command(after_help = simulate::HELP)]
    Simulate(SimulateArgs),

    /// Write a project to start a component from: in Rust, C, Python, JavaScript or Go
    ///
    /// It builds as it is, and comes with a recorded node, a policy, scenarios, a workflow for CI, and a README with the commands.
    #[command(after_help = new::NEW_HELP)]
    New(NewArgs),

    /// Show what a component imports, exports and needs, and a policy to start from
    ///
    /// Reads the file and nothing else: no policy, no node, and nothing of it is compiled or run. Shows imports with the
    /// policy's key that each needs, exports, what it was made with, its size and digest, and how much of what it has
    /// against the limits. A file that is no component is named for what it is.
    #[command(after_help = inspect::INSPECT_HELP)]
    Inspect(InspectArgs),

    /// Record hardware of this node as text, with which devgate and umockdev play it elsewhere
    ///
    /// Copies what the policy's plugins are granted, or what is named: devices with their attributes, links and nodes, what is
    /// beneath them, and of those above what they are. Reads what a component could be let read and no more, and wakes no device that sleeps.
    /// Serial numbers, addresses and ids of this very node are replaced by made-up ones of the same form, equal ones by
    /// equal ones. Changes nothing of the node.
    #[command(after_help = record::RECORD_HELP)]
    Record(RecordArgs),

    /// Make a component of a core module, for this host, and write into it what describes it
    ///
    /// Linkers for C, Go and others make a core module. Its world is in it, where the bindings' generator put it there, or is
    /// given. What it imports of WASI preview 1 is put into the component: a clock that only counts, random numbers that are the same in
    /// every call (make no secret of them), standard output and error as lines of the log, no file. Of a component, what describes it is
    /// changed. Names of functions and debug information are left out: keep FILE for `trace`. Shows size, digest and imports with the policy's key
    /// that each needs. The same input makes the same bytes. What this host could not run is not written.
    #[command(after_help = pack::PACK_HELP)]
    Pack(PackArgs),

    /// Put a component into a registry, and print the digest to write into a policy
    ///
    /// As an artifact in the layout that the CNCF has for components. What this host could not run is not pushed, and a tag that is
    /// given to something else is not taken away from it without --replace.
    #[command(after_help = push::PUSH_HELP)]
    Push(PushArgs),

    /// Show what a registry has of a component, without the component
    ///
    /// Its digests, size and annotations, what it imports, who has signed it, and what lies beside it: attestations of `conform` with their
    /// results, and what others put there. Reads the manifest and what is small.
    #[command(after_help = show::SHOW_HELP)]
    Show(ShowArgs),

    /// What goes into a cluster so that pods have a policy's devices by claims
    Dra(DraArgs),

    /// Make an index of components: one artifact in a registry that `search` reads
    Index(IndexArgs),

    /// Find components in an index
    ///
    /// Reads the index and nothing else, and checks who has signed it where a key is given.
    #[command(after_help = index::SEARCH_HELP)]
    Search(SearchArgs),

    /// Build a component, look at it on a recorded node or this one, and say what changed, whenever something is saved
    ///
    /// Shows units, their health, what was refused and why, what the component said, what each call took of its limits; then what is
    /// another than at the last look. Looks again when sources, policy, recording or component change.
    #[command(after_help = dev::DEV_HELP)]
    Dev(DevArgs),

    /// Call one function of a component, behind the real policy and gate, on a recorded node or this one
    ///
    /// Loads the file in a process of its own, as a host does, and shows what the component answers once it has passed the gate,
    /// what it said, and what the call took of its limits. For tests in any language, with --output json. Machine code is kept for the next
    /// call, in `devgate` of $XDG_CACHE_HOME or ~/.cache.
    #[command(after_help = call::CALL_HELP)]
    Call(CallArgs),

    /// Show the hosts of all nodes of a cluster: a line for each node, and what is wrong with how many
    ///
    /// Asks each pod of devgate's with `kubectl exec` for what `devgate status` says, side by side. Needs kubectl, and the right to run
    /// programs in these pods. Changes nothing.
    #[command(after_help = fleet::FLEET_HELP)]
    Fleet(FleetArgs),

    /// Say what a change of the policy does on recorded nodes, before it is done
    ///
    /// Asks the components of both policies on each node: which devices come, go, have another name or give a container something
    /// else, what plugins may touch besides, and whether a device would go that is held. Nodes to which the same happens are
    /// shown once. Needs no hardware and no cluster.
    #[command(after_help = plan::PLAN_HELP)]
    Plan(PlanArgs),

    /// Make a policy of another device plugin's configuration
    ///
    /// Reads what the SR-IOV plugin, NVIDIA's, the generic one or Mellanox's for shared RDMA devices is told, wherever in the files it
    /// stands, and writes a policy for devgate's components that offers the same under the same names. What could not be carried over
    /// is named on standard error, and in the policy. Looks at no node and changes nothing.
    #[command(after_help = migrate::MIGRATE_HELP)]
    Migrate(MigrateArgs),

    /// Put a component into a policy, as a file of its own: its digest, its key, and what its author would grant
    ///
    /// Gets it, checks it, shows what it would write and asks. What its author would grant is what the component carries; of one that
    /// carries nothing it is the least. The policy must be right with it, and nothing else of it is touched.
    #[command(after_help = add::ADD_HELP)]
    Add(AddArgs),

    /// Put another version of a component into a policy
    ///
    /// Shows what differs between the two, and with --nodes what that changes on recorded nodes, and asks. Nothing but the digest is
    /// changed: what the other one needs besides is named, and the admin's to grant.
    #[command(after_help = add::UPGRADE_HELP)]
    Upgrade(UpgradeArgs),

    /// Test a component against everything that a node may do to it, and show a scorecard
    ///
    /// Runs the component in its sandbox and behind the real gate on a recorded node, and changes that: devices that go away in the
    /// middle of a call, attributes that are missing, unreadable or garbage, units in another order, limits cut in half. Says for
    /// each failure what was done, what was seen and what to do. Needs no hardware and no cluster.
    #[command(after_help = conform::CONFORM_HELP)]
    Conform(ConformArgs),

    /// Say which function, file and line a trap's message means
    ///
    /// The message has functions by number and places in the component's file: a host reads no names, and a release has none. They are
    /// in the module that the component was made of, if it was built with them. Reads both files and nothing else.
    #[command(after_help = trace::TRACE_HELP)]
    Trace(TraceArgs),

    /// Print what makes a shell complete the commands of devgate or devgatectl
    #[command(after_help = manual::COMPLETIONS_HELP)]
    Completions(CompletionsArgs),

    /// Print the manual page of devgate or devgatectl, or write those of all commands into a folder
    #[command(after_help = manual::MAN_HELP)]
    Man(ManArgs),

    #[command(flatten)]
    Host(devgate::cli::Command),
}

/// A reference, also with the `oci:` that other commands tell it from a file by.
fn reference(text: &str) -> Result<Reference, InvalidReference> {
    text.strip_prefix("oci:").unwrap_or(text).parse()
}
