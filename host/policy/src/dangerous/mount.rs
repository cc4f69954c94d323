//! Sources of mounts that give power over the whole node.

use super::Danger;
use crate::path::beneath;

/// Directories that are the node's own, and what a container could do with each.
const SYSTEM: &[(&str, &str)] = &[
    ("/boot", "is what the node boots"),
    ("/etc", "is the node's configuration"),
    ("/root", "is root's own directory"),
    ("/home", "is people's own directories"),
    ("/proc", "is the node's processes"),
    ("/sys", "is the node's devices and kernel"),
    ("/dev", "is the node's device nodes, which only hardware and host-nodes hand out one by one"),
    ("/var/lib/kubelet", "is the kubelet's own, with every pod's secrets"),
    ("/var/lib/etcd", "is the cluster's database"),
    ("/var/lib/rancher", "is the cluster's own"),
    ("/var/lib/k0s", "is the cluster's own"),
    ("/var/lib/containerd", "is the container runtime's own"),
    ("/var/lib/containers", "is the container runtime's own"),
    ("/var/lib/docker", "is the container runtime's own"),
    ("/var/lib/crio", "is the container runtime's own"),
    ("/var/lib/cni", "is the container network's own"),
    ("/var/log", "is what every pod of the node writes"),
    ("/var/spool", "is what the node runs by the clock"),
    ("/opt/cni", "is programs that the container runtime runs"),
    ("/opt/nri", "is programs that the container runtime runs"),
];

/// Directories with programs of the node: harmless to look at, not to write to.
const PROGRAMS: &[&str] = &["/bin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/sbin", "/usr"];

/// What the mount of a path of the node, absolute and plain, gives away; nothing where it is an ordinary one. Said of what
/// lies beneath a directory of the node's own, and of what such a directory lies beneath.
///
/// Whether a directory has a socket in it, only the node knows: see [`Danger::SOCKETS`].
#[must_use]
pub fn dangerous_mount(path: &str) -> Option<Danger> {
    let run = ["/run", "/var/run"].iter().any(|run| beneath(path, run));
    if run {
        let why = "is where the node's services have their sockets and secrets";
        return Some(Danger { key: "run", why });
    }
    let system = |why| Some(Danger { key: "system", why });
    if let Some((_, why)) = SYSTEM.iter().find(|(directory, _)| beneath(path, directory)) {
        return system(why);
    }
    if SYSTEM.iter().any(|(directory, _)| beneath(directory, path)) || beneath("/run", path) {
        return system("has directories of the node's own in it");
    }
    None
}

/// The same for a mount that the container may write to.
#[must_use]
pub fn dangerous_if_writable(path: &str) -> Option<Danger> {
    let programs = PROGRAMS.iter().any(|directory| beneath(path, directory));
    programs.then_some(Danger {
        key: "system",
        why: "has programs of the node in it, and the container could write to them",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_own_directories_need_a_word() {
        for (path, key) in [
            ("/", "system"),
            ("/var", "system"),
            ("/var/lib", "system"),
            ("/etc", "system"),
            ("/etc/acme", "system"),
            ("/proc/1", "system"),
            ("/dev/shm", "system"),
            ("/var/lib/kubelet/pods", "system"),
            ("/var/lib/containerd", "system"),
            ("/opt", "system"),
            ("/opt/cni/bin", "system"),
            ("/run", "run"),
            ("/run/vendor", "run"),
            ("/var/run/acme", "run"),
        ] {
            assert_eq!(dangerous_mount(path).map(|danger| danger.key), Some(key), "{path}");
        }
        for path in
            ["/opt/acme", "/usr/lib64/libacme.so", "/srv/models", "/etcetera", "/var/lib/vendor", "/runner", "/usr"]
        {
            assert_eq!(dangerous_mount(path), None, "{path}");
        }
        for path in ["/opt/acme", "/usr", "/lib64/x"] {
            assert!(dangerous_if_writable(path).is_some(), "{path}");
        }
        assert_eq!(dangerous_if_writable("/srv/models"), None);
    }
}
