//! `containers.device-info`: whoever makes a pod's network finds the PCI function behind an id, for as long as a pod has it.

use devgate_fake_kubelet::Pod;
use devgate_tests::{Host, Setup};
use std::path::Path;
use std::time::{Duration, Instant};

/// A physical function and two virtual ones, one with an RDMA device.
const NODE: &str = "\
P: /devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0
E: SUBSYSTEM=pci
E: DRIVER=mlx5_core
A: vendor=0x15b3\\n
A: sriov_numvfs=2\\n

P: /devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1
E: SUBSYSTEM=pci
E: DRIVER=mlx5_core
A: vendor=0x15b3\\n
A: device=0x101e\\n
L: physfn=../0000:3b:00.0

P: /devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/infiniband/mlx5_2
E: SUBSYSTEM=infiniband

P: /devices/pci0000:3a/0000:3a:00.0/0000:3b:00.2
E: SUBSYSTEM=pci
E: DRIVER=mlx5_core
A: vendor=0x15b3\\n
A: device=0x101e\\n
L: physfn=../0000:3b:00.0

P: /devices/virtual/misc/vhost-net
N: vhost-net
E: SUBSYSTEM=misc
E: DEVNAME=/dev/vhost-net
E: MAJOR=10
E: MINOR=238
A: dev=10:238\\n
";

/// Units without a node are unhealthy by the generic component's own word, so each has vhost-net.
const POLICY: &str = r#"
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  nics:
    component: {file: generic.wasm}
    resources: [example.com/vf]
    hardware:
      - {subsystem: pci, vendor: "0x15b3", device: "0x101e", use: offer}
    host-nodes: {shared: /dev/vhost-net}
    containers: {device-info: true}
    shares-hardware: true
    health: {check-every: 200ms, enumerate-every: 200ms}
    config:
      devices:
        - {resource: example.com/vf, id: a, group: [{subsystem: pci, name: "0000:3b:00.1"}, {node: /dev/vhost-net}]}
        - {resource: example.com/vf, id: b, group: [{subsystem: pci, name: "0000:3b:00.2"}, {node: /dev/vhost-net}]}
        - {resource: example.com/vf, id: both, group: [{subsystem: pci, name: "0000:3b:00.*"}, {node: /dev/vhost-net}]}
"#;

const RESOURCE: &str = "example.com/vf";
const TIMEOUT: Duration = Duration::from_secs(60);

fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < TIMEOUT, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn started(dir: &Path) -> anyhow::Result<Host> {
    let told = dir.to_str().expect("plain");
    let args = ["--device-info-dir", told, "--pod-resources-every", "200"];
    let host = Setup::new(POLICY).on(NODE).args(&args).start().await?;
    host.allocatable(RESOURCE, 2).await?;
    Ok(host)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_s_function_is_told_until_no_pod_has_it() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let told = dir.path().join("devinfo/dp");
    let mut host = started(&told).await?;
    let rejected =
        |line: &devgate_tests::Line| line.message.contains("id both of example.com/vf: it is made of 2 PCI functions");
    // What a file cannot tell of is not offered.
    host.logged(rejected).await?;
    host.kubelet.admit(&Pod::new("net", &[(RESOURCE, 2)])).await?;
    assert_eq!(names(&told), ["example.com-vf-a-device.json", "example.com-vf-b-device.json"]);
    let said = |id: &str| std::fs::read_to_string(told.join(format!("example.com-vf-{id}-device.json")));
    insta::assert_snapshot!(said("a")?, @r#"{"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:3b:00.1","vhost-net":"/dev/vhost-net","rdma-device":"mlx5_2","pf-pci-address":"0000:3b:00.0"}}"#);
    insta::assert_snapshot!(said("b")?, @r#"{"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:3b:00.2","vhost-net":"/dev/vhost-net","pf-pci-address":"0000:3b:00.0"}}"#);

    // A reboot takes the directory, and the pod is still there.
    host.end(rustix::process::Signal::TERM).await?;
    std::fs::remove_dir_all(&told)?;
    host.spawn()?;
    until("told again", || names(&told).len() == 2).await;

    std::fs::write(told.join("somebody-elses-device.json"), "{}")?;
    // Until the new host has seen that the pod has them.
    tokio::time::sleep(Duration::from_secs(2)).await;
    host.kubelet.remove("net");
    until("gone with the pod", || names(&told) == ["somebody-elses-device.json"]).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allocation_that_cannot_be_told_of_fails() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let told = dir.path().join("dp");
    std::fs::write(&told, "in the way")?;
    let host = started(&told).await?;
    let error = host.kubelet.admit(&Pod::new("net", &[(RESOURCE, 1)])).await.unwrap_err().to_string();
    assert!(error.contains("device-info: file ") && error.contains("(--device-info-dir)"), "{error}");
    Ok(())
}
