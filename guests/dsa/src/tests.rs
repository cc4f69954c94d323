//! The component natively, through the plugin layer of a real host.

use super::Dsa;
use devgate_testing::{Change, Rig, Survey};

const POLICY: &str = include_str!("../policy.yaml");
const NODE: &str = include_str!("../nodes/two-sockets.umockdev");
const SHARED: &str = "dsa.intel.com/wq-user-shared";
const DEDICATED: &str = "dsa.intel.com/wq-user-dedicated";
const ON_VFIO: &str = "dsa.intel.com/vfio";
/// The queue `wq0.2`.
const QUEUE: &str = "0000:6a:01.0-wq2";
const PLACE: &str = "pci0000:6a/0000:6a:01.0/dsa0/wq0.2";

fn rig(plugin: &str) -> Rig {
    Rig::of::<Dsa>(POLICY, plugin, NODE)
}

/// Why a unit is unhealthy.
fn reason(survey: &Survey, id: &str) -> String {
    survey.unit(id).unhealthy.clone().unwrap_or_default()
}

#[test]
fn queues_for_user_space_are_offered_by_kind_and_mode() {
    let survey = rig("dsa-shared").survey();
    assert_eq!(survey.ids(SHARED), [QUEUE, "0000:e7:01.0-wq0"]);
    assert_eq!(survey.ids("iaa.intel.com/wq-user-shared"), ["0000:6a:02.0-wq0"]);
    assert_eq!(
        survey.unit(QUEUE).to_string(),
        "  0000:6a:01.0-wq2
    of wq0.2
    /dev/dsa/wq0.2 rw
    numa 0
    accelerator=dsa0
    block-on-fault=1
    group=0
    max-transfer-size=2097152
    mode=shared
    name=app2
    numa=0
    pci=0000:6a:01.0
    priority=5
    queue=wq0.2
    size=16
    threshold=15
"
    );
    assert!(survey.units.iter().all(devgate_testing::Unit::is_healthy));
    assert!(survey.rejected.is_empty() && survey.denied.is_empty(), "{survey}");
    let survey = rig("dsa-dedicated").survey();
    assert_eq!(survey.ids(DEDICATED), ["0000:6a:01.0-wq0", "0000:6a:01.0-wq1"]);
    assert_eq!(survey.ids("iaa.intel.com/wq-user-dedicated"), ["0000:6a:02.0-wq1"]);
    assert!(survey.rejected.is_empty() && survey.denied.is_empty() && survey.said.is_empty(), "{survey}");
}

#[test]
fn several_containers_have_a_shared_queue_and_each_its_node() {
    let mut rig = rig("dsa-shared");
    for replica in ["0000:6a:01.0-wq2::0", "0000:6a:01.0-wq2::7"] {
        let reply = rig.allocate(SHARED, &[replica]).unwrap();
        let paths: Vec<_> = reply.nodes.iter().map(|node| node.container_path.as_str()).collect();
        assert_eq!(paths, ["/dev/dsa/wq0.2"]);
        assert_eq!(reply.env["DSA_INTEL_COM_WQ_USER_SHARED_QUEUES"], "wq0.2");
    }
}

#[test]
fn a_queue_that_is_half_set_up_is_not_offered_and_the_log_says_what_lacks() {
    let mut rig = rig("dsa-shared");
    let survey = rig.survey();
    assert_eq!(survey.unread, ["wq2.1"]);
    let why = "wq2.1 is not offered: its state is disabled, and the last command's status is 0x80060000: \
               a shared queue needs a threshold";
    assert!(survey.has_said(why), "{survey}");
    // The admin sets it up: the driver makes its node.
    rig.set("dsa/wq2.1", "state", "enabled\n");
    let cdev = "P: /devices/pci0000:e7/0000:e7:01.0/dsa2/wq2.1/dsa!wq2.1\nN: dsa/wq2.1\n\
                E: SUBSYSTEM=dsa\nE: DEVTYPE=idxd_cdev\nE: DEVNAME=/dev/dsa/wq2.1\n\
                E: MAJOR=234\nE: MINOR=4\nA: dev=234:4\\n\n";
    rig.plug(cdev);
    let survey = rig.survey();
    assert_eq!(survey.unit("0000:e7:01.0-wq1").nodes, ["/dev/dsa/wq2.1 rw"]);
    assert!(survey.unit("0000:e7:01.0-wq1").is_healthy() && survey.unread.is_empty());
}

#[test]
fn what_the_accelerator_says_is_put_in_an_admin_s_words() {
    for (status, words) in [
        ("0x80110000", "needs an iommu in scalable mode"),
        ("0x80030000", "it is in no group"),
        ("0x80200000", "its driver_name is not user"),
        ("0x80120000", "status is 0x80120000"),
    ] {
        let mut rig = rig("dsa-shared");
        rig.set("dsa/dsa2", "cmd_status", &format!("{status}\n"));
        assert!(rig.survey().has_said(words), "{status}");
    }
}

#[test]
fn a_queue_that_its_accelerator_lost_is_unhealthy_and_heals() {
    let mut rig = rig("dsa-shared");
    rig.survey();
    // What the driver makes of a halted accelerator (`idxd_device_clear_state`): type and node stay.
    rig.set("dsa/wq0.2", "state", "disabled\n");
    rig.set("dsa/dsa0", "state", "halted\n");
    let survey = rig.survey();
    assert_eq!(reason(&survey, QUEUE), "its state is disabled");
    assert!(survey.unit("0000:e7:01.0-wq0").is_healthy());
    assert!(rig.allocate(SHARED, &["0000:6a:01.0-wq2::0"]).is_err());
    rig.set("dsa/wq0.2", "state", "enabled\n");
    assert_eq!(reason(&rig.survey(), QUEUE), "its accelerator is halted");
    rig.set("dsa/dsa0", "state", "enabled\n");
    assert!(rig.survey().unit(QUEUE).is_healthy());
}

#[test]
fn a_queue_that_is_set_up_for_something_else_is_no_unit_any_more() {
    for (attribute, value) in [("type", "kernel\n"), ("type", "none\n"), ("mode", "dedicated\n")] {
        let mut rig = rig("dsa-shared");
        rig.allocate(SHARED, &["0000:6a:01.0-wq2::0"]).unwrap();
        rig.set("dsa/wq0.2", attribute, value);
        let survey = rig.survey();
        let held = survey.units.iter().find(|unit| unit.id == QUEUE);
        assert!(held.is_none_or(|unit| !unit.is_healthy()), "{attribute} {value}: {survey}");
        assert!(rig.allocate(SHARED, &["0000:6a:01.0-wq2::1"]).is_err(), "{attribute} {value}");
    }
}

#[test]
fn a_mode_that_nobody_knows_makes_no_resource() {
    let mut rig = Rig::of::<Dsa>(&POLICY.replace("mode: shared", "mode: \"*\""), "dsa-shared", NODE);
    rig.set("dsa/wq0.2", "mode", "shared/../x\n");
    let survey = rig.survey();
    assert!(survey.has_said("wq0.2 cannot be described now: its mode reads shared/../x"), "{survey}");
    assert!(survey.units.iter().all(|unit| unit.id != QUEUE));
}

#[test]
fn a_queue_without_its_node_or_without_a_grant_of_it_is_unhealthy() {
    let mut rig = rig("dsa-shared");
    rig.survey();
    rig.unplug("dsa/dsa!wq0.2");
    assert!(!rig.survey().unit(QUEUE).is_healthy());
    let policy = POLICY.replace(", nodes: [{access: rw}]", "");
    let survey = Rig::of::<Dsa>(&policy, "dsa-shared", NODE).survey();
    assert!(reason(&survey, QUEUE).contains("the policy offers none (`nodes:`)"), "{survey}");
}

#[test]
fn without_the_driver_there_is_nothing_and_with_it_all_is_back() {
    let mut rig = rig("dsa-dedicated");
    rig.survey();
    for device in ["dsa0", "iax1", "dsa2", "iax3"] {
        rig.unplug(&format!("dsa/{device}"));
    }
    let survey = rig.survey();
    assert!(survey.units.is_empty() && survey.said.is_empty(), "{survey}");
    rig.reboot(NODE);
    assert_eq!(rig.survey().units.len(), 3);
    let none = "P: /devices/pci0000:00/0000:00:01.0\nE: SUBSYSTEM=pci\nA: vendor=0x8086\\n\n";
    assert!(Rig::of::<Dsa>(POLICY, "dsa-dedicated", none).survey().idle);
}

#[test]
fn a_state_that_cannot_be_read_leaves_the_queue_as_it_was() {
    let mut rig = rig("dsa-shared");
    assert!(rig.survey().unit(QUEUE).is_healthy());
    let path = "state".to_owned();
    rig.change(Change::SetAttribute { location: PLACE.to_owned(), path, value: b"ena\0bled".to_vec() });
    let survey = rig.survey();
    assert!(survey.unit(QUEUE).is_healthy() && survey.unread.contains(&"wq0.2".to_owned()), "{survey}");
}

#[test]
fn whole_accelerators_on_vfio_come_with_what_opens_them() {
    let mut rig = rig("dsa-vfio");
    let survey = rig.survey();
    assert_eq!(survey.ids(ON_VFIO), ["0000:ec:01.0", "0000:f1:01.0"]);
    assert_eq!(survey.unit("0000:ec:01.0").nodes, ["/dev/vfio/15 rw", "/dev/vfio/vfio rw"]);
    assert!(survey.rejected.is_empty() && survey.unused.is_empty() && survey.denied.is_empty(), "{survey}");
    let reply = rig.allocate(ON_VFIO, &["0000:ec:01.0"]).unwrap();
    assert_eq!(reply.env["VFIO_BDF0"], "0000:ec:01.0");
    rig.unplug("pci/0000:f1:01.0");
    assert_eq!(rig.survey().ids(ON_VFIO), ["0000:ec:01.0"]);
}

#[test]
fn what_opens_accelerators_on_vfio_is_missed_aloud() {
    let grant = "      - {subsystem: misc, name: vfio, use: offer, nodes: [{shared: true}]}\n";
    let survey = Rig::of::<Dsa>(&POLICY.replace(grant, ""), "dsa-vfio", NODE).survey();
    assert_eq!(survey.unit("0000:ec:01.0").nodes, ["/dev/vfio/15 rw"]);
    assert!(survey.has_said("containers will miss it"), "{survey}");
    let none = NODE.replace("E: DRIVER=vfio-pci\n", "E: DRIVER=idxd\n");
    assert!(Rig::of::<Dsa>(POLICY, "dsa-vfio", &none).survey().said.is_empty());
}

#[test]
fn variables_are_numbered_as_far_as_the_policy_lists_them() {
    let any = "env: {VFIO_BDF0: any, VFIO_BDF1: any}";
    let policy = POLICY.replace("env: {VFIO_BDF0: \"{ids}\"}", any);
    for (variables, expected) in [
        (0, vec![]),
        (1, vec!["VFIO_BDF0=0000:ec:01.0"]),
        (2, vec!["VFIO_BDF0=0000:ec:01.0", "VFIO_BDF1=0000:f1:01.0"]),
    ] {
        let config = format!("config: {{vfio: dsa.intel.com/vfio, variables: {variables}}}");
        let policy = policy.replace("config: {vfio: dsa.intel.com/vfio}", &config);
        let mut rig = Rig::of::<Dsa>(&policy, "dsa-vfio", NODE);
        let reply = rig.allocate(ON_VFIO, &["0000:f1:01.0", "0000:ec:01.0"]).unwrap();
        let env: Vec<_> = reply.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(env, expected);
    }
}
