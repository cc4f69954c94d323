//! The component natively, through the plugin layer of a real host.

use super::Qat;
use devgate_testing::{Rig, Survey};

const POLICY: &str = include_str!("../policy.yaml");
const NODE: &str = include_str!("../nodes/two-sockets.umockdev");
const CY: &str = "qat.intel.com/cy";
const DC: &str = "qat.intel.com/dc";
const GENERIC: &str = "qat.intel.com/generic";
/// A physical function for cryptography, and a virtual one of it.
const PF: &str = "pci/0000:6b:00.0";
const VF: &str = "0000:6b:00.1";

fn rig() -> Rig {
    Rig::of::<Qat>(POLICY, "qat", NODE)
}

/// The same with other text in the policy, which must have been there.
fn with(from: &str, to: &str) -> Rig {
    assert!(POLICY.contains(from), "{from}");
    Rig::of::<Qat>(&POLICY.replace(from, to), "qat", NODE)
}

/// Why a unit is unhealthy.
fn reason(survey: &Survey, id: &str) -> String {
    survey.unit(id).unhealthy.clone().unwrap_or_default()
}

#[test]
fn functions_are_offered_as_what_their_devices_are_set_up_for() {
    let survey = rig().survey();
    assert_eq!(survey.ids(CY), [VF, "0000:6b:00.2", "0000:6b:00.3", "0000:6b:00.4"]);
    assert_eq!(survey.ids(DC), ["0000:70:00.1", "0000:70:00.2", "0000:70:00.3"]);
    assert_eq!(survey.ids("qat.intel.com/asym-dc"), ["0000:e8:00.1", "0000:e8:00.2"]);
    assert_eq!(survey.ids(GENERIC), ["0000:b1:01.0", "0000:b1:01.1"]);
    assert_eq!(
        survey.unit(VF).to_string(),
        "  0000:6b:00.1
    of 0000:6b:00.1
    /dev/vfio/201 rw
    /dev/vfio/vfio rw
    numa 0
    device=4941
    driver=vfio-pci
    numa=0
    pci=0000:6b:00.1
    pf=0000:6b:00.0
    pf-driver=4xxx
    services=cy
"
    );
    assert!(survey.units.iter().all(devgate_testing::Unit::is_healthy));
    assert!(survey.rejected.is_empty() && survey.denied.is_empty(), "{survey}");
}

#[test]
fn what_is_bound_otherwise_is_not_offered_and_the_log_says_so() {
    let survey = rig().survey();
    assert!(survey.has_said("function 0000:70:00.4 is not offered: it is bound to 4xxxvf, not to vfio"), "{survey}");
    assert!(survey.has_said("function 0000:e8:00.3 cannot be described now: it has no driver"), "{survey}");
    assert_eq!(survey.unread, ["0000:e8:00.3"]);
}

#[test]
fn a_container_gets_groups_what_opens_them_and_addresses() {
    let reply = rig().allocate(CY, &["0000:6b:00.3", VF]).unwrap();
    let paths: Vec<_> = reply.nodes.iter().map(|node| node.container_path.as_str()).collect();
    assert_eq!(paths, ["/dev/vfio/201", "/dev/vfio/203", "/dev/vfio/vfio"]);
    let env: Vec<_> = reply.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["PCIDEVICE_QAT_INTEL_COM_CY=0000:6b:00.1,0000:6b:00.3"]);
}

#[test]
fn variables_are_intel_s_as_far_as_the_policy_lists_them() {
    let resources = POLICY.split_once("    resources:").unwrap().1.split_once("    hardware:").unwrap().0;
    let policy = POLICY.replace(resources, " [qat.intel.com/cy]\n");
    let policy = policy.replace("env: {\"PCIDEVICE_{RESOURCE}\": \"{ids}\"}", "env: {QAT0: any, QAT1: any}");
    for (config, expected) in [
        ("", vec![]),
        ("config: {variables: 1}", vec!["QAT0=0000:6b:00.1"]),
        ("config: {variables: 2}", vec!["QAT0=0000:6b:00.1", "QAT1=0000:6b:00.3"]),
        ("config: {variables: 16}", vec!["QAT0=0000:6b:00.1", "QAT1=0000:6b:00.3"]),
    ] {
        let mut rig = Rig::of::<Qat>(&format!("{policy}    {config}\n"), "qat", NODE);
        let reply = rig.allocate(CY, &["0000:6b:00.3", VF]).unwrap();
        let env: Vec<_> = reply.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(env, expected);
        let warned = rig.said().iter().any(|said| said.text.contains("the variables of 1 are set"));
        assert_eq!(warned, expected.len() == 1);
    }
}

#[test]
fn a_device_that_is_down_is_unhealthy_with_all_its_functions_and_heals() {
    let mut rig = rig();
    rig.survey();
    rig.set(PF, "qat/state", "down\n");
    let survey = rig.survey();
    assert_eq!(reason(&survey, VF), "physical function 0000:6b:00.0: it is down (qat/state)");
    assert_eq!(survey.ids(CY).len(), 4);
    assert!(survey.units.iter().filter(|unit| unit.resource == CY).all(|unit| !unit.is_healthy()));
    assert!(survey.unit("0000:70:00.1").is_healthy());
    assert!(rig.allocate(CY, &[VF]).is_err());
    rig.set(PF, "qat/state", "up\n");
    assert!(rig.survey().unit(VF).is_healthy());
}

#[test]
fn a_device_that_is_set_up_anew_offers_its_functions_as_something_else() {
    let mut rig = rig();
    rig.allocate(CY, &[VF]).unwrap();
    rig.set(PF, "qat/state", "down\n");
    rig.set(PF, "qat/cfg_services", "dc\n");
    assert!(!rig.survey().unit(VF).is_healthy(), "it is not guessed what it will be");
    rig.set(PF, "qat/state", "up\n");
    let survey = rig.survey();
    // What a container has stays where it was, for nobody else, until that ends.
    assert_eq!((survey.ids(DC).len(), survey.ids(CY)), (6, vec![VF]), "{survey}");
    assert!(!survey.unit(VF).is_healthy());
    assert!(rig.allocate(CY, &["0000:6b:00.2"]).is_err());
    rig.allocate(DC, &["0000:6b:00.2"]).unwrap();
}

#[test]
fn what_changed_since_the_last_look_is_not_given() {
    let mut rig = rig();
    rig.survey();
    rig.set(PF, "qat/cfg_services", "sym\n");
    let refused = rig.allocate(CY, &[VF]).unwrap_err().to_string();
    assert!(
        refused.contains("0000:6b:00.1: physical function 0000:6b:00.0: it is set up for sym now, and was for cy"),
        "{refused}"
    );
    assert_eq!(rig.survey().ids("qat.intel.com/sym").len(), 4);
    rig.allocate("qat.intel.com/sym", &[VF]).unwrap();
}

#[test]
fn fatal_errors_count_until_the_device_was_started_again_unless_they_are_ignored() {
    let mut watching = rig();
    let mut ignoring = with("    health: {", "    config: {fatal-errors: ignore}\n    health: {");
    for rig in [&mut watching, &mut ignoring] {
        rig.set(PF, "qat_ras/errors_fatal", "1\n");
        rig.set(PF, "qat_ras/errors_nonfatal", "9\n");
    }
    let why = "physical function 0000:6b:00.0: it has had a fatal error since it was started (qat_ras/errors_fatal)";
    assert_eq!(reason(&watching.survey(), VF), why);
    assert!(ignoring.survey().unit(VF).is_healthy());
    watching.set(PF, "qat_ras/errors_fatal", "0\n");
    assert!(watching.survey().unit(VF).is_healthy());
    // It says nothing that means something: the last verdict stands.
    watching.set(PF, "qat_ras/errors_fatal", "?\n");
    assert!(watching.survey().unit(VF).is_healthy());
    watching.remove(PF, "qat_ras");
    assert!(watching.survey().unit(VF).is_healthy());
}

#[test]
fn a_function_that_loses_its_driver_or_its_device_s_driver_is_unhealthy() {
    let mut rig = rig();
    rig.survey();
    rig.remove("pci/0000:6b:00.1", "driver");
    rig.remove("pci/0000:b1:00.0", "driver");
    let survey = rig.survey();
    assert_eq!(reason(&survey, VF), "it has no driver now");
    assert_eq!(reason(&survey, "0000:b1:01.0"), "physical function 0000:b1:00.0: it has no driver now");
    rig.unplug("pci/0000:6b:00.2");
    assert_eq!(rig.survey().ids(CY).len(), 3);
}

#[test]
fn without_the_device_s_files_functions_do_all() {
    // Before Linux 6.0 there are none.
    let mut rig = rig();
    rig.remove(PF, "qat");
    let survey = rig.survey();
    assert_eq!(survey.unit(VF).resource, GENERIC);
    assert!(survey.unit(VF).is_healthy() && survey.unit(VF).property("services").is_none());
    // In a virtual machine there is no physical function either.
    for function in ["0000:6b:00.2", "0000:b1:01.0"] {
        rig.remove(&format!("pci/{function}"), "physfn");
    }
    rig.unplug("pci/0000:b1:00.0");
    let survey = rig.survey();
    assert!(survey.unit("0000:6b:00.2").is_healthy() && survey.unit("0000:6b:00.2").property("pf").is_none());
}

#[test]
fn services_that_are_no_name_leave_functions_as_they_were() {
    let mut rig = rig();
    rig.survey();
    rig.set(PF, "qat/cfg_services", "../x\n");
    let survey = rig.survey();
    assert!(survey.has_said("physical function 0000:6b:00.0: qat/cfg_services reads ../x"), "{survey}");
    assert_eq!(survey.unit(VF).resource, CY);
    assert!(survey.unit(VF).is_healthy());
}

#[test]
fn a_device_that_is_not_granted_is_asked_nothing() {
    let grant = "      - {subsystem: pci, vendor: \"0x8086\", class: \"0x0b40\", attributes: {sriov_numvfs: \"*\"}}\n";
    let survey = with(grant, "").survey();
    assert!(survey.has_said("physical function 0000:6b:00.0: it is not granted (hardware: use: read)"), "{survey}");
    assert!(survey.ids(CY).is_empty());
    // Older ones do all, whatever their physical function says.
    assert_eq!(survey.ids(GENERIC), ["0000:b1:01.0", "0000:b1:01.1"]);
    assert!(survey.unit("0000:b1:01.0").is_healthy());
}

#[test]
fn a_group_that_is_not_whole_and_one_without_a_node_are_not_given() {
    // Without ACS the kernel puts functions into one group: who has its node has both.
    let node = NODE.replace("iommu_groups/202\n", "iommu_groups/201\n");
    let mut rig = Rig::of::<Qat>(POLICY, "qat", &node);
    let survey = rig.survey();
    assert!(survey.rejected.iter().any(|why| why.contains("0000:6b:00.2")), "{survey}");
    assert!(rig.allocate(CY, &[VF]).is_err() && rig.allocate(CY, &["0000:6b:00.2"]).is_err());
    let survey = with("        nodes: [{subsystem: vfio}]\n", "").survey();
    assert!(reason(&survey, VF).contains("no node of vfio is offered"), "{survey}");
}

#[test]
fn functions_are_packed_into_one_device_or_spread_over_several() {
    // Two devices that do the same.
    let node = NODE.replace("A: qat/cfg_services=dc\\n", "A: qat/cfg_services=asym;sym\\n");
    let all = ["0000:6b:00.1", "0000:6b:00.2", "0000:6b:00.3", "0000:70:00.1", "0000:70:00.2", "0000:70:00.3"];
    let mut packed = Rig::of::<Qat>(POLICY, "qat", &node);
    assert_eq!(packed.choose(CY, &all, &[], 2), ["0000:6b:00.1", "0000:6b:00.2"]);
    packed.allocate(CY, &["0000:70:00.1"]).unwrap();
    let free = ["0000:6b:00.1", "0000:6b:00.2", "0000:6b:00.3", "0000:6b:00.4", "0000:70:00.2", "0000:70:00.3"];
    assert_eq!(packed.choose(CY, &free, &[], 1), ["0000:70:00.2"]);
    let policy = POLICY.replace("    health: {", "    placement: spread\n    health: {");
    let mut spread = Rig::of::<Qat>(&policy, "qat", &node);
    spread.allocate(CY, &["0000:6b:00.1"]).unwrap();
    assert_eq!(spread.choose(CY, &all[1..], &[], 1), ["0000:70:00.1"]);
}

#[test]
fn functions_have_nodes_of_their_own_and_such_that_no_iommu_guards_where_the_policy_says_so() {
    let own = "P: /devices/pci0000:6b/0000:6b:00.1/vfio-dev/vfio0\nN: vfio/devices/vfio0\nE: SUBSYSTEM=vfio-dev\n\
               E: DEVNAME=/dev/vfio/devices/vfio0\nE: MAJOR=242\nE: MINOR=0\nA: dev=242:0\\n\n\n\
               P: /devices/virtual/misc/iommu\nN: iommu\nE: SUBSYSTEM=misc\n\
               E: DEVNAME=/dev/iommu\nE: MAJOR=10\nE: MINOR=125\nA: dev=10:125\\n\n";
    let policy = POLICY.replace("{subsystem: vfio}", "{subsystem: vfio-dev}").replace("name: vfio,", "name: iommu,");
    let survey = Rig::of::<Qat>(&policy, "qat", &format!("{NODE}\n{own}")).survey();
    assert_eq!(survey.unit(VF).nodes, ["/dev/vfio/devices/vfio0 rw", "/dev/iommu rw"]);
    assert!(!survey.unit("0000:6b:00.2").is_healthy(), "this one has none");
    // A virtual machine without an iommu, `enable_unsafe_noiommu_mode`.
    let node = NODE.replace("vfio/201", "vfio/noiommu-201");
    let survey = Rig::of::<Qat>(POLICY, "qat", &node).survey();
    assert!(survey.units.iter().all(|unit| unit.id != VF || !unit.is_healthy()), "{survey}");
    let policy = format!("{POLICY}    dangerous: [vfio-noiommu]\n");
    let survey = Rig::of::<Qat>(&policy, "qat", &node).survey();
    assert_eq!(survey.unit(VF).nodes, ["/dev/vfio/noiommu-201 rw", "/dev/vfio/vfio rw"]);
}
