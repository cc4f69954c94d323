//! What a meta network plugin (Multus) is told of a device that was handed out: `containers.device-info`.
//!
//! After the Device Information Specification 1.1.0 of the Kubernetes Network Plumbing Working Group, as its client library
//! reads it (network-attachment-definition-client, `pkg/utils` and `pkg/apis/k8s.cni.cncf.io/v1/types.go`): the plugin that makes a
//! pod's network knows resource and id only, and finds the PCI address behind them in a file. All of it is the host's own
//! word, from the kernel; the component has no say in it.

mod files;

pub(crate) use files::{Files, NotWritten, Tells, left_behind};

use crate::units::{GrantedNode, UnitRecord};
use devgate_node::{DevicePath, Node};
use devgate_types::{ResourceName, escape};
use serde_json::json;
use std::collections::BTreeSet;

/// The specification's version.
const VERSION: &str = "1.1.0";
/// Where the kernel makes the node of vhost-net.
const VHOST_NET: &str = "/dev/vhost-net";

/// Why a file cannot tell of a unit: it is made of no function, or of several.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoFunction {
    #[error("device {0} is no part of a PCI function; device-info (containers) tells of one PCI function")]
    NoPart(String),
    #[error("it is made of {0} PCI functions; device-info (containers) tells of one PCI function")]
    Several(usize),
}

/// The one PCI function that these devices are, or are parts of. The error says why a file cannot tell of them: they are none, or several.
pub(crate) fn function_of(node: &Node, backing: &[DevicePath]) -> Result<DevicePath, NoFunction> {
    let function = |device| pci_of(node, device).ok_or_else(|| NoFunction::NoPart(escape(device.name(), 80)));
    let mut functions = backing.iter().map(function).collect::<Result<BTreeSet<_>, _>>()?;
    let several = functions.len();
    functions.pop_first().filter(|_| several == 1).ok_or(NoFunction::Several(several))
}

/// The nearest PCI function, from a device upwards.
fn pci_of(node: &Node, device: &DevicePath) -> Option<DevicePath> {
    let is_pci = |at: &DevicePath| matches!(node.subsystem(at), Ok(Some(subsystem)) if subsystem.name == "pci");
    std::iter::successors(Some(device.clone()), |at| node.parent(at)).find(is_pci)
}

/// What the file says of a unit whose pool has these nodes.
pub(crate) fn of_unit(node: &Node, unit: &UnitRecord, shared_nodes: &[GrantedNode]) -> Result<String, NoFunction> {
    let function = function_of(node, &unit.backing)?;
    let nodes: Vec<_> = unit.nodes.iter().chain(shared_nodes).collect();
    Ok(text(node, &function, &nodes))
}

/// What the file says of a function that is handed out together with these nodes, with the specification's names.
fn text(node: &Node, function: &DevicePath, nodes: &[&GrantedNode]) -> String {
    let vhost_net = nodes.iter().any(|granted| granted.node.path == VHOST_NET);
    let pci = [
        ("pci-address", Some(function.name().to_owned())),
        ("vhost-net", vhost_net.then(|| VHOST_NET.to_owned())),
        ("rdma-device", rdma_device(node, function)),
        ("pf-pci-address", node.link(function, "physfn").ok()),
    ];
    let said = |(name, value): (&str, Option<String>)| Some(format!("{}:{}", json!(name), json!(value?)));
    let pci: Vec<_> = pci.into_iter().filter_map(said).collect();
    format!(r#"{{"type":"pci","version":"{VERSION}","pci":{{{}}}}}"#, pci.join(","))
}

/// The RDMA device of a function. Several, as some functions with two ports have, cannot be told by one name.
fn rdma_device(node: &Node, function: &DevicePath) -> Option<String> {
    match node.entries(function, "infiniband").ok()?.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

/// How each file's name ends.
const SUFFIX: &str = "-device.json";

/// The file's name, as its readers make it of the same two.
fn file_name(resource: &str, id: &str) -> String {
    let plain = |text: &str| text.replace('/', "-");
    format!("{}-{}{SUFFIX}", plain(resource), plain(id))
}

/// The longest name of a file that Linux takes, in bytes (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

/// What is wrong with the name of an id's file, if anything.
pub(crate) fn name_problem(resource: &ResourceName, id: &str) -> Option<String> {
    let long = file_name(resource.as_str(), id).len();
    (long > LONGEST_NAME).then(|| {
        format!(
            "its file (containers, device-info) would have a name of {long} bytes, more than the {LONGEST_NAME} that there can be; \
             use a shorter resource name or id"
        )
    })
}

#[cfg(test)]
mod tests;
