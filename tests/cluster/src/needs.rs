//! What a machine must have, and where it comes from.

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Programs on the path, with Debian's package of each.
const PROGRAMS: &[(&str, &str)] = &[
    ("containerd", "containerd, 1.7 or later: from trixie where Debian is older"),
    ("ctr", "containerd, 1.7 or later: from trixie where Debian is older"),
    ("runc", "runc"),
    ("openssl", "openssl"),
    ("ip", "iproute2"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("setsid", "util-linux"),
    ("curl", "curl"),
    ("python3", "python3"),
    ("docker-registry", "docker-registry"),
    ("skopeo", "skopeo"),
];

/// What a release of Kubernetes has, and etcd.
pub(crate) const BINARIES: &[&str] =
    &["kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"];

/// Where distributions put the plugins of CNI.
const CNI: &[&str] = &["/usr/lib/cni", "/opt/cni/bin"];

/// Fails with everything that is missing, each with what to do about it.
///
/// # Errors
/// When anything is missing.
pub(crate) fn all(kubernetes: &Path) -> Result<()> {
    let mut missing = Vec::new();
    let uid = crate::process::read(Command::new("id").arg("-u"))?;
    if uid != "0" {
        missing.push("root: namespaces, mounts and control groups are made".to_owned());
    }
    if kubernetes.as_os_str().is_empty() {
        missing.push(format!(
            "KUBERNETES: the folder with {} (CONTRIBUTING.md says where they come from)",
            BINARIES.join(", ")
        ));
    } else {
        for name in BINARIES.iter().filter(|name| !kubernetes.join(name).is_file()) {
            missing.push(format!("{}: CONTRIBUTING.md says where it comes from", kubernetes.join(name).display()));
        }
    }
    for (program, package) in PROGRAMS {
        if !on_the_path(program) {
            missing.push(format!("{program} (Debian: {package})"));
        }
    }
    if cni().is_none() {
        missing.push("the plugins of CNI (Debian: containernetworking-plugins)".to_owned());
    }
    if !is_static(Path::new("/bin/busybox")) {
        missing.push("/bin/busybox, static (Debian: busybox-static)".to_owned());
    }
    if !Path::new("/dev/loop-control").exists() {
        missing.push("/dev/loop-control: the kernel's loop devices, which are the hardware".to_owned());
    }
    if missing.is_empty() {
        return Ok(());
    }
    bail!("a cluster needs what is not here:\n  {}", missing.join("\n  "))
}

/// The folder of CNI's plugins.
pub(crate) fn cni() -> Option<PathBuf> {
    CNI.iter().map(PathBuf::from).find(|dir| dir.join("ptp").is_file() && dir.join("host-local").is_file())
}

fn on_the_path(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", "command -v \"$0\"", program])
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether a program runs in an image that has nothing else: it asks for no loader.
fn is_static(program: &Path) -> bool {
    std::fs::read(program).is_ok_and(|bytes| {
        let start = bytes.get(..4096).unwrap_or(&bytes);
        !start.windows(7).any(|text| text == b"/lib64/" || text == b"/lib/ld")
    })
}
