//! The component `nvidia-gpu` and the policy that is deployed with it, on a recorded server with eight GPUs.

use devgate_fake_kubelet::Pod;
use devgate_tests::{Host, Setup};
use std::collections::BTreeSet;

const NODE: &str = include_str!("../../nodes/hgx-h100.umockdev");
const POLICY: &str = include_str!("../../../deploy/policies/nvidia.yaml");
const GPU: &str = "nvidia.com/gpu";
/// The first GPU of the recording, the second, and their UUIDs.
const FIRST: &str = "0000:1b:00.0";
const SECOND: &str = "0000:1f:00.0";
const FIRST_UUID: &str = "GPU-0b8e5f1a-6c3d-4e72-9f10-2a4b6c8d0e12";
const SECOND_UUID: &str = "GPU-1c9f602b-7d4e-4f83-8a21-3b5c7d9e1f23";
const NO_UUID: &str = "GPU-????????-????-????-????-????????????";

/// The deployed policy, for the impatient.
fn policy() -> String {
    let policy = POLICY.replace(
        "health: {unhealthy-after: 2s, healthy-after: 30s}",
        "health: {check-every: 200ms, enumerate-every: 200ms}",
    );
    assert_ne!(policy, POLICY);
    policy
}

/// The deployed policy in its other style, by CDI.
fn cdi_policy() -> String {
    let (variable, rest) = ("      env: {NVIDIA_VISIBLE_DEVICES: \"{property.uuid}\"}\n", "      # env:");
    let policy = policy().replace(variable, "").replace(rest, "      env:");
    let policy = policy.replace("      # cdi:", "      cdi:");
    assert!(policy.contains("\n      cdi:") && policy.contains("\n      env: {NVIDIA_VISIBLE_DEVICES: void}"));
    policy
}

/// A recording in which the paragraph of one PCI function is another.
fn with_function(recording: &str, address: &str, from: &str, to: &str) -> String {
    let start = recording.find(&format!("/{address}\n")).unwrap();
    let end = start + recording[start..].find("\n\n").unwrap();
    let edited = recording[start..end].replace(from, to);
    assert_ne!(edited, recording[start..end], "{from}");
    format!("{}{edited}{}", &recording[..start], &recording[end..])
}

/// A recording in which the driver says something else of one GPU.
fn with_information(recording: &str, address: &str, from: &str, to: &str) -> String {
    let start = recording.find(&format!("F: /proc/driver/nvidia/gpus/{address}/information=")).unwrap();
    let end = start + recording[start..].find('\n').unwrap();
    let edited = recording[start..end].replace(from, to);
    assert_ne!(edited, recording[start..end], "{from}");
    format!("{}{edited}{}", &recording[..start], &recording[end..])
}

/// A recording without a function and the bridge that it is plugged into.
fn without_slot(recording: &str, address: &str) -> String {
    let at = recording.find(&format!("/{address}\n")).unwrap();
    let slot = recording[..at].rsplit('\n').next().unwrap();
    let paragraphs = recording.split("\n\n").filter(|paragraph| !paragraph.starts_with(slot));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn play(host: &Host, recording: &str) -> anyhow::Result<()> {
    host.replay(recording)
}

async fn started(policy: &str, recording: &str) -> anyhow::Result<Host> {
    Setup::new(policy).on(recording).start().await
}

/// The ids of the GPUs that may be given, or may not.
fn listed(host: &Host, healthy: bool) -> BTreeSet<String> {
    let all = host.kubelet.devices(GPU).into_iter();
    all.filter(|(_, (is, _))| *is == healthy).map(|(id, _)| id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_gpus_are_offered_and_two_are_given() -> anyhow::Result<()> {
    let host = started(&policy(), NODE).await?;
    host.allocatable(GPU, 8).await?;
    let numa = host.kubelet.devices(GPU);
    let of = |node: i64| numa.values().filter(|(_, of)| *of == BTreeSet::from([node])).count();
    assert_eq!((of(0), of(1)), (4, 4));
    assert_eq!(numa[FIRST_UUID].1, BTreeSet::from([0]));

    host.kubelet.admit(&Pod::new("two", &[(GPU, 2)])).await?;
    let main = host.kubelet.start_container("two", "main").await.map_err(anyhow::Error::msg)?;
    // In the recording, the UUIDs are in the order of the minor numbers.
    let uuids: Vec<_> = numa.keys().collect();
    let given = host.kubelet.allocated(GPU);
    let minors = uuids.iter().enumerate().filter(|(_, uuid)| given.contains(**uuid));
    let own = minors.map(|(minor, _)| format!("/dev/nvidia{minor}"));
    let shared = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"];
    let expected: BTreeSet<_> = own.chain(shared.map(str::to_owned)).collect();
    assert_eq!(main.devices.keys().cloned().collect::<BTreeSet<_>>(), expected);
    assert_eq!(main.devices.len(), 5);
    assert!(main.devices.values().all(|device| device.permissions == "rw"));
    assert!(main.cdi_devices.is_empty() && main.mounts.is_empty() && main.conflicts.is_empty());
    let complaints = host.lines().into_iter().filter(|line| line.level != "INFO");
    assert_eq!(complaints.map(|line| line.message).collect::<Vec<_>>(), [""; 0]);
    Ok(())
}

/// Each failure: what the log says, and that the GPU is still there, and heals.
#[tokio::test(flavor = "multi_thread")]
async fn a_gpu_that_fails_is_unhealthy_and_not_gone() -> anyhow::Result<()> {
    let unknown = with_information(NODE, FIRST, FIRST_UUID, NO_UUID);
    let failures = [
        (
            with_information(&unknown, FIRST, "96.00.74.00.01", "??.??.??.??.??"),
            "the driver does not know its UUID any more: it is not initialized, or it failed",
        ),
        (
            with_function(NODE, FIRST, "vendor=0x10de", "vendor=0xffff"),
            "its PCI function does not answer: vendor reads 0xffff",
        ),
        (
            with_function(NODE, FIRST, "TOTAL_ERR_FATAL 0", "TOTAL_ERR_FATAL 1"),
            "1 fatal PCIe errors since boot, more than 0 (fatal-errors)",
        ),
        (
            with_function(NODE, FIRST, "current_link_width=16", "current_link_width=63"),
            "its PCI function does not answer: its link has 63 lanes, which no link has",
        ),
        (with_function(NODE, FIRST, "E: DRIVER=nvidia\n", ""), "it has no driver now"),
        (NODE.replace("D: /dev/nvidia0=c 195:0\n", ""), "node /dev/nvidia0 is missing"),
    ];
    let host = started(&policy(), NODE).await?;
    host.allocatable(GPU, 8).await?;
    for (recording, why) in failures {
        play(&host, &recording)?;
        host.allocatable(GPU, 7).await?;
        assert_eq!(listed(&host, false), BTreeSet::from([FIRST_UUID.to_owned()]), "{why}");
        let expected = format!("plugin nvidia: device {FIRST_UUID} is unhealthy: {why}");
        host.logged(|line| line.message == expected).await?;
        // Enumerated again meanwhile, it is still there.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        assert_eq!((listed(&host, true).len(), listed(&host, false).len()), (7, 1), "{why}");
        play(&host, NODE)?;
        host.allocatable(GPU, 8).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gpu_that_is_taken_away_is_gone() -> anyhow::Result<()> {
    let host = started(&policy(), NODE).await?;
    host.allocatable(GPU, 8).await?;
    let excluded = with_information(NODE, FIRST, "Excluded:\\t No", "Excluded:\\t Yes");
    let information = "F: /proc/driver/nvidia/gpus/0000:1b:00.0/";
    let unplugged = without_slot(NODE, FIRST);
    let unplugged: Vec<_> = unplugged.split('\n').filter(|line| !line.starts_with(information)).collect();
    for recording in [excluded, unplugged.join("\n"), with_function(NODE, FIRST, "DRIVER=nvidia", "DRIVER=vfio-pci")] {
        play(&host, &recording)?;
        host.wait(|kubelet| kubelet.devices(GPU).len() == 7).await?;
        assert_eq!(listed(&host, true).len(), 7);
        assert!(!listed(&host, true).contains(FIRST_UUID));
        play(&host, NODE)?;
        host.allocatable(GPU, 8).await?;
    }
    Ok(())
}

/// What cannot be described from the start is left out, and the log says why; the id of a failed GPU is never one.
#[tokio::test(flavor = "multi_thread")]
async fn a_gpu_that_was_never_known_is_not_listed() -> anyhow::Result<()> {
    let recording = with_information(NODE, FIRST, FIRST_UUID, NO_UUID);
    let host = started(&policy(), &recording).await?;
    host.allocatable(GPU, 7).await?;
    assert_eq!(host.kubelet.devices(GPU).len(), 7);
    assert!(host.kubelet.devices(GPU).keys().all(|id| !id.contains('?')));
    let line = host.logged(|line| line.level == "WARN").await?;
    insta::assert_snapshot!(line.message, @"GPU 0000:1b:00.0 cannot be described now: it is not initialized (nvidia-persistenced does that), or it failed");
    play(&host, NODE)?;
    host.allocatable(GPU, 8).await?;
    Ok(())
}

/// The commands that look say the same as the log.
#[test]
fn why_a_gpu_is_missing_is_told_to_who_asks() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let (policy, node) = (dir.path().join("policy.yaml"), dir.path().join("node.umockdev"));
    std::fs::write(&policy, POLICY)?;
    std::fs::write(&node, with_information(NODE, FIRST, FIRST_UUID, NO_UUID))?;
    let asked = |command: &[&str]| -> anyhow::Result<crate::look::Said> {
        let mut args: Vec<std::path::PathBuf> = command.iter().map(Into::into).collect();
        args.extend(["--policy".into(), policy.clone(), "--node-root".into(), node.clone()]);
        args.extend(["--components".into(), devgate_tests::components()?]);
        crate::look::look(args)
    };
    let why =
        "GPU 0000:1b:00.0 cannot be described now: it is not initialized (nvidia-persistenced does that), or it failed";
    let first = asked(&["explain", FIRST])?;
    assert_eq!(first.code, Some(5), "{}", first.err);
    let expected = format!(
        "{FIRST} is not offered: plugin nvidia may offer it, and its component cannot describe it now: {why}\n"
    );
    assert!(first.out.starts_with(&expected), "{}", first.out);

    let json: serde_json::Value = serde_json::from_str(&asked(&["check", "--run", "--output", "json"])?.out)?;
    let plugin = &json["plugins"][0];
    assert_eq!(plugin["said"], serde_json::json!([{"level": "warn", "text": why}]));
    let unused = "1 offered device backs no unit: 0000:1b:00.0 (which its component cannot describe now)";
    let findings = plugin["findings"].as_array().expect("findings");
    let found = findings.iter().find(|finding| finding["code"] == "device-unused").expect("it is found");
    assert_eq!(found["message"], unused);
    assert_eq!((&plugin["outcome"], &plugin["units"]["healthy"]), (&"works".into(), &7.into()));
    Ok(())
}

/// If the driver were asked about a GPU that sleeps, its answer would show: at the start by the GPU in the list, later by a
/// healthy one that is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_sleeping_gpu_is_not_asked() -> anyhow::Result<()> {
    let asleep = |recording: &str, gpu| {
        let recording = with_function(recording, gpu, "runtime_status=active", "runtime_status=suspended");
        with_function(&recording, gpu, "power/control=on", "power/control=auto")
    };
    let host = started(&policy(), &asleep(NODE, FIRST)).await?;
    host.allocatable(GPU, 7).await?;
    assert!(!host.kubelet.devices(GPU).contains_key(FIRST_UUID), "it was asked, and woke");
    host.logged(|line| line.message.ends_with("it sleeps and is not woken to be asked")).await?;

    // Now one that is known falls asleep, while what the driver would say of it, and of another one, gets bad.
    let third = "0000:43:00.0";
    let bad = with_information(NODE, SECOND, SECOND_UUID, NO_UUID);
    let bad = with_information(&bad, third, "GPU-2da0713c-8e5f-4094-9b32-4c6d8eaf2034", NO_UUID);
    play(&host, &asleep(&bad, SECOND))?;
    host.wait(|kubelet| kubelet.devices(GPU).values().any(|(healthy, _)| !healthy)).await?;
    // The first is awake by now.
    host.allocatable(GPU, 7).await?;
    let unhealthy = BTreeSet::from(["GPU-2da0713c-8e5f-4094-9b32-4c6d8eaf2034".to_owned()]);
    assert_eq!(listed(&host, false), unhealthy, "the one that sleeps was asked");
    assert!(listed(&host, true).contains(SECOND_UUID));
    play(&host, &bad)?;
    host.allocatable(GPU, 6).await?;
    assert!(listed(&host, false).contains(SECOND_UUID), "awake, it is asked");
    Ok(())
}

/// Network adapters through vfio, by another plugin on the same node.
const NICS: &str = r#"
  nics:
    component: {file: generic.wasm}
    resources: [example.com/vf]
    hardware:
      - {subsystem: pci, vendor: "0x15b3", device: "0x101e", driver: vfio-pci, use: offer, nodes: [{subsystem: vfio}]}
    config:
      devices:
        - {resource: example.com/vf, subsystem: pci, driver: vfio-pci}
"#;

/// Wide grants make no GPU of what is none, plugins on one node do not disturb each other, and filters of the policy hold.
#[tokio::test(flavor = "multi_thread")]
async fn gpus_and_adapters_are_offered_side_by_side() -> anyhow::Result<()> {
    let wide = policy().replace(
        r#"{subsystem: pci, vendor: "0x10de", class: ["0x0300", "0x0302"], use: offer}"#,
        r#"{subsystem: pci, vendor: ["0x10de", "0x15b3", "0x1a03"], class: ["0x02", "0x03", "0x0680"], use: offer}"#,
    );
    let wide = wide.replace(
        "    containers:\n",
        &format!("    except: [{{id: {SECOND_UUID}}}, {{device: \"0000:c[37]:00.0\"}}]\n    containers:\n"),
    );
    // In the order of the policy the adapters come first: what they offer the GPUs' plugin must not.
    let (head, plugin) = wide.split_once("plugins:").unwrap();
    let both = format!("{head}plugins:{NICS}{plugin}");
    let host = started(&both, NODE).await?;
    host.allocatable(GPU, 5).await?;
    host.allocatable("example.com/vf", 1).await?;
    assert_eq!(host.kubelet.devices(GPU).len(), 5);
    assert!(!host.kubelet.devices(GPU).contains_key(SECOND_UUID));
    let pod = Pod::new("a", &[(GPU, 1), ("example.com/vf", 1)]);
    host.kubelet.admit(&pod).await?;
    let main = host.kubelet.start_container("a", "main").await.map_err(anyhow::Error::msg)?;
    assert!(main.devices.contains_key("/dev/vfio/142"), "{:?}", main.devices.keys());
    assert!(main.conflicts.is_empty());
    Ok(())
}

/// Devices by closeness, and what the container's runtime is told, by either of the policy's two styles.
#[tokio::test(flavor = "multi_thread")]
async fn a_pair_under_one_switch_is_given_by_its_names() -> anyhow::Result<()> {
    for (policy, by_cdi) in [(policy(), false), (cdi_policy(), true)] {
        let host = started(&policy, NODE).await?;
        host.allocatable(GPU, 8).await?;
        // One is taken, so that its switch has no pair any more.
        host.kubelet.admit(&Pod::new("one", &[(GPU, 1)])).await?;
        let taken = host.kubelet.allocated(GPU);
        host.kubelet.admit(&Pod::new("two", &[(GPU, 2)])).await?;
        let given: BTreeSet<_> = host.kubelet.allocated(GPU).difference(&taken).cloned().collect();
        // In the recording, the UUIDs are in the order of the minor numbers, and each switch has two.
        let devices = host.kubelet.devices(GPU);
        let at: Vec<_> = devices.keys().enumerate().filter(|(_, id)| given.contains(*id)).map(|(n, _)| n / 2).collect();
        assert!(at.len() == 2 && at[0] == at[1], "{at:?}");

        let main = host.kubelet.start_container("two", "main").await.map_err(anyhow::Error::msg)?;
        let variable = main.envs["NVIDIA_VISIBLE_DEVICES"].as_str();
        let named: BTreeSet<_> = given.iter().map(|id| format!("nvidia.com/gpu={id}")).collect();
        if by_cdi {
            assert_eq!((variable, main.cdi_devices), ("void", named));
        } else {
            let of: BTreeSet<_> = variable.split(',').map(str::to_owned).collect();
            assert_eq!((of, main.cdi_devices.len()), (given, 0));
        }
    }
    Ok(())
}

/// A recording with more lines of the kernel's log.
fn saying(recording: &str, lines: &[(u64, &str)]) -> String {
    let said: String = lines.iter().map(|(micros, text)| format!("K: {micros} {text}\n")).collect();
    format!("{recording}\n{said}")
}

/// From the kernel's line to the kubelet's list and back: what a program caused takes nothing away, what asks for a reset does,
/// for its GPU alone, across a restart of the host and until the driver is loaded again; and the policy's word counts.
#[tokio::test(flavor = "multi_thread")]
async fn an_xid_takes_its_gpu_away_until_it_is_made_good() -> anyhow::Result<()> {
    let program = (10_000_000, "NVRM: Xid (PCI:0000:1b:00): 94, pid=1234, name=train, Contained memory error");
    let forged = (10_000_001, "train[1234]: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.");
    let broken =
        (20_000_000, "NVRM: Xid (PCI:0000:1f:00): 119, pid=1234, name=train, Timeout waiting for RPC from GSP");
    let loaded =
        (30_000_000, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024");
    let host = started(&policy(), NODE).await?;
    host.allocatable(GPU, 8).await?;
    play(&host, &saying(NODE, &[program, forged]))?;
    host.logged(|line| line.message.contains("GPU 0000:1b:00: Xid 94: contained memory error")).await?;
    play(&host, &saying(NODE, &[program, forged, broken]))?;
    host.allocatable(GPU, 7).await?;
    assert_eq!(listed(&host, false), BTreeSet::from([SECOND_UUID.to_owned()]));
    host.logged(|line| line.message.contains("Xid 119: GSP RPC timeout, 20 s after boot")).await?;
    play(&host, &saying(NODE, &[program, forged, broken, loaded]))?;
    host.allocatable(GPU, 8).await?;
    Ok(())
}

/// In MIG mode the driver writes the instance behind the place; the GPU is the same.
#[tokio::test(flavor = "multi_thread")]
async fn an_xid_of_an_instance_is_its_gpus() -> anyhow::Result<()> {
    let both = (
        10_000_000,
        "NVRM: Xid (PCI:0000:1b:00 GPU-I:01 GPU-CI:00): 119, pid=1234, name=train, Timeout waiting for RPC from GSP",
    );
    let instance = (10_000_001, "NVRM: Xid (PCI:0000:1f:00 GPU-I:02): 95, pid=1234, name=train, Uncontained error");
    let host = started(&policy(), &saying(NODE, &[both, instance])).await?;
    host.allocatable(GPU, 6).await?;
    let expected = [FIRST_UUID, SECOND_UUID].map(str::to_owned);
    assert_eq!(listed(&host, false), BTreeSet::from(expected));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_says_what_an_xid_asks_for() -> anyhow::Result<()> {
    let contained = (10_000_000, "NVRM: Xid (PCI:0000:1b:00): 94, pid=1234, name=train, Contained memory error");
    let timeout = (10_000_001, "NVRM: Xid (PCI:0000:1f:00): 109, pid=1234, name=train, Ch 00000008");
    let policy = format!("{}    config: {{xid: {{\"94\": reset, \"109\": ignore}}}}\n", policy());
    let host = started(&policy, &saying(NODE, &[contained, timeout])).await?;
    host.allocatable(GPU, 7).await?;
    assert_eq!(listed(&host, false), BTreeSet::from([FIRST_UUID.to_owned()]));
    Ok(())
}
