//! The component against its own policy and a recorded node, through the grants that it has in production.

use crate::IntelGpu;
use devgate_testing::{Rig, Survey};

const POLICY: &str = include_str!("../policy.yaml");
const NODE: &str = include_str!("../nodes/flex-and-arc.umockdev");
const I915: &str = "gpu.intel.com/i915";
const XE: &str = "gpu.intel.com/xe";
const ALL: &str = "gpu.intel.com/monitoring";
const FLEX: &str = "0000:4d:00.0";
const ARC: &str = "0000:18:00.0";

fn rig() -> Rig {
    Rig::of::<IntelGpu>(POLICY, "intel", NODE)
}

fn configured(config: &str) -> String {
    let line = "    kernel-log:";
    assert!(POLICY.contains(line));
    POLICY.replace(line, &format!("    config: {{{config}}}\n{line}"))
}

/// The policy with the resource for monitoring.
fn watched(config: &str, cards: &str) -> String {
    let resources = "\n    resources: [gpu.intel.com/i915, gpu.intel.com/xe]";
    let nodes = "\n        nodes: [{subsystem: drm, name: \"card*\"}";
    let policy = configured(config);
    assert!(policy.contains(resources) && policy.contains(nodes));
    let policy = policy.replace(resources, &format!("\n    resources: [{I915}, {XE}, {ALL}]"));
    policy.replace(nodes, &format!("\n        nodes: [{{subsystem: drm, name: \"card*\"{cards}}}"))
}

/// Why a unit is unhealthy.
fn reason(survey: &Survey, id: &str) -> String {
    survey.unit(id).unhealthy.clone().unwrap_or_default()
}

#[test]
fn gpus_go_by_driver_and_say_what_they_are() {
    let survey = rig().survey();
    assert!(survey.rejected.is_empty() && survey.denied.is_empty() && survey.said.is_empty());
    assert_eq!(survey.ids(I915), [FLEX, "0000:9a:00.0"]);
    // Not the physical function cb:00.0, and not its virtual one that a virtual machine has.
    assert_eq!(survey.ids(XE), [ARC, "0000:cb:00.1"]);
    let flex = survey.unit(FLEX);
    assert_eq!(flex.nodes, ["/dev/dri/card1 rw", "/dev/dri/renderD128 rw"]);
    for (name, value) in [
        ("driver", "i915"),
        ("device", "0x56c0"),
        ("family", "Flex"),
        ("product", "Intel Data Center GPU Flex 170"),
        ("memory", "17179869184"),
        ("numa", "0"),
    ] {
        assert_eq!(flex.property(name), Some(value), "{name}");
    }
    let arc = survey.unit(ARC);
    assert_eq!((arc.property("memory"), arc.property("virtual")), (Some("25669140480"), None));
    let part = survey.unit("0000:cb:00.1");
    assert_eq!((part.property("memory"), part.property("virtual")), (None, Some("true")));
}

#[test]
fn ids_select_exactly() {
    let mut rig = Rig::of::<IntelGpu>(&configured("allow: [\"0x56c0\"]"), "intel", NODE);
    let survey = rig.survey();
    assert_eq!((survey.ids(I915).len(), survey.ids(XE).len()), (2, 0));
    let mut rig = Rig::of::<IntelGpu>(&configured("deny: [\"0x56C0\"]"), "intel", NODE);
    let survey = rig.survey();
    assert_eq!((survey.ids(I915).len(), survey.ids(XE).len()), (0, 2));
}

#[test]
fn who_watches_shares_the_cards_and_nothing_else() {
    let mut rig = Rig::of::<IntelGpu>(&watched("monitoring: cards", ", shared: true"), "intel", NODE);
    let survey = rig.survey();
    assert_eq!(survey.ids(ALL), ["all"]);
    let cards = ["/dev/dri/card1 rw", "/dev/dri/card2 rw", "/dev/dri/card3 rw", "/dev/dri/card5 rw"];
    assert_eq!(survey.unit("all").nodes, cards);
    assert!(survey.units.iter().all(devgate_testing::Unit::is_healthy));
    rig.allocate(ALL, &["all"]).unwrap();
    assert_eq!(rig.allocate(I915, &[FLEX]).unwrap().nodes.len(), 2);
    assert!(rig.survey().unit("0000:9a:00.0").is_healthy());
}

#[test]
fn to_watch_with_all_nodes_takes_that_hardware_is_shared() {
    let policy = watched("monitoring: all", "");
    let survey = Rig::of::<IntelGpu>(&policy, "intel", NODE).survey();
    assert!(reason(&survey, "all").contains("already"));

    let shares = policy.replace("    kernel-log:", "    shares-hardware: true\n    kernel-log:");
    let survey = Rig::of::<IntelGpu>(&shares, "intel", NODE).survey();
    assert_eq!(survey.unit("all").nodes.len(), 8);
    assert!(survey.units.iter().all(devgate_testing::Unit::is_healthy));
}

#[test]
fn the_driver_says_how_its_gpu_is() {
    let mut rig = rig();
    rig.set("pci/0000:18:00.0", "gpu_health", "warning\n");
    assert!(rig.survey().unit(ARC).is_healthy());
    rig.set("pci/0000:18:00.0", "gpu_health", "critical\n");
    assert_eq!(reason(&rig.survey(), ARC), "its driver calls its state critical (gpu_health)");
    rig.set("pci/0000:18:00.0", "gpu_health", "ok\n");
    assert!(rig.survey().unit(ARC).is_healthy());

    let mut strict = Rig::of::<IntelGpu>(&configured("strict: true"), "intel", NODE);
    strict.set("pci/0000:18:00.0", "gpu_health", "warning\n");
    assert_eq!(reason(&strict.survey(), ARC), "its driver warns of it (gpu_health, strict)");
}

/// As in the middle of a reset.
#[test]
fn what_cannot_be_read_now_leaves_the_last_verdict() {
    let mut rig = rig();
    rig.set("pci/0000:18:00.0", "gpu_health", "critical\n");
    assert!(!rig.survey().unit(ARC).is_healthy());
    for error in ["EBUSY", "EIO", "EPERM"] {
        rig.fail("pci/0000:18:00.0", "gpu_health", error);
        assert!(reason(&rig.survey(), ARC).contains("critical"), "{error}");
    }
    rig.set("pci/0000:18:00.0", "gpu_health", "ok\n");
    assert!(rig.survey().unit(ARC).is_healthy());
    rig.fail("pci/0000:18:00.0", "gpu_health", "EBUSY");
    assert!(rig.survey().unit(ARC).is_healthy());
}

/// To read what the driver says would wake it.
#[test]
fn a_gpu_that_sleeps_is_not_asked() {
    let mut rig = rig();
    rig.set("pci/0000:18:00.0", "power/runtime_status", "active\n");
    assert!(rig.survey().unit(ARC).is_healthy());
    for asleep in ["suspended\n", "suspending\n"] {
        rig.set("pci/0000:18:00.0", "power/runtime_status", asleep);
        rig.set("pci/0000:18:00.0", "gpu_health", "critical\n");
        assert!(rig.survey().unit(ARC).is_healthy(), "the last verdict stands");
    }
    rig.set("pci/0000:18:00.0", "power/runtime_status", "active\n");
    assert!(reason(&rig.survey(), ARC).contains("critical"));

    let mut rig = self::rig();
    rig.set("pci/0000:18:00.0", "power/runtime_status", "suspended\n");
    assert!(reason(&rig.survey(), ARC).ends_with("it sleeps and is not woken to be asked"));
    // Where the driver has nothing to say nobody has to be woken.
    rig.remove("pci/0000:18:00.0", "gpu_health");
    assert!(rig.survey().unit(ARC).is_healthy());
}

/// The link to the driver is there before its probe ends, and stays where that makes no card: survivability mode at boot.
#[test]
fn a_gpu_is_offered_when_its_driver_has_made_its_devices() {
    let mut rig = rig();
    rig.unplug("drm/card3");
    // Which of its nodes the policy offers does not matter.
    assert_eq!(rig.survey().ids(XE), [ARC, "0000:cb:00.1"]);
    let mut rig = self::rig();
    rig.unplug("drm/card3");
    rig.unplug("drm/renderD130");
    let survey = rig.survey();
    assert_eq!((survey.ids(XE), survey.unread.len()), (vec!["0000:cb:00.1"], 1));
    assert!(survey.has_said("GPU 0000:18:00.0 cannot be described now: xe has made no DRM device for it"));
}

/// The file is root's: what is in it nobody reads.
#[test]
fn survivability_mode_is_a_file_that_is_there() {
    let told = "A: gpu_health=ok\\n\n";
    let node = NODE.replace(told, &format!("{told}R: survivability_mode=Survivability mode type: Runtime\\n\n"));
    let survey = Rig::of::<IntelGpu>(POLICY, "intel", &node).survey();
    assert!(reason(&survey, ARC).contains("survivability mode"));
    assert!(survey.denied.is_empty());
}

#[test]
fn the_log_tells_of_wedged_gpus() {
    let mut rig = rig();
    rig.kernel("xe 0000:18:00.0: [drm] device wedged, but recovered through reset");
    assert!(rig.survey().unit(ARC).is_healthy());
    rig.kernel("xe 0000:18:00.0: [drm] device wedged, needs recovery");
    let survey = rig.survey();
    assert!(reason(&survey, ARC).starts_with("it is wedged"));
    assert!(survey.unit(FLEX).is_healthy());
    rig.kernel("xe 0000:18:00.0: [drm] Initialized xe 1.1.0 for 0000:18:00.0 on minor 3");
    assert!(rig.survey().unit(ARC).is_healthy());
}

#[test]
fn a_driver_announces_that_its_gpu_is_wedged() {
    let mut rig = rig();
    rig.survey();
    rig.clock(42_900);
    rig.announce("drm/card3", "WEDGED=rebind,bus-reset");
    let survey = rig.survey();
    let why = "it is wedged, 42 s after boot (WEDGED=rebind,bus-reset); until its driver is loaded again";
    assert_eq!(reason(&survey, ARC), why);
    assert!(survey.unit(FLEX).is_healthy() && survey.denied.is_empty());
    // What it says besides does not make it well.
    for n in 0..40 {
        rig.announce("drm/card3", &format!("HOTPLUG=1\nCONNECTOR={}", n % 4));
    }
    assert_eq!(reason(&rig.survey(), ARC), why);
    for (said, is_healthy) in [("none", true), ("vendor-specific", false), ("unknown", false), ("none", true)] {
        rig.announce("drm/card3", &format!("WEDGED={said}"));
        assert_eq!(rig.survey().unit(ARC).is_healthy(), is_healthy, "{said}");
    }
}

/// A driver that is bound anew makes another card; a host that is restarted has heard nothing, and reads the log.
#[test]
fn a_wedged_gpu_is_well_when_its_driver_has_made_its_card_anew() {
    let mut rig = rig();
    rig.survey();
    rig.announce("drm/card3", "WEDGED=rebind");
    assert!(!rig.survey().unit(ARC).is_healthy());
    let card = NODE.split("\n\n").find(|device| device.contains("/0000:18:00.0/drm/card3\n")).unwrap();
    rig.unplug("drm/card3");
    rig.plug(&format!("{card}\n\n"));
    assert!(rig.survey().unit(ARC).is_healthy());

    rig.announce("drm/card3", "WEDGED=rebind");
    assert!(!rig.survey().unit(ARC).is_healthy());
    rig.restart();
    assert!(rig.survey().unit(ARC).is_healthy(), "forgotten");
    rig.kernel("xe 0000:18:00.0: [drm] device wedged, needs recovery");
    rig.restart();
    assert!(reason(&rig.survey(), ARC).starts_with("it is wedged and has to be recovered"));
}

#[test]
fn a_gpu_that_is_divided_or_left_by_its_driver_while_a_pod_has_it_is_unhealthy() {
    let mut rig = rig();
    rig.survey();
    rig.allocate(I915, &[FLEX]).unwrap();
    rig.set("pci/0000:4d:00.0", "sriov_numvfs", "7\n");
    let survey = rig.survey();
    assert_eq!(survey.ids(I915), [FLEX, "0000:9a:00.0"]);
    assert!(!survey.unit(FLEX).is_healthy());
    rig.set("pci/0000:4d:00.0", "sriov_numvfs", "0\n");
    assert!(rig.survey().unit(FLEX).is_healthy());
    rig.remove("pci/0000:4d:00.0", "driver");
    let survey = rig.survey();
    assert_eq!(reason(&survey, FLEX), "it has no driver now");
    assert!(survey.has_said("GPU 0000:4d:00.0 cannot be described now"));
}
