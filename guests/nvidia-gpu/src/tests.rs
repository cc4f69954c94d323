//! The component natively, through the plugin layer of a real host: instances, vfio, and the whole GPUs beside them.

use crate::NvidiaGpu;
use devgate_testing::{Change, Rig, Unit, Verdict};

const POLICY: &str = include_str!("../policy.yaml");
const NODE: &str = include_str!("../nodes/mig-vfio.umockdev");
const GPU: &str = "nvidia.com/gpu";
const MIG: &str = "nvidia.com/mig";
const VFIO: &str = "nvidia.com/vfio";
/// The whole GPU, and the instances by GPU instance and compute instance.
const WHOLE: &str = "GPU-8a1c5e02-3b7d-4f96-a041-6c2e8f0b1d37";
const ONE: &str = "MIG-1d4f7a60-2b5c-5e83-9c17-3a6d8e0f1b25";
const TWO: &str = "MIG-2e508b71-3c6d-5f94-8d28-4b7e9f102c36";
const FIVE_0: &str = "MIG-3f619c82-4d7e-50a5-9e39-5c8fa0213d47";
const FIVE_1: &str = "MIG-4072ad93-5e8f-51b6-af4a-6d90b1324e58";
const CAPABILITIES: &str = "/proc/driver/nvidia/capabilities/gpu1/mig";

/// As Cargo.toml has it.
const OPTIONAL: [&str; 4] = ["files", "host-paths", "kernel-log", "state"];

fn rig() -> Rig {
    Rig::of::<NvidiaGpu>(POLICY, "nvidia", NODE)
}

fn without_specification() -> Rig {
    let policy = POLICY.replace("      cdi-spec: /var/run/cdi/nvidia.yaml\n", "");
    Rig::of::<NvidiaGpu>(&policy, "nvidia", NODE)
}

/// The nodes that are its own, without what all have.
fn own(unit: &Unit) -> Vec<&str> {
    let shared = ["/dev/nvidiactl rw", "/dev/nvidia-uvm rw", "/dev/nvidia-uvm-tools rw"];
    unit.nodes.iter().map(String::as_str).filter(|node| !shared.contains(node)).collect()
}

#[test]
fn a_gpu_is_offered_whole_or_in_parts() {
    let survey = rig().survey();
    assert_eq!(survey.ids(GPU), [WHOLE], "{survey}");
    assert_eq!(survey.ids(MIG), [ONE, TWO, FIVE_0, FIVE_1], "{survey}");
    assert!(survey.units.iter().all(Unit::is_healthy), "{survey}");
    assert!(survey.rejected.is_empty() && survey.denied.is_empty() && survey.unread.is_empty(), "{survey}");
    assert_eq!(own(survey.unit(WHOLE)), ["/dev/nvidia0 rw"]);
    let part = survey.unit(FIVE_1);
    assert_eq!(
        own(part),
        ["/dev/nvidia-caps/nvidia-cap183 rw", "/dev/nvidia-caps/nvidia-cap185 rw", "/dev/nvidia1 rw"]
    );
    assert_eq!(part.nodes.len(), 6);
    for (name, value) in [
        ("gi", "5"),
        ("ci", "1"),
        ("gpu", "GPU-9b2d6f13-4c8e-4fa7-b152-7d3f901c2e48"),
        ("mig", "MIG-GPU-9b2d6f13-4c8e-4fa7-b152-7d3f901c2e48/5/1"),
        ("uuid", FIVE_1),
        ("cdi", FIVE_1),
        ("pci", "0000:65:00.0"),
        ("model", "NVIDIA A100 80GB PCIe"),
        ("compute", "8.0"),
        ("numa", "0"),
    ] {
        assert_eq!(part.property(name), Some(value), "{name}");
    }
    assert_eq!(part.property("memory"), None, "that is the whole GPU's");
    let said: Vec<String> = survey.said.iter().map(ToString::to_string).collect();
    let why = "the CDI specification has no such GPU: it is in MIG mode and not cut yet, or the specification is old";
    assert_eq!(said, [format!("warn: GPU 0000:b1:00.0 is left out: {why}")]);
}

#[test]
fn an_instance_brings_its_gpus_node_and_its_own_and_nothing_of_its_sisters() {
    let mut rig = rig();
    let reply = rig.allocate(MIG, &[ONE]).unwrap();
    let nodes: Vec<_> = reply.nodes.iter().map(|node| node.host_path.as_str()).collect();
    assert_eq!(
        nodes,
        [
            "/dev/nvidia-caps/nvidia-cap147",
            "/dev/nvidia-caps/nvidia-cap148",
            "/dev/nvidia-uvm",
            "/dev/nvidia-uvm-tools",
            "/dev/nvidia1",
            "/dev/nvidiactl"
        ]
    );
    assert!(reply.cdi.iter().eq([&format!("{GPU}={ONE}")]));
    rig.allocate(MIG, &[TWO]).unwrap();
    rig.allocate(MIG, &[FIVE_0, FIVE_1]).unwrap();
    let reply = rig.allocate(GPU, &[WHOLE]).unwrap();
    assert!(reply.cdi.iter().eq([&format!("{GPU}={WHOLE}")]));
}

#[test]
fn a_whole_gpu_that_a_pod_has_is_not_cut_under_it() {
    let mut rig = rig();
    rig.allocate(GPU, &[WHOLE]).unwrap();
    let directory = "/proc/driver/nvidia/capabilities/gpu0/mig/gi1";
    rig.file(&format!("{directory}/access"), "DeviceFileMinor: 12\nDeviceFileMode: 292\n");
    rig.file(&format!("{directory}/ci0/access"), "DeviceFileMinor: 13\nDeviceFileMode: 292\n");
    rig.plug("D: /dev/nvidia-caps/nvidia-cap12=c 508:12\nD: /dev/nvidia-caps/nvidia-cap13=c 508:13\n");
    let specification = "devices:\n- containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n    - path: \
                         /dev/nvidia-caps/nvidia-cap12\n    - path: /dev/nvidia-caps/nvidia-cap13\n  name: MIG-new\n";
    rig.file("/var/run/cdi/nvidia.yaml", specification);
    let survey = rig.survey();
    let new = survey.unit("MIG-new").unhealthy.clone().unwrap();
    assert!(new.contains(&format!("is already given to {WHOLE} of plugin nvidia")), "{new}");
    assert!(!survey.unit(WHOLE).is_healthy(), "what a pod has is listed until it is free");
    rig.release(GPU, &[WHOLE]).unwrap();
    let survey = rig.survey();
    assert!(survey.unit("MIG-new").is_healthy() && survey.ids(GPU).is_empty(), "{survey}");
}

#[test]
fn an_instance_is_as_well_as_its_gpu_and_as_long_as_it_is_there() {
    let mut rig = rig();
    rig.survey();
    rig.kernel("NVRM: Xid (PCI:0000:65:00 GPU-I:01): 94, pid=4711, name=train, Contained memory error");
    assert!(rig.survey().units.iter().all(Unit::is_healthy), "a contained error takes nothing away");
    rig.kernel("NVRM: Xid (PCI:0000:65:00): 95, Uncontained memory error");
    let survey = rig.survey();
    let ill: Vec<_> = survey.units.iter().filter(|unit| !unit.is_healthy()).map(|unit| unit.id.as_str()).collect();
    assert_eq!(ill, [ONE, TWO, FIVE_0, FIVE_1]);
    rig.kernel("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024");
    assert!(rig.survey().units.iter().all(Unit::is_healthy));
    // One that a pod has and that is gone is not silently gone.
    rig.allocate(MIG, &[TWO]).unwrap();
    for path in ["gi2/ci0/access", "gi2/access"] {
        rig.change(Change::RemoveFile(format!("{CAPABILITIES}/{path}")));
    }
    let survey = rig.survey();
    assert_eq!(survey.ids(MIG), [ONE, TWO, FIVE_0, FIVE_1]);
    assert_eq!(survey.unit(TWO).verdict, Some(Verdict::Unhealthy("its instance is gone".to_owned())));
    assert!(rig.allocate(MIG, &[TWO]).is_err());
}

#[test]
fn without_a_specification_instances_go_by_their_place() {
    let mut rig = without_specification();
    let survey = rig.survey();
    let ids = ["0000:65:00.0-gi1-ci0", "0000:65:00.0-gi2-ci0", "0000:65:00.0-gi5-ci0", "0000:65:00.0-gi5-ci1"];
    assert_eq!(survey.ids(MIG), ids);
    assert_eq!(survey.ids(GPU).len(), 2, "nothing tells that the last one is in MIG mode");
    let part = survey.unit(ids[0]);
    assert_eq!((part.property("uuid"), part.property("cdi")), (None, None));
    let refused = rig.allocate(MIG, &[ids[0]]).unwrap_err().to_string();
    assert!(refused.contains("cdi"), "the policy's template has nothing to fill in: {refused}");
}

#[test]
fn a_specification_that_cannot_be_read_takes_nothing_away_and_gives_nothing() {
    const SPECIFICATION: &str = "/var/run/cdi/nvidia.yaml";
    const ALL: [&str; 3] = ["0000:17:00.0", "0000:65:00.0", "0000:b1:00.0"];
    let mut fresh = rig();
    fresh.file(SPECIFICATION, "nothing of it\n");
    let survey = fresh.survey();
    assert!(survey.units.is_empty(), "{survey}");
    assert_eq!(survey.unread, ALL);
    assert!(survey.has_said("has no devices of a CDI specification"), "{survey}");

    let mut rig = rig();
    rig.survey();
    let gone = Change::RemoveFile(SPECIFICATION.to_owned());
    let torn = Change::SetFile { path: SPECIFICATION.to_owned(), value: b"devices:\n".to_vec() };
    for change in [gone, torn] {
        rig.change(change);
        let survey = rig.survey();
        assert_eq!((survey.ids(GPU), survey.ids(MIG)), (vec![WHOLE], vec![ONE, TWO, FIVE_0, FIVE_1]));
        assert!(survey.units.iter().all(Unit::is_healthy), "{survey}");
        assert_eq!(survey.unread, ALL);
    }
    assert!(rig.allocate(MIG, &[ONE]).unwrap().cdi.iter().eq([&format!("{GPU}={ONE}")]));
}

/// What the policy grants opens instances, and neither cuts GPUs nor the memory of another node's.
#[test]
fn capabilities_that_are_no_instances_are_not_granted() {
    let mut rig = rig();
    rig.survey();
    for (number, is_granted) in
        [(1, false), (2, false), (3, true), (42, true), (999, true), (3_999, true), (4_323, false)]
    {
        for (path, minor) in [("access", number), ("ci0/access", 148)] {
            let text = format!("DeviceFileMinor: {minor}\nDeviceFileMode: 292\n");
            rig.file(&format!("{CAPABILITIES}/gi1/{path}"), &text);
        }
        rig.plug(&format!("D: /dev/nvidia-caps/nvidia-cap{number}=c 508:{number}\n"));
        let name = "devices:\n- containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia1\n    - path: /dev/nvidia-caps/nvidia-cap148\n    \
                    - path: /dev/nvidia-caps/nvidia-cap";
        rig.file("/var/run/cdi/nvidia.yaml", &format!("{name}{number}\n  name: MIG-{number}\n"));
        let survey = rig.survey();
        assert_eq!(survey.ids(MIG).contains(&format!("MIG-{number}").as_str()), is_granted, "{survey}");
    }
}

#[test]
fn without_the_configuration_nothing_is_asked_of_instances() {
    let policy = POLICY
        .replace("      mig: nvidia.com/mig\n", "")
        .replace("      cdi-spec: /var/run/cdi/nvidia.yaml\n", "      modeset: false\n");
    let survey = Rig::of::<NvidiaGpu>(&policy, "nvidia", NODE).survey();
    assert_eq!(survey.ids(GPU).len(), 3, "as whole GPUs, as a GPU that cannot be cut is");
    assert!(survey.ids(MIG).is_empty() && survey.denied.is_empty(), "{survey}");
}

#[test]
fn gpus_on_vfio_are_given_by_group() {
    let mut rig = Rig::of::<NvidiaGpu>(POLICY, "nvidia-vfio", NODE).can_do_without(&OPTIONAL);
    let survey = rig.survey();
    assert_eq!(survey.ids(VFIO), ["0000:ca:00.0", "0000:e3:00.0"], "{survey}");
    assert!(survey.rejected.is_empty() && survey.denied.is_empty() && survey.said.is_empty(), "{survey}");
    let card = survey.unit("0000:e3:00.0");
    assert_eq!(card.backing, ["0000:e3:00.0", "0000:e3:00.1"], "the audio function goes with it");
    assert_eq!((card.property("vfio-group"), card.property("gpus")), (Some("101"), Some("0000:e3:00.0")));
    let reply = rig.allocate(VFIO, &["0000:e3:00.0"]).unwrap();
    let nodes: Vec<_> = reply.nodes.iter().map(|node| node.host_path.as_str()).collect();
    assert_eq!(nodes, ["/dev/vfio/101", "/dev/vfio/vfio"]);
    assert_eq!(reply.env["PCI_RESOURCE_NVIDIA_COM_VFIO"], "0000:e3:00.0");
}

#[test]
fn a_gpu_that_leaves_vfio_is_unhealthy_there() {
    let mut rig = Rig::of::<NvidiaGpu>(POLICY, "nvidia-vfio", NODE).can_do_without(&OPTIONAL);
    rig.allocate(VFIO, &["0000:ca:00.0"]).unwrap();
    rig.remove("pci/0000:ca:00.0", "driver");
    assert!(!rig.survey().unit("0000:ca:00.0").is_healthy());
    assert!(rig.survey().unit("0000:e3:00.0").is_healthy());
}

#[test]
fn an_instance_that_cannot_be_read_stays_as_it_was_and_costs_no_other() {
    let mut rig = rig();
    rig.survey();
    rig.file(&format!("{CAPABILITIES}/gi1/access"), "?\n");
    let survey = rig.survey();
    assert_eq!(survey.ids(MIG), [ONE, TWO, FIVE_0, FIVE_1]);
    assert_eq!(survey.unread, ["0000:65:00.0"]);
    assert!(survey.units.iter().all(Unit::is_healthy), "{survey}");
    let verdict = survey.unit(ONE).verdict.clone();
    assert!(matches!(verdict, Some(Verdict::Unknown(why)) if why.contains("names no capability")));
    assert!(survey.has_said("an instance of GPU 0000:65:00.0 cannot be described now"), "{survey}");
}

#[test]
fn a_gpu_that_waits_for_its_reset_or_has_a_narrow_link_works_and_says_so() {
    let dra =
        "    dra: {driver: gpu.nvidia.com, conditions: {row-remap-pending: NoExecute, narrow-link: NoSchedule}}\n";
    let policy = POLICY.replacen("    kernel-log:", &format!("{dra}    kernel-log:"), 1);
    let mut rig = Rig::of::<NvidiaGpu>(&policy, "nvidia", NODE);
    let found = |rig: &mut Rig| {
        let survey = rig.survey();
        assert!(survey.units.iter().all(Unit::is_healthy), "{survey}");
        let conditions =
            survey.units.iter().flat_map(|unit| unit.conditions.iter().map(|of| (unit.id.clone(), of.clone())));
        conditions.map(|(id, of)| format!("{id} {} {:?}: {}", of.key, of.effect, of.message)).collect::<Vec<_>>()
    };
    assert!(found(&mut rig).is_empty());
    rig.kernel(
        "NVRM: Xid (PCI:0000:65:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping",
    );
    // It asks for no more than that, whatever the policy would allow; and each part of the GPU waits.
    let why = "Xid 63: rows of its memory are remapped when it is reset next";
    let waits = [ONE, TWO, FIVE_0, FIVE_1].map(|id| format!("{id} row-remap-pending NoNew: {why}"));
    assert_eq!(found(&mut rig), waits);
    rig.restart();
    assert_eq!(found(&mut rig), waits, "it is known from then on");
    rig.set("pci/0000:17:00.0", "current_link_width", "8\n");
    let narrow = format!("{WHOLE} narrow-link Inform: its link has 8 of 16 lanes");
    assert_eq!(found(&mut rig).first(), Some(&narrow));
    rig.kernel("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024");
    assert_eq!(found(&mut rig), [narrow]);
    // One that does not answer is its health's, and no narrow link.
    rig.set("pci/0000:17:00.0", "max_link_width", "63\n");
    assert!(found(&mut rig).is_empty());
}
