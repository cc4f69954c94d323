//! Annotations for the container runtime.

use super::RuleEntry;
use super::entries::{is_one_resources, names};
use crate::Danger;
use crate::error::Report;
use crate::fields::Item;
use crate::resources::ResourceGrant;
use devgate_types::escape;

/// The most annotations of one plugin.
const MOST: usize = 64;

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

pub(crate) fn read(
    annotations: &Item<'_>,
    resources: &[ResourceGrant],
    accepted: &dyn Fn(&Danger) -> bool,
    report: &mut Report,
) -> Vec<RuleEntry> {
    let entries = annotations.map(report);
    if entries.len() > MOST {
        annotations.error(report, format!("must have at most {MOST} entries"));
    }
    let read = |entry: &Item<'_>| one(entry, resources, accepted, report);
    entries.iter().take(MOST).filter_map(read).collect()
}

fn one(
    entry: &Item<'_>,
    resources: &[ResourceGrant],
    accepted: &dyn Fn(&Danger) -> bool,
    report: &mut Report,
) -> Option<RuleEntry> {
    let names = names(entry.key, resources);
    let shown = escape(entry.key, 80);
    if names.iter().any(|name| name.starts_with("cdi.k8s.io/")) {
        let message = format!("the annotation \"{shown}\" names CDI devices");
        report.error_with_hint(
            entry.key_at,
            message,
            "write them under \"cdi\", which kubelets pass on from 1.29 on",
        );
        return None;
    }
    if !names.iter().all(|name| is_key(name)) {
        let hint = "a domain may stand before one \"/\"; then 1 to 63 letters, digits, \"-\", \"_\" or \".\"";
        report.error_with_hint(
            entry.key_at,
            format!("\"{shown}\" is not the key of an annotation"),
            hint,
        );
        return None;
    }
    if names.iter().any(|name| is_kubelets(name)) {
        let message = format!("the annotation \"{shown}\" is the kubelet's own, no plugin may set it");
        report.error(entry.key_at, message);
        return None;
    }
    let danger = names.iter().find_map(|name| dangerous_annotation(name));
    if let Some(danger) = danger.filter(|danger| !accepted(danger)) {
        let message = format!("the annotation \"{shown}\" {}", danger.why);
        let hint = format!("add \"dangerous: [{}]\" if that is meant", danger.key);
        report.error_with_hint(entry.key_at, message, hint);
        return None;
    }
    if !is_one_resources(entry, resources, report) {
        return None;
    }
    RuleEntry::read(entry, report)
}

/// What an annotation of this key gives away; nothing where it is an ordinary one.
#[must_use]
pub fn dangerous_annotation(key: &str) -> Option<Danger> {
    is_order(key).then_some(Danger {
        key: "runtime-annotations",
        why: "is an order to the container runtime",
    })
}

/// A qualified name, as Kubernetes demands of an annotation's key.
fn is_key(key: &str) -> bool {
    let name = match key.split_once('/') {
        Some((domain, name)) => {
            let label = |label: &str| {
                (1..=63).contains(&label.len())
                    && label
                        .bytes()
                        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
                    && !label.starts_with('-')
                    && !label.ends_with('-')
            };
            if domain.len() > 253 || !domain.split('.').all(label) {
                return false;
            }
            name
        }
        None => key,
    };
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let end = |c: char| c.is_ascii_alphanumeric();
    (1..=63).contains(&name.len()) && name.bytes().all(ok) && name.starts_with(end) && name.ends_with(end)
}

fn is_kubelets(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let of = |parent: &str| domain == parent || domain.ends_with(&format!(".{parent}"));
    key.starts_with("io.kubernetes.") || of("kubernetes.io") || of("k8s.io")
}

fn is_order(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let of = |parent: &str| domain == parent || domain.ends_with(&format!(".{parent}"));
    ORDERS.iter().any(|order| key.starts_with(order)) || ORDER_DOMAINS.iter().any(|parent| of(parent))
}
