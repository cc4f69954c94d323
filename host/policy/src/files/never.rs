//! Files that no policy can have read: what they tell is another's secret, the kernel's, or acts on hardware.

use crate::attribute_rule;

/// The container runtimes' and Kubernetes' own directories.
const CLUSTER: &[&[&str]] = &[
    &["etc", "kubernetes"],
    &["run", "containerd"],
    &["run", "crio"],
    &["run", "docker"],
    &["run", "secrets"],
    &["var", "lib", "cni"],
    &["var", "lib", "containerd"],
    &["var", "lib", "containers"],
    &["var", "lib", "crio"],
    &["var", "lib", "docker"],
    &["var", "lib", "etcd"],
    &["var", "lib", "k0s"],
    &["var", "lib", "kubelet"],
    &["var", "lib", "rancher"],
    &["var", "run", "containerd"],
    &["var", "run", "crio"],
    &["var", "run", "docker"],
    &["var", "run", "secrets"],
];

/// Why the file with these parts of its path is never read: the reason alone.
pub(crate) fn never(parts: &[&str]) -> Option<&'static str> {
    let lower: Vec<String> = parts.iter().map(|part| part.to_ascii_lowercase()).collect();
    if let Some(why) = lower.iter().find_map(|part| secret(part)) {
        return Some(why);
    }
    match parts {
        ["dev", ..] => Some("is a device node, which hardware and host-nodes grant"),
        ["proc", rest @ ..] => proc(rest),
        ["sys", rest @ ..] => sys(rest),
        ["root" | "home", ..] => Some("is a user's own"),
        ["etc", "shadow" | "shadow-" | "gshadow" | "gshadow-" | "sudoers" | "sudoers.d" | "krb5.keytab", ..] => {
            Some("decides who may log in")
        }
        ["etc", rest @ ..] if rest.contains(&"private") => Some("may hold a key"),
        ["var", "log", ..] => Some("is what every pod of the node writes"),
        ["boot", ..] => Some("may tell the kernel's addresses"),
        _ if CLUSTER.iter().any(|own| parts.starts_with(own)) => Some("is the cluster's own"),
        _ => None,
    }
}

/// Names that say enough, wherever they stand.
fn secret(name: &str) -> Option<&'static str> {
    if name.contains("secret") {
        return Some("may hold a secret");
    }
    let key = name.ends_with("_key")
        || [".key", ".pem", ".p12", ".pfx", ".keytab", ".jks"].iter().any(|end| name.ends_with(end))
        || name.starts_with("id_rsa")
        || name.starts_with("id_ed25519")
        || name.starts_with("id_ecdsa")
        || matches!(name, ".ssh" | ".kube" | ".docker" | ".aws" | ".gnupg" | "kubeconfig");
    if key {
        return Some("may hold a key");
    }
    if name.starts_with("system.map") {
        return Some("tells the kernel's addresses");
    }
    None
}

fn proc(rest: &[&str]) -> Option<&'static str> {
    match rest {
        // Nothing else in /proc starts with a digit.
        [first, ..] if first.starts_with(|c: char| c.is_ascii_digit()) => Some("tells about a process of the node"),
        ["self" | "thread-self", ..] => Some("tells about devgate itself"),
        // Links to what /proc/self has.
        ["net" | "mounts", ..] => Some("tells about devgate itself"),
        ["kcore" | "vmcore", ..] => Some("is the kernel's memory"),
        [
            "kallsyms" | "modules" | "vmallocinfo" | "iomem" | "ioports" | "timer_list" | "sched_debug" | "slabinfo",
            ..,
        ] => Some("may tell the kernel's addresses"),
        ["kmsg", ..] => Some("takes lines out of the kernel's log"),
        ["keys" | "key-users", ..] => Some("tells about keys of the node"),
        ["sysrq-trigger", ..] => Some("acts on the whole node"),
        ["sysvipc", ..] => Some("tells about processes of the node"),
        [.., "environ" | "cmdline"] => Some("may hold a secret that was passed on a command line"),
        _ => None,
    }
}

fn sys(rest: &[&str]) -> Option<&'static str> {
    match rest {
        ["kernel", "debug" | "tracing" | "slab" | "vmcoreinfo", ..] => Some("is for who debugs the kernel"),
        ["kernel", "security", ..] | ["fs", "selinux" | "smackfs", ..] => Some("is the kernel's access control"),
        ["kernel", "config", ..] => Some("is other programs' configuration of the kernel"),
        ["fs", "cgroup" | "pstore" | "bpf", ..] => Some("tells about other pods"),
        ["firmware", ..] => Some("is the node's firmware"),
        _ if rest.iter().any(|part| matches!(*part, "sections" | "notes")) => Some("tells the kernel's addresses"),
        _ => rest.iter().find_map(|part| attribute_rule(part).err()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(path: &str) -> Option<&'static str> {
        never(&path.split('/').skip(1).collect::<Vec<_>>())
    }

    #[test]
    fn what_belongs_to_others_is_never_read() {
        for path in [
            "/proc/1/status",
            "/proc/1",
            "/proc/4242/root/etc/x",
            "/proc/self/status",
            "/proc/thread-self/x",
            "/proc/net/tcp",
            "/proc/kcore",
            "/proc/kallsyms",
            "/proc/modules",
            "/proc/kmsg",
            "/proc/keys",
            "/proc/cmdline",
            "/proc/x/environ",
            "/sys/module/acme/sections/.text",
            "/sys/module/acme/notes/x",
            "/sys/kernel/notes",
            "/sys/kernel/debug/dri/0/x",
            "/sys/devices/pci0000:00/0000:00:01.0/config",
            "/sys/bus/pci/devices/0000:00:01.0/resource0",
            "/sys/devices/x/eeprom",
            "/sys/fs/cgroup/kubepods/x",
            "/sys/firmware/efi/efivars/x",
            "/dev/acme0",
            "/dev/shm/x",
            "/etc/shadow",
            "/etc/shadow-",
            "/etc/ssh/ssh_host_rsa_key",
            "/etc/ssl/private/x",
            "/etc/pki/tls/private/a/b",
            "/root/x",
            "/home/a/x",
            "/opt/vendor/server.key",
            "/opt/vendor/ca.pem",
            "/opt/vendor/client_secret.json",
            "/var/lib/kubelet/config.yaml",
            "/run/secrets/x",
            "/var/run/secrets/kubernetes.io/serviceaccount/token",
            "/etc/kubernetes/kubelet.conf",
            "/var/log/pods/x",
            "/boot/System.map-6.1",
            "/lib/modules/6.1/System.map",
        ] {
            assert!(ask(path).is_some(), "{path}");
        }
        for path in [
            "/proc/driver/acme/version",
            "/proc/driver/acme/gpus/0000:3b:00.0/information",
            "/proc/driver/acme-caps/mig-minors",
            "/proc/devices",
            "/proc/meminfo",
            "/proc/version",
            "/sys/module/acmegpu/version",
            "/sys/class/kfd/kfd/topology/nodes/0/properties",
            "/opt/vendor/version",
            "/etc/os-release",
            "/usr/share/vendor/models.json",
            "/run/vendor/state",
        ] {
            assert_eq!(ask(path), None, "{path}");
        }
    }
}
