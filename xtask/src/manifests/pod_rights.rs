//! What manifests give a pod, as plain sentences: each directory, privilege, capability, port, variable and option is one, so that
//! something new is a sentence that no list has. Everything counts but what is named here as harmless.

use super::at;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Of a pod: when and where it runs, and for how long.
const POD: [&str; 8] = [
    "affinity",
    "containers",
    "imagePullSecrets",
    "initContainers",
    "nodeSelector",
    "terminationGracePeriodSeconds",
    "tolerations",
    "volumes",
];

/// Of a container: what is in it and how it is watched.
const CONTAINER: [&str; 9] = [
    "args",
    "image",
    "imagePullPolicy",
    "name",
    "ports",
    "resources",
    "terminationMessagePolicy",
    "volumeMounts",
    "env",
];

/// What a container may use of the node without being given it: anything else is a device, or another plugin's.
const ORDINARY: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Says something to people only. Others tell runtimes, networks and clouds to give a pod more.
const HARMLESS_ANNOTATION: &str = "kubectl.kubernetes.io/default-container";

/// Of these, only what asks for anything but a page of the pod's own counts.
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// All that these documents give.
pub(super) fn of(documents: &[Value]) -> BTreeSet<String> {
    let mut facts = BTreeSet::new();
    for document in documents {
        let kind = text(at(document, "/kind"));
        facts.insert(format!("object {kind}"));
        match kind {
            "Namespace" => flat("namespace", at(document, "/metadata/labels"), &is_ours, &mut facts),
            "ServiceAccount" => flat("service account", document, &is_head, &mut facts),
            "SecurityContextConstraints" => flat("scc", document, &is_head, &mut facts),
            // Two at once take each other's registrations, and how many nodes may wait for each other is no accident.
            "DaemonSet" => {
                let place = "/spec/updateStrategy/rollingUpdate";
                flat("rollout", at(document, place), &|_| false, &mut facts);
            }
            "ClusterRole" => at(document, "/rules").as_array().into_iter().flatten().for_each(|rule| {
                facts.insert(format!("role: {}", plain(rule)));
            }),
            "ClusterRoleBinding" => flat("role: bound to", at(document, "/subjects"), &is_head, &mut facts),
            "NetworkPolicy" => network(at(document, "/spec"), &mut facts),
            _ => {}
        }
        annotations(kind, at(document, "/metadata"), &mut facts);
        // Whatever has pods has them in one of these places: a template, a schedule's template, itself.
        for place in ["/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec"] {
            let pod = document.pointer(place).and_then(Value::as_object);
            if let Some(pod) = pod.filter(|pod| pod.contains_key("containers")) {
                of_pod(pod, &mut facts);
                let metadata = place.trim_end_matches("/spec").to_owned() + "/metadata";
                annotations("pod", at(document, &metadata), &mut facts);
                flat("pod: label", at(document, &format!("{metadata}/labels")), &is_ours, &mut facts);
            }
        }
    }
    // A capability that OpenShift is told to let through is said where the pod asks for it.
    let asked = facts.iter().filter_map(|fact| fact.split_once(".capabilities.add="));
    let let_through: Vec<_> = asked.map(|(_, capability)| format!("scc: allowedCapabilities={capability}")).collect();
    // So are the accounts of the pods; nobody else's may be named.
    let accounts = facts.iter().filter_map(|fact| fact.strip_prefix("pod: serviceAccountName="));
    let users: Vec<_> = accounts.map(|account| format!("scc: users=system:serviceaccount:devgate:{account}")).collect();
    facts.retain(|fact| !let_through.contains(fact) && !users.contains(fact));
    facts
}

fn is_head(key: &str) -> bool {
    ["apiVersion", "kind", "metadata"].contains(&key)
}

fn is_ours(label: &str) -> bool {
    label.starts_with("app.kubernetes.io/") || label == "helm.sh/chart"
}

fn annotations(of: &str, metadata: &Value, facts: &mut BTreeSet<String>) {
    let harmless = |key: &str| key == HARMLESS_ANNOTATION;
    flat(&format!("{of}: annotation"), at(metadata, "/annotations"), &harmless, facts);
}

fn network(spec: &Value, facts: &mut BTreeSet<String>) {
    flat("network", spec, &|key| key == "podSelector", facts);
}

fn of_pod(pod: &Map<String, Value>, facts: &mut BTreeSet<String>) {
    flat("pod", &Value::Object(pod.clone()), &|key| POD.contains(&key), facts);
    let volumes = list(pod, "volumes");
    let mut mounted = BTreeSet::new();
    for (kind, key) in [("container", "containers"), ("first, container", "initContainers")] {
        for container in list(pod, key).iter().filter_map(Value::as_object) {
            let name = container.get("name").map_or("", text);
            facts.insert(format!("{kind} {name}"));
            mounted.extend(of_container(name, container, volumes, facts));
        }
    }
    for volume in volumes {
        let name = text(&volume["name"]);
        if !mounted.contains(name) {
            facts.insert(format!("volume {name}, mounted nowhere: {}", source(volume)));
        }
    }
}

/// Returns the names of the volumes that it mounts.
fn of_container(
    name: &str,
    container: &Map<String, Value>,
    volumes: &[Value],
    facts: &mut BTreeSet<String>,
) -> BTreeSet<String> {
    let ignored = |key: &str| CONTAINER.contains(&key) || PROBES.contains(&key);
    flat(name, &Value::Object(container.clone()), &ignored, facts);
    for probe in PROBES {
        let look = |key: &str| key != "exec" && key != "tcpSocket" && key != "grpc";
        let asks = container.get(probe).unwrap_or(&Value::Null);
        flat(&format!("{name}: {probe}"), asks, &look, facts);
        if let Some(host) = asks.pointer("/httpGet/host") {
            facts.insert(format!("{name}: {probe} host={}", plain(host)));
        }
    }
    for argument in list(container, "args") {
        facts.insert(format!("{name}: option {}", text(argument)));
    }
    for port in list(container, "ports") {
        let rest = |key: &str| ["containerPort", "name", "protocol"].contains(&key);
        let port_name =
            format!("{name}: port {}/{}", port["containerPort"], port["protocol"].as_str().unwrap_or("TCP"));
        facts.insert(port_name.clone());
        flat(&port_name, port, &rest, facts);
    }
    let resources = container.get("resources").unwrap_or(&Value::Null);
    let bounds = |key: &str| key == "requests" || key == "limits";
    flat(&format!("{name}: resources"), resources, &bounds, facts);
    for bound in ["requests", "limits"] {
        let ordinary = |key: &str| ORDINARY.contains(&key);
        flat(&format!("{name}: resources.{bound}"), at(resources, &format!("/{bound}")), &ordinary, facts);
    }
    for variable in list(container, "env") {
        facts.insert(format!("{name}: environment {}", plain(variable)));
    }
    let mut mounted = BTreeSet::new();
    for mount in list(container, "volumeMounts") {
        let volume = text(&mount["name"]);
        mounted.insert(volume.to_owned());
        let from = volumes.iter().find(|candidate| candidate["name"] == volume);
        let from = from.map_or_else(|| format!("volume {volume}, which there is not"), source);
        let access = if mount["readOnly"] == true { "read-only" } else { "writable" };
        let path = text(&mount["mountPath"]);
        facts.insert(format!("{name}: {path} is {from}, {access}"));
        let rest = |key: &str| ["mountPath", "name", "readOnly"].contains(&key);
        flat(&format!("{name}: {path}"), mount, &rest, facts);
    }
    mounted
}

/// Where a volume's contents come from.
fn source(volume: &Value) -> String {
    let Some(volume) = volume.as_object() else {
        return plain(volume);
    };
    let sources: Vec<String> = volume
        .iter()
        .filter(|(key, _)| *key != "name")
        .map(|(key, source)| match key.as_str() {
            "hostPath" => {
                let kind = source["type"].as_str().unwrap_or("whatever is there");
                format!("the node's {} ({kind})", text(&source["path"]))
            }
            "configMap" => format!("config map {}", text(&source["name"])),
            "secret" => format!("secret {}", text(&source["secretName"])),
            "emptyDir" => "an empty directory".to_owned(),
            "image" => "an image".to_owned(),
            _ => format!("{key} {}", plain(source)),
        })
        .collect();
    sources.join(" and ")
}

/// A sentence for each value, but for those of keys that are left out at the top.
fn flat(place: &str, value: &Value, left_out: &dyn Fn(&str) -> bool, facts: &mut BTreeSet<String>) {
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (key, value) in map.iter().filter(|(key, _)| !left_out(key)) {
                inner(&format!("{place}: {key}"), value, facts);
            }
        }
        other => inner(place, other, facts),
    }
}

fn inner(place: &str, value: &Value, facts: &mut BTreeSet<String>) {
    match value {
        Value::Null => {}
        Value::Object(map) if map.is_empty() => {
            facts.insert(format!("{place}={{}}"));
        }
        Value::Object(map) => {
            for (key, value) in map {
                inner(&format!("{place}.{key}"), value, facts);
            }
        }
        Value::Array(list) => {
            for value in list {
                facts.insert(format!("{place}={}", plain(value)));
            }
        }
        other => {
            facts.insert(format!("{place}={}", plain(other)));
        }
    }
}

fn list<'a>(map: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    map.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
