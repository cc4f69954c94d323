//! Which sockets of the node a pod's mounts bring. A read-only mount keeps no program from connecting to a socket, and uid 0 owns nearly
//! all of them: a program that reaches the container runtime's has the node.

use super::at;
use serde_json::Value;

/// Sockets of nodes, and whose they are. `*` is any name. `/var/run` is the same as `/run`.
const KNOWN: [(&str, &str); 22] = [
    ("/run/containerd/containerd.sock", "containerd"),
    ("/run/containerd/s/*", "containerd's shims"),
    ("/run/crio/crio.sock", "CRI-O"),
    ("/run/cri-dockerd.sock", "Docker for the kubelet"),
    ("/run/docker.sock", "Docker"),
    ("/run/podman/podman.sock", "podman"),
    ("/run/k3s/containerd/containerd.sock", "k3s' containerd"),
    ("/var/snap/microk8s/common/run/containerd.sock", "MicroK8s' containerd"),
    ("/run/systemd/private", "systemd"),
    ("/run/systemd/notify", "systemd"),
    ("/run/systemd/journal/socket", "journald"),
    ("/run/dbus/system_bus_socket", "D-Bus"),
    ("/run/udev/control", "udev"),
    ("/run/nri/nri.sock", "plugins of the container runtime"),
    ("/run/user/*/bus", "users' D-Bus"),
    ("/var/lib/kubelet/plugins/*/*", "CSI and DRA drivers"),
    ("/var/lib/kubelet/plugins_registry/*", "CSI and DRA drivers"),
    ("/var/lib/kubelet/pods/*/volumes/*", "pods"),
    ("/var/lib/kubelet/device-plugins/kubelet.sock", "the kubelet"),
    ("/var/lib/kubelet/device-plugins/*", "other device plugins"),
    ("/var/lib/kubelet/pod-resources/kubelet.sock", "the kubelet"),
    ("/dev/log", "a system log without journald"),
];

/// Directories that a pod may have although sockets are in them: devgate's own business, and what cannot be told from it.
const NEEDED: [(&str, &str); 4] = [
    ("/var/lib/kubelet/device-plugins", "it registers there and serves there"),
    (
        "/var/lib/kubelet/plugins_registry",
        "it registers and serves there; who asks what others have there learns their names",
    ),
    ("/var/lib/kubelet/pod-resources", "it asks there which pods have which devices"),
    ("/dev", "device nodes; of a log there, lines can be written and nothing be read"),
];

/// Each mount of a directory or socket of the node that brings a socket which no devgate needs.
pub(super) fn problems(documents: &[Value]) -> Vec<String> {
    let mut problems = Vec::new();
    for document in documents {
        let volumes = at(document, "/spec/template/spec/volumes").as_array();
        for volume in volumes.into_iter().flatten() {
            let Some(path) = at(volume, "/hostPath/path").as_str() else {
                continue;
            };
            if let Some((socket, whose)) = brought(path) {
                problems.push(format!("mounts the node's {path}, and with it {socket} ({whose})"));
            }
        }
    }
    problems
}

/// The first known socket that is at a path or beneath it, unless the path is one that is needed.
fn brought(path: &str) -> Option<(&'static str, &'static str)> {
    let path = plain(path);
    if NEEDED.iter().any(|(needed, _)| *needed == path) {
        return None;
    }
    KNOWN.into_iter().find(|(socket, _)| is_above(&path, socket))
}

/// A path without a `/` at its end, and by the shorter of the two names that `/run` has.
fn plain(path: &str) -> String {
    let path = format!("/{}", path.trim_matches('/'));
    match path.strip_prefix("/var/run") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("/run{rest}"),
        _ => path,
    }
}

/// Whether a path is a socket, or a directory above it. A name in the place of a `*` counts as one that it stands for.
fn is_above(path: &str, socket: &str) -> bool {
    let mut parts = socket.split('/').skip(1);
    path.split('/')
        .filter(|part| !part.is_empty())
        .all(|part| parts.next().is_some_and(|known| known == "*" || known == part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(path: &str) -> Vec<String> {
        let volumes = json!([{"name": "c", "configMap": {"name": "c"}}, {"name": "v", "hostPath": {"path": path}}]);
        problems(&[json!({"kind": "DaemonSet", "spec": {"template": {"spec": {"volumes": volumes}}}})])
    }

    #[test]
    fn what_is_above_a_socket_brings_it() {
        for path in [
            "/",
            "/run",
            "/run/",
            "/var",
            "/var/run",
            "/var/run/containerd",
            "/run/containerd/containerd.sock",
            "/run/systemd",
            "/run/dbus",
            "/var/lib",
            "/var/lib/kubelet",
            "/var/lib/kubelet/plugins",
            "/var/lib/kubelet/plugins/driver.example.com",
            "/var/lib/kubelet/device-plugins/kubelet.sock",
            "/var/snap/microk8s",
        ] {
            assert_eq!(found(path).len(), 1, "{path}");
        }
        assert_eq!(
            found("/var/run/dbus/"),
            ["mounts the node's /var/run/dbus/, and with it /run/dbus/system_bus_socket (D-Bus)"]
        );
    }

    #[test]
    fn what_is_needed_or_beside_sockets_brings_none() {
        for path in [
            "/var/lib/kubelet/device-plugins",
            "/var/lib/kubelet/pod-resources",
            "/dev",
            "/var/lib/devgate",
            "/var/run/cdi",
            "/var/run/k8s.cni.cncf.io/devinfo/dp",
            "/sys/devices",
            "/etc/kubernetes/node-feature-discovery/features.d",
            "/runner",
        ] {
            assert_eq!(found(path), Vec::<String>::new(), "{path}");
        }
    }

    #[test]
    fn every_directory_that_is_needed_is_needed_for_its_sockets() {
        for (path, why) in NEEDED {
            assert!(KNOWN.iter().any(|(socket, _)| is_above(path, socket)), "{path}: {why}");
        }
    }
}
