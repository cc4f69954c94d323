//! What a component is granted it gets; what it asks for besides it does not, and the admin's log says why.

use devgate_fake_kubelet::Pod;
use devgate_tests::Setup;

/// Group 7 has a function that the policy grants and one that it does not; group 8 is one function alone.
const NODE: &str = "\
P: /devices/pci0000:00/0000:00:01.0
E: SUBSYSTEM=pci
E: DRIVER=vfio-pci
A: vendor=0x1d9b\\n
A: class=0x020000\\n
L: iommu_group=../../../kernel/iommu_groups/7

P: /devices/pci0000:00/0000:00:01.1
E: SUBSYSTEM=pci
E: DRIVER=somebody
A: vendor=0x8086\\n
A: class=0x020000\\n
L: iommu_group=../../../kernel/iommu_groups/7

P: /devices/pci0000:00/0000:00:02.0
E: SUBSYSTEM=pci
E: DRIVER=vfio-pci
A: vendor=0x1d9b\\n
A: class=0x020000\\n
L: iommu_group=../../../kernel/iommu_groups/8

P: /devices/virtual/vfio/7
N: vfio/7
E: SUBSYSTEM=vfio
E: DEVNAME=/dev/vfio/7
A: dev=239:0\\n

P: /devices/virtual/vfio/8
N: vfio/8
E: SUBSYSTEM=vfio
E: DEVNAME=/dev/vfio/8
A: dev=239:1\\n

D: /dev/mem=c 1:1
F: /proc/driver/fake/version=570.86\\n
F: /proc/driver/fake/gpus/a/information=1
F: /proc/driver/fake/gpus/b/information=1
I: /proc/driver/fake/shadow=l /etc/shadow
F: /etc/shadow=canary
F: /proc/1/environ=canary
F: /srv/fake/lib.so=elf
I: /srv/open=d
O: /srv/open=0 0777
I: /srv/link=l fake
";

const POLICY: &str = r#"
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  prowler:
    component: {file: prowler.wasm}
    resources: [example.com/prey]
    hardware:
      - {subsystem: pci, vendor: "0x1d9b", use: offer, nodes: [{subsystem: vfio}]}
    files: ["/proc/driver/fake/*", "/proc/driver/fake/gpus/*/information"]
    host-nodes: {exclusive: [/dev/mem]}
    containers:
      env: {PREY_VERSION: any, PREY_LISTED: any, PREY_LOOT: any}
      mounts:
        lib: {source: /srv/fake/lib.so, target: /opt/fake/lib.so}
        open: {source: /srv/open, target: /opt/fake/open}
        link: {source: /srv/link, target: /opt/fake/link}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_granted_is_refused_and_the_log_says_why() -> anyhow::Result<()> {
    let host = Setup::new(POLICY).on(NODE).start().await?;
    host.allocatable("example.com/prey", 1).await?;
    host.kubelet.admit(&Pod::new("a", &[("example.com/prey", 1)])).await?;
    let main = host.kubelet.start_container("a", "main").await.map_err(anyhow::Error::msg)?;
    let env: Vec<_> = main.envs.iter().filter(|(name, _)| name.starts_with("PREY_")).collect();
    insta::assert_snapshot!(format!("{env:?}"), @r#"[("PREY_LISTED", "a b"), ("PREY_LOOT", "nothing"), ("PREY_VERSION", "570.86")]"#);
    let devices: Vec<_> = main.devices.values().map(|device| device.host_path.as_str()).collect();
    assert_eq!(devices, ["/dev/vfio/8"]);
    let refused = |line: &&devgate_tests::Line| line.family == "refused" && line.plugin == "prowler";
    // The log is read beside all else.
    host.wait(|_| host.lines().iter().filter(refused).count() >= 14).await?;
    let mut said: Vec<_> = host.lines().iter().filter(refused).map(|line| line.message.clone()).collect();
    let before = said.len();
    said.sort();
    said.dedup();
    assert_eq!(said.len(), before, "each is told once");
    insta::assert_snapshot!(said.join("\n"), @r#"
    plugin prowler: id 0000:00:01.0 of example.com/prey: node /dev/vfio/7 opens iommu group 7, and function 0000:00:01.1 of that group does not back this id: all of a group go to one container or none does
    plugin prowler: the component asked for directory "/etc/shadow": is never read: it decides who may log in
    plugin prowler: the component asked for directory "/proc/1/environ": is never read: it tells about a process of the node
    plugin prowler: the component asked for directory "/proc/driver/fake/../../1/environ": is not listed (files)
    plugin prowler: the component asked for directory "/proc/driver/fake/shadow": is not listed (files)
    plugin prowler: the component asked for file "/etc/shadow": is never read: it decides who may log in
    plugin prowler: the component asked for file "/proc/1/environ": is never read: it tells about a process of the node
    plugin prowler: the component asked for file "/proc/driver/fake/../../1/environ": is not listed (files)
    plugin prowler: the component asked for file "/proc/driver/fake/shadow": it leads to /etc/shadow, which is never read: it decides who may log in
    plugin prowler: the component asked for mount "etc": no entry of the policy's containers.mounts has this name
    plugin prowler: the component asked for mount "link": source /srv/link: /srv/link is a link
    plugin prowler: the component asked for mount "open": source /srv/open: /srv/open can be written by others than root (mode 0777)
    plugin prowler: the component asked for node "/dev/mem": /dev/mem (c 1:1) is dangerous to give away: it is all of the node's physical memory, and needs "dangerous: [mem]" in the policy
    plugin prowler: the component asked for node "/dev/vfio/7": no entry of the policy's host-nodes matches it
    "#);
    Ok(())
}
