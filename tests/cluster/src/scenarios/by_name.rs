//! Devices by name (`--edits=cdi`): what the kubelet keeps is a name, and containerd reads in a file what it is. First as an admin has it,
//! by the chart; then with a device that moves, which no disk of the kernel's does at will: a tree of files stands for its `/sys`, and what
//! it names are two disks of the kernel's.

use crate::cluster::Cluster;
use crate::devgate::COMPONENTS;
use crate::images::BUSYBOX;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

const MOVING: &str = "example.com/moving";

/// The tree, which each node has for itself.
const TREE: &str = "/var/lib/moving";

/// A function of PCI, and the disk beneath it.
const FUNCTION: &str = "devices/pci0000:00/0000:00:05.0";

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    cluster.install_and_wait()?;
    cluster.run_pod("paths", 1)?;
    cluster.name_devices()?;
    until("devgate to tell names", 60, || {
        let pod = cluster.devgate()?;
        let told = pod["spec"]["containers"][0]["args"].to_string();
        if !told.contains("--edits=cdi") {
            bail!("{told}");
        }
        cluster.ready()
    })?;
    cluster.allocatable(cluster.disks.names().len(), 60)?;
    cluster.run_pod("names", 2)?;
    cluster.has_exactly("names", 2)?;
    cluster.has_exactly("paths", 1)?;
    let [file] = &files(cluster)?[..] else {
        bail!("one allocation by name, and the files {:?}", files(cluster)?);
    };
    let before = fs::read(file)?;
    fs::remove_file(file)?;
    let (_, seconds) = timed(|| {
        until("the file to be back", 10, || match fs::read(file)? == before {
            true => Ok(()),
            false => bail!("it is another"),
        })
    })?;
    cluster.note(format!("by-name: a file that was removed is back after {seconds:.1} s"));
    cluster.delete_pod("names")?;
    until("the file to go with its pod", 90, || match files(cluster)?.len() {
        0 => Ok(()),
        left => bail!("{left} are left"),
    })?;
    cluster.delete_pods()?;
    cluster.uninstall()?;
    let moved = moves(cluster);
    // Whatever became of it, the scenarios that follow have the node for themselves.
    let ended = cluster.end_service("devgate");
    moved?;
    ended?;
    fs::remove_dir_all(cluster.file(TREE))?;
    Ok(fs::remove_dir_all(cluster.file("/etc/devgate"))?)
}

/// The files of devices by name.
fn files(cluster: &Cluster) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(cluster.file("/run/cdi"))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(paths)
}

fn moves(cluster: &mut Cluster) -> Result<()> {
    let [first, second, ..] = cluster.disks.names() else {
        bail!("two disks are needed");
    };
    let number = |name: &str| name.trim_start_matches("loop").to_owned();
    let (first, second) = (number(first), number(second));
    cluster.bring_component()?;
    make_function(cluster)?;
    place(cluster, &first)?;
    fs::create_dir_all(cluster.file("/etc/devgate/policy.d"))?;
    let policy = cluster.file("/etc/devgate/policy.d/moving.yaml");
    fs::write(&policy, POLICY)?;
    serve(cluster)?;
    cluster.apply(&pod().to_string())?;
    cluster.runs("moving", 60)?;
    is_at(cluster, &first)?;
    place(cluster, &second)?;
    let told = format!("\"minor\": {second},");
    let (_, seconds) = timed(|| {
        until("the file to say where it is", 30, || {
            let [file] = &files(cluster)?[..] else { bail!("there is no file") };
            let text = fs::read_to_string(file)?;
            if !text.contains(&told) {
                bail!("{text}");
            }
            Ok(())
        })
    })?;
    cluster.note(format!("by-name: where a device has moved is in the file after {seconds:.1} s"));
    is_at(cluster, &first).context("a container that runs has what it was started with")?;
    cluster.in_pod("moving", "busybox touch /tmp/end")?;
    until("the container to start again", 60, || match cluster.restarts("moving")? {
        1 => cluster.runs("moving", 1),
        restarts => bail!("it was started again {restarts} times"),
    })?;
    is_at(cluster, &second)?;
    cluster.delete_pods()
}

const POLICY: &str = "apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  moving:
    component: {file: generic.wasm}
    resources: [example.com/moving]
    hardware:
      - {subsystem: pci, vendor: \"0x1d9b\", use: offer, nodes: [{subsystem: block, access: rw}]}
    config: {devices: [{resource: example.com/moving, subsystem: pci}]}
    health: {enumerate-every: 1s}
";

fn serve(cluster: &Cluster) -> Result<()> {
    let program = cluster.given.program.display().to_string();
    let (components, node_root) = (format!("--components={COMPONENTS}"), format!("--node-root={TREE}"));
    let words = [
        &program,
        "run",
        "--policy=/etc/devgate/policy.d",
        &components,
        &node_root,
        "--edits=cdi",
        "--listen=127.0.0.1:9464",
    ];
    cluster.service("devgate", &words)?;
    until("the device to be allocatable", 60, || match cluster.node_has("allocatable", MOVING)? {
        Some(1) => Ok(()),
        other => bail!("the node has {other:?}"),
    })
}

/// Makes the tree, without its disk.
fn make_function(cluster: &Cluster) -> Result<()> {
    let _there_may_be_none = fs::remove_dir_all(cluster.file(TREE));
    let sys = cluster.file(TREE).join("sys");
    for dir in ["bus/pci/devices", "class/block", "block", "dev/block", FUNCTION] {
        fs::create_dir_all(sys.join(dir))?;
    }
    fs::create_dir_all(cluster.file(TREE).join("dev"))?;
    // Without it nobody knows whether the disk is in use.
    fs::create_dir_all(cluster.file(TREE).join("proc/1"))?;
    fs::write(cluster.file(TREE).join("proc/1/mountinfo"), "1 0 0:1 / / rw - tmpfs tmpfs rw\n")?;
    let function = sys.join(FUNCTION);
    for (name, text) in [("vendor", "0x1d9b\n"), ("class", "0x120000\n"), ("uevent", "DRIVER=moving\n")] {
        fs::write(function.join(name), text)?;
    }
    symlink("../../../bus/pci", function.join("subsystem"))?;
    Ok(symlink(format!("../../../{FUNCTION}"), sys.join("bus/pci/devices/0000:00:05.0"))?)
}

/// Has the disk be that of this number: as the kernel does it, the old one goes first.
fn place(cluster: &Cluster, number: &str) -> Result<()> {
    let (sys, node) = (cluster.file(TREE).join("sys"), cluster.file(TREE).join("dev/moving0"));
    let disk = sys.join(FUNCTION).join("block/moving0");
    for link in ["class/block/moving0", "block/moving0"] {
        let _there_may_be_none = fs::remove_file(sys.join(link));
    }
    let _there_may_be_none = fs::remove_dir_all(&disk);
    let _there_may_be_none = fs::remove_file(&node);
    fs::create_dir_all(&disk)?;
    fs::write(disk.join("dev"), format!("7:{number}\n"))?;
    fs::write(disk.join("uevent"), format!("MAJOR=7\nMINOR={number}\nDEVNAME=moving0\nDEVTYPE=disk\n"))?;
    symlink("../../../../../class/block", disk.join("subsystem"))?;
    for (link, up) in [("class/block/moving0", "../.."), ("block/moving0", "..")] {
        symlink(format!("{up}/{FUNCTION}/block/moving0"), sys.join(link))?;
    }
    let by_number = sys.join(format!("dev/block/7:{number}"));
    let _there_may_be_one = symlink(format!("../../{FUNCTION}/block/moving0"), by_number);
    cluster.node(&["mknod", "-m", "600", &format!("{TREE}/dev/moving0"), "b", "7", number]).map(drop)
}

/// Whether the pod's node is the disk of this number, which it opens as the user that it is.
fn is_at(cluster: &Cluster, number: &str) -> Result<()> {
    let said = cluster.in_pod(
        "moving",
        "busybox id -u; busybox stat -c %t:%T:%u /dev/moving0; busybox head -c 1 /dev/moving0 && echo opened",
    )?;
    let minor: u32 = number.parse()?;
    let wanted = format!("1234\n7:{minor:x}:1234\nopened");
    if said != wanted {
        bail!("the container says {said:?}, and not {wanted:?}");
    }
    Ok(())
}

/// One that ends when it is told to, and is started again.
fn pod() -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "moving", "labels": {"scenario": "yes"}},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": false,
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {"runAsUser": 1234, "runAsGroup": 1234},
            "containers": [{
                "name": "main", "image": BUSYBOX, "imagePullPolicy": "Never",
                "command": ["/bin/busybox", "sh", "-c", "busybox rm -f /tmp/end; while [ ! -e /tmp/end ]; do busybox sleep 0.2; done"],
                "env": [{"name": "PATH", "value": "/bin"}],
                "resources": {"limits": {MOVING: "1"}},
                "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
            }],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
    })
}
