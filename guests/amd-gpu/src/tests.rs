//! The component against its own policy and recorded nodes, through the grants that it has in production.

use crate::AmdGpu;
use devgate_testing::{Condition, Effect, Rig, Survey};

const POLICY: &str = include_str!("../policy.yaml");
const MI210: &str = include_str!("../nodes/mi210.umockdev");
const MI300X: &str = include_str!("../nodes/mi300x-cpx.umockdev");
const GPU: &str = "amd.com/gpu";

fn mi210() -> Rig {
    Rig::of::<AmdGpu>(POLICY, "amd", MI210)
}

fn mi300x() -> Rig {
    Rig::of::<AmdGpu>(POLICY, "amd", MI300X)
}

/// The policy with something else in the place of a line of it.
fn with(line: &str, other: &str) -> String {
    assert!(POLICY.contains(line), "{line}");
    POLICY.replace(line, other)
}

fn configured(config: &str) -> String {
    with("    kernel-log:", &format!("    config: {{{config}}}\n    kernel-log:"))
}

fn mixed() -> String {
    let names = "    resources: [amd.com/gpu, amd.com/cpx_nps4, amd.com/spx_nps1]";
    configured("naming: mixed").replace("    resources: [amd.com/gpu]\n", &format!("{names}\n"))
}

/// Why a unit is unhealthy.
fn reason(survey: &Survey, id: &str) -> String {
    survey.unit(id).unhealthy.clone().unwrap_or_default()
}

/// Makes a GPU whole, as the driver shows it afterwards.
fn make_whole(rig: &mut Rig, address: &str) {
    let device = format!("pci/{address}");
    rig.set(&device, "current_compute_partition", "SPX\n");
    rig.set(&device, "current_memory_partition", "NPS1\n");
}

#[test]
fn a_whole_gpu_has_its_nodes_and_says_what_it_is() {
    let survey = mi210().survey();
    assert!(survey.rejected.is_empty() && survey.denied.is_empty() && survey.said.is_empty());
    assert_eq!(survey.ids(GPU).len(), 8);
    let gpu = survey.unit("0000:63:00.0");
    assert_eq!(gpu.nodes, ["/dev/dri/card1 rw", "/dev/dri/renderD128 rw", "/dev/kfd rw"]);
    assert!(gpu.is_healthy());
    for (name, value) in [
        ("pci", "0000:63:00.0"),
        ("product", "AMD Instinct MI210"),
        ("device", "0x740f"),
        ("driver", "6.12.12"),
        ("numa", "0"),
        ("gfx", "gfx90a"),
        ("family", "CDNA2"),
        ("compute-units", "104"),
        ("memory", "68702699520"),
        ("render", "128"),
    ] {
        assert_eq!(gpu.property(name), Some(value), "{name}");
    }
    assert_eq!(gpu.property("partition"), None);
    assert_eq!(gpu.property("hive"), survey.unit("0000:43:00.0").property("hive"));
    assert_ne!(gpu.property("hive"), survey.unit("0000:e3:00.0").property("hive"));
}

#[test]
fn partitions_are_those_that_kfd_lists() {
    let mut rig = mi300x();
    let survey = rig.survey();
    assert_eq!(survey.ids(GPU).len(), 64);
    assert!(survey.rejected.is_empty() && survey.units.iter().all(devgate_testing::Unit::is_healthy));
    let first = survey.unit("0000:26:00.0");
    let second = survey.unit("amdgpu_xcp_7");
    assert_eq!(first.nodes, ["/dev/dri/card9 rw", "/dev/dri/renderD136 rw", "/dev/kfd rw"]);
    assert_eq!(second.nodes, ["/dev/dri/card10 rw", "/dev/dri/renderD137 rw", "/dev/kfd rw"]);
    assert_eq!((first.property("partition"), second.property("partition")), (Some("0"), Some("1")));
    for name in ["pci", "unique-id", "compute-partition", "memory-partition", "product", "numa"] {
        assert!(first.property(name).is_some(), "{name}");
        assert_eq!(first.property(name), second.property(name), "{name}");
    }
    assert_eq!((second.property("memory"), second.property("compute-units")), (Some("25767706624"), Some("38")));

    // Another mode of the driver's leaves platform devices that are not in use.
    rig.remove("kfd/kfd", "topology/nodes/11");
    assert!(!rig.survey().ids(GPU).contains(&"amdgpu_xcp_7"));
}

#[test]
fn a_container_gets_what_computes_once() {
    let mut rig = mi300x();
    rig.survey();
    let reply = rig.allocate(GPU, &["0000:05:00.0", "amdgpu_xcp_3"]).unwrap();
    let nodes: Vec<&str> = reply.nodes.iter().map(|node| node.container_path.as_str()).collect();
    let expected = ["/dev/dri/card1", "/dev/dri/card5", "/dev/dri/renderD128", "/dev/dri/renderD132", "/dev/kfd"];
    assert_eq!(nodes, expected);
    assert!(reply.env.is_empty() && reply.mounts.is_empty());
}

#[test]
fn the_names_go_by_mode_where_that_is_wanted() {
    let mut rig = Rig::of::<AmdGpu>(&mixed(), "amd", MI300X);
    assert_eq!(rig.survey().ids("amd.com/cpx_nps4").len(), 64);
    make_whole(&mut rig, "0000:e5:00.0");
    for node in 59..66 {
        rig.remove("kfd/kfd", &format!("topology/nodes/{node}"));
    }
    let survey = rig.survey();
    assert_eq!(survey.ids("amd.com/spx_nps1"), ["0000:e5:00.0"]);
    assert_eq!((survey.ids("amd.com/cpx_nps4").len(), survey.ids(GPU).len()), (56, 0));

    // A GPU that cannot be divided has AMD's plain name.
    let mut rig = Rig::of::<AmdGpu>(&mixed(), "amd", MI210);
    assert_eq!(rig.survey().ids(GPU).len(), 8);
}

#[test]
fn one_name_for_unlike_gpus_is_refused_in_words() {
    let mut rig = mi300x();
    make_whole(&mut rig, "0000:e5:00.0");
    let refused = rig.try_survey().unwrap_err();
    assert!(refused.contains("divided differently (CPX/NPS4, SPX/NPS1)"), "{refused}");
    assert!(refused.contains("naming: mixed"), "{refused}");
}

/// What a pod holds stays what it was, so its health has to tell that it is something else.
#[test]
fn a_part_of_a_gpu_that_is_whole_now_is_unhealthy_while_it_is_held() {
    let mut rig = mi300x();
    rig.survey();
    rig.allocate(GPU, &["0000:05:00.0"]).unwrap();
    for gpu in ["05", "26", "46", "65", "85", "a6", "c6", "e5"] {
        make_whole(&mut rig, &format!("0000:{gpu}:00.0"));
    }
    let survey = rig.survey();
    let held = reason(&survey, "0000:05:00.0");
    assert_eq!(held, "its GPU is SPX/NPS1 now; it was listed as a part of CPX/NPS4");
    assert!(survey.unit("0000:26:00.0").is_healthy());
}

#[test]
fn errors_are_those_of_all_partitions_of_a_gpu() {
    let mut rig = mi300x();
    rig.set("pci/0000:26:00.0", "ras/umc_err_count", "ue: 2\nce: 0\nde: 1\n");
    rig.set("pci/0000:26:00.0", "ras/gfx_err_count", "ue: 1\nce: 0\nde: 0\n");
    let survey = rig.survey();
    let sick: Vec<_> = survey.units.iter().filter(|unit| !unit.is_healthy()).collect();
    assert_eq!(sick.len(), 8);
    assert!(sick.iter().all(|unit| unit.property("pci") == Some("0000:26:00.0")));
    let reason = reason(&survey, "amdgpu_xcp_9");
    assert!(reason.contains("has had 3 uncorrectable errors (gfx, umc), more than 0"), "{reason}");

    let mut rig = Rig::of::<AmdGpu>(&configured("uncorrectable-errors: 3"), "amd", MI300X);
    rig.set("pci/0000:26:00.0", "ras/umc_err_count", "ue: 3\nce: 0\nde: 0\n");
    assert!(rig.survey().unit("0000:26:00.0").is_healthy());
}

#[test]
fn without_kfd_a_whole_gpu_is_for_graphics_only() {
    let hint = "graphics: true";
    let mut rig = mi210();
    rig.unplug("kfd/kfd");
    let survey = rig.survey();
    assert_eq!(survey.ids(GPU).len(), 8);
    assert!(reason(&survey, "0000:63:00.0").contains(hint));
    assert_eq!(survey.unit("0000:63:00.0").property("memory"), Some("68702699520"));

    let mut rig = Rig::of::<AmdGpu>(&configured("graphics: true"), "amd", MI210);
    rig.unplug("kfd/kfd");
    assert!(rig.survey().unit("0000:63:00.0").is_healthy());
    let reply = rig.allocate(GPU, &["0000:63:00.0"]).unwrap();
    assert_eq!(reply.nodes.len(), 2);
}

/// KFD answers EPERM where the device cgroup keeps the reader from a GPU, and a file that is root's is as good as that.
#[test]
fn of_gpus_that_kfd_hides_nothing_is_concluded() {
    let hidden = |node: &str| {
        let line = |line: &str| match line.strip_prefix("A: topology/nodes/") {
            Some(rest) if rest.contains("/properties=cpu_cores_count 0\\n") => format!("R: topology/nodes/{rest}\n"),
            _ => format!("{line}\n"),
        };
        node.lines().map(line).collect::<String>()
    };
    let survey = Rig::of::<AmdGpu>(POLICY, "amd", &hidden(MI210)).survey();
    assert_eq!(survey.ids(GPU).len(), 8);
    let gpu = survey.unit("0000:63:00.0");
    assert_eq!((gpu.is_healthy(), gpu.property("gfx"), gpu.nodes.len()), (true, None, 3));

    let survey = Rig::of::<AmdGpu>(POLICY, "amd", &hidden(MI300X)).survey();
    assert_eq!(survey.ids(GPU).len(), 8);
    assert!(survey.has_said("KFD tells this process nothing of some GPUs, so that partitions are missing"));
}

#[test]
fn a_gpu_without_its_driver_stays_listed() {
    let mut rig = mi300x();
    rig.survey();
    rig.remove("pci/0000:05:00.0", "driver");
    let survey = rig.survey();
    assert_eq!(survey.ids(GPU).len(), 64);
    for id in ["0000:05:00.0", "amdgpu_xcp_0", "amdgpu_xcp_6"] {
        assert_eq!(reason(&survey, id), "its GPU 0000:05:00.0 has no driver now");
    }
    assert!(survey.has_said("0000:05:00.0 cannot be described now: it has no driver"));
}

#[test]
fn the_log_tells_of_resets() {
    let mut rig = mi210();
    rig.kernel("amdgpu 0000:63:00.0: amdgpu: GPU reset(1) succeeded!");
    assert!(rig.survey().unit("0000:63:00.0").is_healthy());
    rig.kernel("amdgpu 0000:63:00.0: GPU reset(2) failed");
    let survey = rig.survey();
    assert!(reason(&survey, "0000:63:00.0").starts_with("GPU 0000:63:00.0: its reset failed"));
    assert!(survey.unit("0000:43:00.0").is_healthy());
    rig.kernel("amdgpu 0000:63:00.0: [drm] Initialized amdgpu 3.63.0 for 0000:63:00.0 on minor 1");
    assert!(rig.survey().unit("0000:63:00.0").is_healthy());
    // As newer kernels say it, and half of the next reset, which does not make it good.
    rig.kernel("amdgpu 0000:63:00.0: amdgpu: GPU reset end with ret = -22");
    assert!(reason(&rig.survey(), "0000:63:00.0").starts_with("GPU 0000:63:00.0: its reset failed"));
    rig.kernel("amdgpu 0000:63:00.0: amdgpu: GPU reset succeeded, trying to resume");
    assert!(!rig.survey().unit("0000:63:00.0").is_healthy());
    rig.kernel("amdgpu 0000:63:00.0: amdgpu: GPU reset(4) succeeded!");
    assert!(rig.survey().unit("0000:63:00.0").is_healthy());
}

#[test]
fn a_driver_announces_that_its_gpu_is_wedged() {
    let mut rig = mi210();
    rig.survey();
    rig.announce("drm/card5", "WEDGED=rebind");
    let survey = rig.survey();
    assert!(reason(&survey, "0000:e3:00.0").starts_with("GPU 0000:e3:00.0: it is wedged"), "{survey}");
    assert!(survey.unit("0000:43:00.0").is_healthy());
    rig.announce("drm/card5", "WEDGED=none");
    assert!(rig.survey().unit("0000:e3:00.0").is_healthy());
}

/// The link to the driver is there before its probe ends.
#[test]
fn a_gpu_is_offered_when_its_driver_has_made_its_devices() {
    for config in ["graphics: true", "graphics: false"] {
        let mut rig = Rig::of::<AmdGpu>(&configured(config), "amd", MI210);
        rig.unplug("drm/card1");
        rig.unplug("drm/renderD128");
        let survey = rig.survey();
        assert_eq!((survey.ids(GPU).len(), survey.unread.len()), (7, 1), "{config}");
        assert!(survey.has_said("0000:63:00.0 cannot be described now: its driver has made no DRM device for it"));
    }
}

#[test]
fn a_part_whose_node_another_gpu_has_now_is_unhealthy() {
    let mut rig = mi210();
    rig.survey();
    rig.allocate(GPU, &["0000:63:00.0"]).unwrap();
    let mut numbers = MI210.lines().filter_map(|line| {
        let number = line.strip_prefix("A: topology/nodes/")?.split_once("/properties=")?;
        number.1.contains("drm_render_minor 128\\n").then_some(number)
    });
    let (number, text) = numbers.next().unwrap();
    let other = text.replace("\\n", "\n").lines().fold(String::new(), |text, line| {
        let line = if line.starts_with("location_id ") { "location_id 256" } else { line };
        text + line + "\n"
    });
    rig.set("kfd/kfd", &format!("topology/nodes/{number}/properties"), &other);
    assert_eq!(reason(&rig.survey(), "0000:63:00.0"), "KFD does not list it any more");
}

#[test]
fn a_long_list_of_bad_pages_is_read_to_its_end() {
    let mut rig = mi210();
    let page = |n: u32| format!("0x{n:08x} : 0x00001000 : {}\n", if n == 499 { "F" } else { "R" });
    let list: String = (0..500).map(page).collect();
    rig.set("pci/0000:63:00.0", "ras/gpu_vram_bad_pages", &list);
    assert!(reason(&rig.survey(), "0000:63:00.0").contains("has 1 bad pages of memory that it cannot reserve"));
}

#[test]
fn a_gpu_that_has_lost_memory_works_and_says_so() {
    let dra = "    dra: {driver: gpu.amd.com, conditions: {bad-pages: NoSchedule}}\n    kernel-log:";
    let mut rig = Rig::of::<AmdGpu>(&with("    kernel-log:", dra), "amd", MI210);
    let found = |survey: &Survey| {
        assert!(survey.units.iter().all(|unit| unit.is_healthy()), "{survey}");
        survey.units.iter().flat_map(|unit| unit.conditions.clone()).collect::<Vec<_>>()
    };
    assert!(found(&rig.survey()).is_empty());
    rig.set("pci/0000:63:00.0", "ras/gpu_vram_bad_pages", "0x00000001 : 0x00001000 : R\n");
    let survey = rig.survey();
    let message = "GPU 0000:63:00.0 has lost 1 pages of memory".to_owned();
    let expected = Condition { key: "bad-pages".to_owned(), effect: Effect::NoNew, message };
    assert_eq!(found(&survey), std::slice::from_ref(&expected));
    assert_eq!(survey.unit("0000:63:00.0").conditions, [expected]);
}

#[test]
fn what_another_driver_has_is_nobodys() {
    let mut rig = mi210();
    rig.plug(
        "P: /devices/pci0000:20/0000:20:01.0\nE: SUBSYSTEM=pci\nE: DRIVER=vfio-pci\nA: vendor=0x1002\nA: device=0x740f\nA: class=0x038000\n\n",
    );
    let survey = rig.survey();
    assert_eq!((survey.ids(GPU).len(), survey.unread.len()), (8, 0));
    assert_eq!(survey.unused, ["pci0000:20/0000:20:01.0"]);
}

#[test]
fn links_decide_which_gpus_go_together() {
    let mut rig = mi210();
    rig.survey();
    let all = ["03", "26", "43", "63", "83", "a3", "c3", "e3"].map(|bus| format!("0000:{bus}:00.0"));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let first_hive = rig.choose(GPU, &all, &[], 4);
    assert_eq!(first_hive, ["0000:03:00.0", "0000:26:00.0", "0000:43:00.0", "0000:63:00.0"]);
    let drawn = rig.choose(GPU, &all, &["0000:c3:00.0"], 2);
    assert_eq!(drawn, ["0000:c3:00.0", "0000:83:00.0"]);
    // Without links the PCI function's NUMA nodes decide, and the outcome is a choice all the same.
    rig.unplug("kfd/kfd");
    assert_eq!(rig.choose(GPU, &all[2..], &[], 4), ["0000:83:00.0", "0000:a3:00.0", "0000:c3:00.0", "0000:e3:00.0"]);
}

#[test]
fn whole_gpus_stay_whole_at_64_partitions() {
    let mut rig = mi300x();
    let survey = rig.survey();
    let all = survey.ids(GPU);
    let of = |gpu: &str| -> Vec<&str> {
        let mine = survey.units.iter().filter(|unit| unit.property("pci") == Some(gpu));
        mine.map(|unit| unit.id.as_str()).collect()
    };
    let mut eight = rig.choose(GPU, &all, &[], 8);
    eight.sort();
    assert_eq!(eight, of("0000:05:00.0"));
    // One of the second is taken already: it is filled up.
    let left: Vec<&str> = all.iter().copied().filter(|id| *id != "amdgpu_xcp_9").collect();
    let three = rig.choose(GPU, &left, &[], 3);
    assert!(three.iter().all(|id| of("0000:26:00.0").contains(&id.as_str())), "{three:?}");
    for size in [1, 7, 9, 30, 63, 64] {
        assert_eq!(rig.choose(GPU, &all, &["amdgpu_xcp_55"], size).len(), size);
    }
}

#[test]
fn partitions_are_parts_of_their_gpu() {
    let survey = mi300x().survey();
    for unit in &survey.units {
        let numa = unit.property("numa").and_then(|numa| numa.parse().ok());
        assert_eq!(unit.numa_nodes.iter().copied().next(), numa, "{}", unit.id);
    }
    assert_eq!(survey.unit("amdgpu_xcp_55").backing, ["0000:e5:00.0", "amdgpu_xcp_55"]);
    // Without that word in the policy each would have what the first one has.
    let policy = with("    partitions: {own: [\"/dev/dri/card*\", \"/dev/dri/renderD*\"]}\n", "");
    let survey = Rig::of::<AmdGpu>(&policy, "amd", MI300X).survey();
    assert!(survey.unit("0000:05:00.0").is_healthy());
    assert!(reason(&survey, "amdgpu_xcp_0").contains("already backs 0000:05:00.0"));
}

#[test]
fn a_gpu_takes_its_partitions_with_it() {
    let mut rig = mi300x();
    rig.survey();
    rig.unplug("pci/0000:05:00.0");
    let survey = rig.survey();
    assert!(survey.units.iter().all(|unit| unit.is_healthy() == (unit.property("pci") != Some("0000:05:00.0"))));
    assert!(survey.ids(GPU).contains(&"amdgpu_xcp_0"));
}

#[test]
fn a_mistake_in_the_configuration_is_said() {
    let mut rig = Rig::of::<AmdGpu>(&configured("naming: both"), "amd", MI210);
    assert!(rig.try_survey().unwrap_err().contains("config naming: must be single or mixed"));
}
