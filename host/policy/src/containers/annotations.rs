//! Annotations for the container runtime.

use super::RuleEntry;
use super::entries::{is_one_resources, names};
use crate::Danger;
use crate::fields::Item;
use crate::qualified::{is_domain, is_kubernetes, is_name, is_within};
use crate::resources::ResourceGrant;
use devgate_types::escape;

/// The most annotations of one plugin.
const MAX_ANNOTATIONS: usize = 64;

/// Beginnings of keys that a container runtime takes for orders: devices, namespaces, seccomp, systemd properties (CRI-O's and
/// containerd's `annotations`, crun(1), Kata's and NRI's own).
const ORDERS: &[&str] = &[
    "io.containerd.",
    "io.katacontainers.",
    "io.podman.",
    "org.systemd.property.",
    "run.oci.",
    "module.wasm.",
    "com.docker.",
];
/// The same by the domain of the key.
const ORDER_DOMAINS: &[&str] = &["nri.io", "crio.io", "noderesource.dev"];

pub(crate) fn read(annotations: &Item<'_>, resources: &[ResourceGrant], dangerous: &[&str]) -> Vec<RuleEntry> {
    let entries = annotations.map(MAX_ANNOTATIONS).into_iter();
    entries.filter_map(|entry| one(&entry, resources, dangerous)).collect()
}

fn one(entry: &Item<'_>, resources: &[ResourceGrant], dangerous: &[&str]) -> Option<RuleEntry> {
    let names = names(entry.key, resources);
    let shown = escape(entry.key, 80);
    let danger = names.iter().find_map(|name| dangerous_annotation(name));
    let danger = danger.and_then(|danger| danger.refused(dangerous));
    let problem = if names.iter().any(|name| name.starts_with("cdi.k8s.io/")) {
        format!(
            "the annotation \"{shown}\" names CDI devices; write them under \"cdi\", which kubelets pass on from 1.29 on"
        )
    } else if !names.iter().all(|name| is_key(name)) {
        let hint = "a domain may stand before one \"/\"; then 1 to 63 letters, digits, \"-\", \"_\" or \".\"";
        format!("\"{shown}\" is not the key of an annotation; {hint}")
    } else if names.iter().any(|name| is_kubelets(name)) {
        format!("the annotation \"{shown}\" is the kubelet's own, no plugin may set it")
    } else if let Some(why) = danger {
        format!("the annotation \"{shown}\" {why}")
    } else if !is_one_resources(entry, resources) {
        return None;
    } else {
        return RuleEntry::read(entry);
    };
    entry.error_at_key(problem);
    None
}

/// What an annotation of this key gives away; nothing where it is an ordinary one.
#[must_use]
pub fn dangerous_annotation(key: &str) -> Option<Danger> {
    is_order(key).then_some(Danger { key: "runtime-annotations", why: "is an order to the container runtime" })
}

/// A qualified name, as Kubernetes demands of an annotation's key.
fn is_key(key: &str) -> bool {
    key.split_once('/').map_or(is_name(key), |(domain, name)| is_domain(domain) && is_name(name))
}

fn domain(key: &str) -> &str {
    key.split_once('/').map_or("", |(domain, _)| domain)
}

fn is_kubelets(key: &str) -> bool {
    key.starts_with("io.kubernetes.") || is_kubernetes(domain(key))
}

fn is_order(key: &str) -> bool {
    let within = |parent: &&str| is_within(domain(key), parent);
    ORDERS.iter().any(|order| key.starts_with(order)) || ORDER_DOMAINS.iter().any(within)
}
