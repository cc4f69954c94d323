//! What is played. A scenario is a function in a file of this folder, and a line in [`ALL`].
//!
//! It gets a cluster that [`Cluster::fresh`](crate::cluster::Cluster::fresh) has put in order: no pods of an earlier one, all disks
//! plugged in, devgate installed with its first policy, ready, every disk allocatable; it may leave it as it is. It fails with
//! what an outsider sees: API objects, a container's `/dev`, pod-resources, metrics, exit codes of devgate's commands. None reads
//! devgate's log. What there is for it:
//!
//! | | |
//! | --- | --- |
//! | wait | `until(what, seconds, ask)`, `stays(seconds, ask)`, `timed(run)` |
//! | pods | `make_pod`, `run_pod(name, disks)`, `runs`, `delete_pod`, `kill_container(name)`, `in_pod(name, line)`, `has_exactly(name, disks)` (gives the disks), `health`, `restarts` |
//! | the node | `allocatable(disks, seconds)`, `node_has("capacity", resource)`, `pod_resources()`, `node(&[program, …])`, `file("/path/of/the/node")` to read or write, `ctr(&[…])` |
//! | devgate | `install`, `uninstall`, `change_policy(text)` over `policy()`, `ready`, `devgate_is_ready`, `in_devgate(&["status"])`, `metric(name, &[label])`, `probe("/readyz")` |
//! | hardware | `disks.names()`, `disks.pull(name)`, `disks.plug(name)` |
//! | trouble | `stop("kubelet", Signal::Kill)`, `start("kubelet")`, `restart_kubelet(signal)`, `reboot(before)` |
//! | the runtime | `watch_runtime()?` … `.end()`: which disk was in two containers |
//! | the API | `get(path)`, `list(path)`, `apply(yaml)`, `kubectl(&[…])` |
//! | figures | `note(text)` is told at the end |

mod admins;
mod by_name;
mod churn;
mod claims;
mod empty;
mod events;
mod in_go;
mod install;
mod kubelet;
mod late;
mod load;
mod mirror;
mod mistakes;
mod moves;
mod nodes;
mod pods;
mod reboot;
mod record;
mod reinstall;
mod rollout;
mod take_over;
mod uninstall;
mod unplug;

use crate::cluster::Cluster;
use anyhow::Result;

/// What is played.
pub(crate) struct Scenario {
    /// One word.
    pub(crate) name: &'static str,
    /// What it shows.
    pub(crate) about: &'static str,
    /// Whether it begins with a cluster in which devgate is not installed.
    pub(crate) bare: bool,
    /// Plays it.
    pub(crate) play: fn(&mut Cluster) -> Result<()>,
}

/// All, in the order in which they are played.
pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        name: "install",
        about: "from the chart to a ready pod to devices of the node",
        bare: true,
        play: install::play,
    },
    Scenario {
        name: "pods",
        about: "pods with one and with two devices have exactly these",
        bare: false,
        play: pods::play,
    },
    Scenario {
        name: "unplug",
        about: "a device that goes and comes is in the node's and the pod's status",
        bare: false,
        play: unplug::play,
    },
    Scenario {
        name: "kubelet",
        about: "five TERM and five KILL of the kubelet: pods keep what they have",
        bare: false,
        play: kubelet::play,
    },
    Scenario {
        name: "rollout",
        about: "devgate's pod deleted, rolled out to another image, rolled back",
        bare: false,
        play: rollout::play,
    },
    Scenario {
        name: "take-over",
        about: "the next pod starts beside the last one, which hands over",
        bare: false,
        play: take_over::play,
    },
    Scenario {
        name: "nodes",
        about: "a second node: seen with the first, a broken version does not come to it; a node that changes its group",
        bare: false,
        play: nodes::play,
    },
    Scenario { name: "reboot", about: "the node boots, with devgate in a pod", bare: false, play: reboot::in_a_pod },
    Scenario {
        name: "reboot-service",
        about: "the node boots, with devgate as a service before the kubelet",
        bare: false,
        play: reboot::as_a_service,
    },
    Scenario {
        name: "by-name",
        about: "devices by name: a container that starts again has its device where that is by then",
        bare: true,
        play: by_name::play,
    },
    Scenario {
        name: "claims-two",
        about: "two drivers: claims of both, expressions, admin access, a plugin that is removed while a claim has its device",
        bare: true,
        play: claims::play_two,
    },
    Scenario {
        name: "claims-shares",
        about: "claims that share a device, and a whole that no claim has beside its parts",
        bare: true,
        play: claims::play_shares,
    },
    Scenario {
        name: "claims-conditions",
        about: "devices that work and are not as they should be, and what claims say for their driver",
        bare: true,
        play: claims::play_conditions,
    },
    Scenario {
        name: "claims-move",
        about: "from the device plugin to claims and back, while pods of both kinds come and go",
        bare: true,
        play: claims::play_moves,
    },
    Scenario {
        name: "claims",
        about: "dynamic resource allocation: claims, shared and of two containers, health, extended resources, restarts",
        bare: true,
        play: claims::play,
    },
    Scenario {
        name: "claims-outages",
        about: "pods with claims while the API server is away, over a boot, and when devgate is uninstalled",
        bare: true,
        play: claims::play_outages,
    },
    Scenario {
        name: "reinstall",
        about: "uninstalled while pods hold devices, and installed again",
        bare: false,
        play: reinstall::play,
    },
    Scenario {
        name: "move",
        about: "from another project's device plugin, in Go, to devgate and back, with pods that hold devices",
        bare: true,
        play: moves::play,
    },
    Scenario {
        name: "record",
        about: "a node is recorded by kubectl debug, as docs/devgatectl.md says, and the recording is the node",
        bare: false,
        play: record::play,
    },
    Scenario {
        name: "churn",
        about: "pods come and go under restarts: nothing is given twice",
        bare: false,
        play: churn::play,
    },
    Scenario {
        name: "mistakes",
        about: "a wrong policy, a wrong digest, a resource removed in use: the old one goes on, and the admin sees it",
        bare: false,
        play: mistakes::play,
    },
    Scenario {
        name: "empty",
        about: "a plugin that lists nothing keeps nobody from being ready",
        bare: true,
        play: empty::play,
    },
    Scenario {
        name: "events",
        about: "what is wrong is an Event on node and pod and a condition of the node, without claims",
        bare: true,
        play: events::play,
    },
    Scenario { name: "late", about: "a component that comes late is loaded as it comes", bare: true, play: late::play },
    Scenario {
        name: "in-go",
        about: "a component written in Go is the one that pods have disks by",
        bare: false,
        play: in_go::play,
    },
    Scenario {
        name: "uninstall",
        about: "cleanup takes nothing from a pod, and leaves what the docs say",
        bare: false,
        play: uninstall::play,
    },
    Scenario { name: "admins", about: "the steps of docs/install.md, as written", bare: true, play: admins::play },
    // Last: a kubelet that pulled an image by one name asks the registry of each other name for it, though the node has it.
    Scenario {
        name: "mirror",
        about: "image, chart and signed components from a registry that is the only network; one that lacks something",
        bare: true,
        play: mirror::play,
    },
];
