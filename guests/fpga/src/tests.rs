//! The component natively, through the plugin layer of a real host, on a recorded server with cards of both families.

use super::Fpga;
use devgate_testing::{Rig, Verdict};

const POLICY: &str = include_str!("../policy.yaml");
const NODE: &str = include_str!("../nodes/cards.umockdev");
const U250: &str = "amd.com/xilinx_u250_qdma_201920_1-1561465320";
const PORT: &str = "0000:3b:00.0-p0";

fn rig() -> Rig {
    Rig::of::<Fpga>(POLICY, "fpga", NODE)
}

#[test]
fn functions_and_cards_are_offered_without_what_manages_them() {
    let survey = rig().survey();
    assert!(survey.rejected.is_empty() && survey.denied.is_empty(), "{survey}");
    let units: Vec<_> = survey.units.iter().map(|unit| (unit.id.as_str(), unit.nodes.join(", "))).collect();
    assert_eq!(
        units,
        [
            ("0000:e3:00.1", "/dev/dri/renderD130 rw, /dev/xfpga/dma.qdma.u58113.0 rw".to_owned()),
            ("0000:21:00.1", "/dev/dri/renderD128 rw, /dev/dri/renderD129 rw".to_owned()),
            (PORT, "/dev/dfl-port.0 rw".to_owned()),
            ("0000:d8:00.1-p0", "/dev/dfl-port.1 rw".to_owned()),
        ]
    );
    let card = survey.unit("0000:21:00.1");
    assert_eq!(card.backing, ["0000:21:00.1", "0000:22:00.1"]);
    assert_eq!((card.property("model"), card.property("serial")), (Some("u30"), None));
    // The virtual function's region is that of the physical one.
    let port = survey.unit("0000:d8:00.1-p0");
    assert_eq!(port.property("interface"), Some("9346116d1e2a5b2d8a65e5b0e5f4b8f3"));
    assert_eq!(port.numa_nodes.iter().next(), Some(&1));
}

/// Not even a policy that offers the management nodes gets them out of the component.
#[test]
fn management_is_never_given() {
    let policy = POLICY
        .replace(
            "{subsystem: platform, name: \"dfl-fme.*\"}",
            "{subsystem: platform, name: \"dfl-fme.*\", use: offer, nodes: [{}]}",
        )
        .replace("        attributes: {user_pf: \"*\"}\n", "")
        .replace("nodes: [{subsystem: drm, name: \"renderD*\"}]", "nodes: [{subsystem: drm}, {subsystem: xrt_mgmt}]");
    let survey = Rig::of::<Fpga>(&policy, "fpga", NODE).survey();
    assert_eq!(survey.units.len(), 4, "{survey}");
    let text = survey.units.iter().flat_map(|unit| &unit.nodes).cloned().collect::<Vec<_>>().join(" ");
    assert!(!text.contains("fme") && !text.contains("xclmgmt"), "{text}");
}

/// The only card of its kind has no resource while its shell is away; it stays what it was.
#[test]
fn a_card_that_is_flashed_stays_listed() {
    let policy = POLICY.replace(
        "resources: [\"fpga.intel.com/af-*\", \"amd.com/xilinx_*\"]",
        "resources: [\"amd.com/xilinx_u250_*\"]",
    );
    let policy = format!("{policy}    config: {{dfl: none}}\n");
    let node: String = NODE.split("\n\n").filter(|block| !block.contains("0000:2")).collect::<Vec<_>>().join("\n\n");
    let mut rig = Rig::of::<Fpga>(&policy, "fpga", &node);
    assert_eq!(rig.survey().ids(U250), ["0000:e3:00.1"]);
    rig.unplug("platform/rom.u.58113");
    let survey = rig.survey();
    assert_eq!((survey.ids(U250), survey.rejected.len()), (vec!["0000:e3:00.1"], 0), "{survey}");
    assert_eq!(
        survey.unit("0000:e3:00.1").verdict,
        Some(Verdict::Unhealthy("0000:e3:00.1 has no shell now: one is being flashed".to_owned()))
    );
    assert!(rig.allocate(U250, &["0000:e3:00.1"]).is_err());
}

#[test]
fn half_a_card_is_none() {
    let node: String =
        NODE.split("\n\n").filter(|block| !block.contains("0000:22:00")).collect::<Vec<_>>().join("\n\n");
    let survey = Rig::of::<Fpga>(POLICY, "fpga", &node).survey();
    assert!(survey.units.iter().all(|unit| unit.id != "0000:21:00.1"), "{survey}");
    assert!(survey.has_said("0000:21:00.1 is not offered now: a card u30 has 2 functions, 1 of this one can be told"));
    let policy = format!("{POLICY}    config: {{xrt: function, serial: true}}\n");
    let survey = Rig::of::<Fpga>(&policy, "fpga", &node).survey();
    assert_eq!(survey.unit("0000:21:00.1").property("serial"), Some("XFLEXAMPLE0A1"));
}

#[test]
fn what_speaks_against_a_port_is_said() {
    for (device, attribute, value, why) in [
        ("platform/dfl-port.0", "power_state", "0x6\n", "dfl-port.0 is throttled to a stop (power_state 6)"),
        (
            "platform/dfl-port.0",
            "errors/errors",
            "0x800\n",
            "dfl-port.0 has errors 0x800: write that to errors/errors to clear them",
        ),
        ("platform/dfl-fme.0", "errors/catfatal_errors", "0x2\n", "its card has fatal errors 0x2"),
        ("hwmon/hwmon4", "temp1_crit_alarm", "1\n", "its card is too hot, and throttled to a stop"),
        (
            "fpga_region/region1",
            "compat_id",
            "ffffffffffffffffffffffffffffffff\n",
            "its interface id is all ones: it does not answer, or nothing is programmed",
        ),
    ] {
        let mut rig = rig();
        assert!(rig.survey().unit(PORT).is_healthy());
        rig.set(device, attribute, value);
        assert_eq!(rig.survey().unit(PORT).verdict, Some(Verdict::Unhealthy(why.to_owned())), "{attribute}");
    }
}

#[test]
fn what_speaks_against_a_card_is_said() {
    for (attribute, value, why) in [
        ("dev_offline", "1\n", "0000:e3:00.1 is being reset"),
        ("ready", "0x0\n", "0000:e3:00.1 is not ready: its management function does not answer"),
    ] {
        let mut rig = rig();
        assert!(rig.survey().unit("0000:e3:00.1").is_healthy());
        rig.set("pci/0000:e3:00.1", attribute, value);
        assert_eq!(rig.survey().unit("0000:e3:00.1").verdict, Some(Verdict::Unhealthy(why.to_owned())));
    }
    let mut rig = rig();
    rig.survey();
    rig.remove("pci/0000:e3:00.1", "dev_offline");
    assert!(!rig.survey().unit("0000:e3:00.1").is_healthy(), "a reset takes the attributes away");
}

/// Without the engine nobody knows what fits into a port.
#[test]
fn a_port_without_its_engine_is_not_offered() {
    let mut rig = rig();
    rig.unplug("platform/dfl-fme.0");
    let survey = rig.survey();
    assert!(survey.units.iter().all(|unit| unit.id != PORT), "{survey}");
    assert!(survey.has_said("dfl-port.0 is not offered now: it has no dfl-fme, or the policy does not grant it"));
}
