//! The component against its own policy and a recorded node, through the grants that it has in production.

use crate::Accel;
use devgate_testing::{Rig, Survey};

const POLICY: &str = include_str!("../policy.yaml");
const NODE: &str = include_str!("../nodes/gaudi2-and-npu.umockdev");
const GAUDI: &str = "habana.ai/gaudi";

/// A policy for what the class has elsewhere.
fn elsewhere(resource: &str, selector: &str, config: &str) -> String {
    format!(
        "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  npu:\n    component: {{file: accel.wasm}}\n    resources: [{resource}]\n    \
         hardware:\n      - {{{selector}, use: offer, nodes: [{{subsystem: accel}}]}}\n    config: {{{config}}}\n"
    )
}

/// One piece of hardware with a device of the class.
fn hardware(place: &str, bus: &str, driver: &str, attributes: &str) -> String {
    let attributes = attributes.replace(';', "\n");
    format!(
        "P: /devices/{place}\nE: SUBSYSTEM={bus}\nE: DRIVER={driver}\n{attributes}\n\n\
         P: /devices/{place}/accel/accel0\nN: accel/accel0\nE: SUBSYSTEM=accel\nE: MAJOR=261\nE: MINOR=0\n\n"
    )
}

/// Why a unit is unhealthy.
fn reason(survey: &Survey, id: &str) -> String {
    survey.unit(id).unhealthy.clone().unwrap_or_default()
}

#[test]
fn a_gaudi_comes_with_what_controls_and_connects_it() {
    let mut rig = Rig::of::<Accel>(POLICY, "gaudi", NODE);
    let survey = rig.survey();
    assert!(survey.rejected.is_empty() && survey.denied.is_empty() && survey.said.is_empty());
    assert_eq!(survey.ids(GAUDI).len(), 8);
    let gaudi = survey.unit("0000:33:00.0");
    assert_eq!(gaudi.nodes, ["/dev/accel/accel2 rw", "/dev/accel/accel_controlD2 rw", "/dev/infiniband/uverbs2 rw"]);
    for (name, value) in [
        ("driver", "habanalabs"),
        ("pci", "0000:33:00.0"),
        ("index", "2"),
        ("module-id", "1"),
        ("product", "GAUDI2"),
        ("numa", "0"),
    ] {
        assert_eq!(gaudi.property(name), Some(value), "{name}");
    }
    let reply = rig.allocate(GAUDI, &["0000:33:00.0", "0000:b4:00.0"]).unwrap();
    let env: Vec<_> = reply.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["HABANA_VISIBLE_DEVICES=2,7", "HABANA_VISIBLE_MODULES=1,4"]);
}

#[test]
fn an_npu_is_a_resource_of_its_own() {
    let mut rig = Rig::of::<Accel>(POLICY, "npu", NODE);
    let survey = rig.survey();
    assert_eq!(survey.ids("npu.intel.com/accel"), ["0000:00:0b.0"]);
    assert_eq!(survey.unit("0000:00:0b.0").nodes, ["/dev/accel/accel8 rw"]);
    assert!(rig.allocate("npu.intel.com/accel", &["0000:00:0b.0"]).unwrap().env.is_empty());
}

#[test]
fn a_status_decides_and_a_reset_does_not() {
    let mut rig = Rig::of::<Accel>(POLICY, "gaudi", NODE);
    assert!(rig.survey().unit("0000:19:00.0").is_healthy());
    rig.set("pci/0000:19:00.0", "status", "in reset\n");
    assert!(rig.survey().unit("0000:19:00.0").is_healthy());
    rig.set("pci/0000:19:00.0", "status", "disabled\n");
    assert_eq!(reason(&rig.survey(), "0000:19:00.0"), "its driver calls it: disabled");
    rig.set("pci/0000:19:00.0", "status", "in reset\n");
    assert!(!rig.survey().unit("0000:19:00.0").is_healthy());
    rig.set("pci/0000:19:00.0", "status", "operational\n");
    assert!(rig.survey().unit("0000:19:00.0").is_healthy());
    rig.remove("pci/0000:19:00.0", "status");
    assert!(rig.survey().unit("0000:19:00.0").is_healthy());
}

#[test]
fn what_lost_its_driver_stays_listed_and_comes_back() {
    let mut rig = Rig::of::<Accel>(POLICY, "gaudi", NODE);
    rig.survey();
    rig.remove("pci/0000:19:00.0", "driver");
    let survey = rig.survey();
    assert_eq!((survey.ids(GAUDI).len(), survey.unread.len()), (8, 1));
    assert_eq!(reason(&survey, "0000:19:00.0"), "it has no driver now");
    rig.unplug("pci/0000:1a:00.0");
    assert_eq!(rig.survey().ids(GAUDI).len(), 7);
}

#[test]
fn a_gaudi_without_its_control_device_is_offered_with_what_there_is() {
    let mut rig = Rig::of::<Accel>(POLICY, "gaudi", NODE);
    rig.unplug("accel/accel_controlD2");
    assert_eq!(rig.survey().unit("0000:33:00.0").nodes, ["/dev/accel/accel2 rw", "/dev/infiniband/uverbs2 rw"]);
}

#[test]
fn each_driver_has_its_name_and_its_attributes() {
    for (driver, bus, place, attributes, selector, resource) in [
        (
            "amdxdna",
            "pci",
            "pci0000:c0/0000:c5:00.1",
            "A: vendor=0x1022\\n;A: class=0x118000\\n;A: vbnv=RyzenAI-npu5\\n",
            "subsystem: pci, vendor: \"0x1022\", class: \"0x1180\"",
            "amd.com/npu",
        ),
        (
            "qaic",
            "pci",
            "pci0000:20/0000:21:00.0",
            "A: vendor=0x17cb\\n;A: class=0x120000\\n;A: ue_count=0\\n",
            "subsystem: pci, vendor: \"0x17cb\", class: \"0x1200\"",
            "qualcomm.com/qaic",
        ),
        ("ethosu", "platform", "platform/5a000000.npu", "", "subsystem: platform, driver: ethosu", "arm.com/npu"),
    ] {
        let node = hardware(place, bus, driver, attributes);
        let survey = Rig::of::<Accel>(&elsewhere(resource, selector, ""), "npu", &node).survey();
        let unit = &survey.units[0];
        assert_eq!((unit.resource.as_str(), unit.property("driver")), (resource, Some(driver)));
        assert_eq!((unit.nodes.concat().as_str(), unit.is_healthy()), ("/dev/accel/accel0 rw", true));
        assert_eq!(unit.property("pci").is_some(), bus == "pci");
        assert_eq!(unit.property("product").is_some(), driver == "amdxdna");
    }
}

#[test]
fn errors_count_where_a_driver_counts_them_and_a_limit_is_set() {
    let attributes = "A: vendor=0x17cb\\n;A: class=0x120000\\n;A: ue_count=2\\n";
    let node = hardware("pci0000:20/0000:21:00.0", "pci", "qaic", attributes);
    let policy = |config: &str| elsewhere("qualcomm.com/qaic", "subsystem: pci, vendor: \"0x17cb\"", config);
    // A card that was made good goes on counting: nothing is said of it unless it is asked for.
    let survey = Rig::of::<Accel>(&policy(""), "npu", &node).survey();
    assert!(survey.unit("0000:21:00.0").is_healthy());
    for (most, config) in [(0, "uncorrectable-errors: 0"), (1, "uncorrectable-errors: 1")] {
        let survey = Rig::of::<Accel>(&policy(config), "npu", &node).survey();
        let expected = format!("2 uncorrectable errors (ue_count), more than {most}");
        assert!(reason(&survey, "0000:21:00.0").contains(&expected));
    }
    let survey = Rig::of::<Accel>(&policy("uncorrectable-errors: 2"), "npu", &node).survey();
    assert!(survey.unit("0000:21:00.0").is_healthy());
}

#[test]
fn a_driver_that_nobody_knows_needs_a_name() {
    let node = hardware("pci0000:20/0000:21:00.0", "pci", "acme_npu", "A: vendor=0x1234\\n;A: class=0x120000\\n");
    let policy = |config: &str| elsewhere("acme.com/npu", "subsystem: pci, vendor: \"0x1234\"", config);
    let survey = Rig::of::<Accel>(&policy(""), "npu", &node).survey();
    assert!(survey.units.is_empty() && survey.has_said("nothing says what devices of acme_npu are offered as"));
    let survey = Rig::of::<Accel>(&policy("resources: {acme_npu: acme.com/npu}"), "npu", &node).survey();
    assert_eq!(survey.ids("acme.com/npu"), ["0000:21:00.0"]);
}
