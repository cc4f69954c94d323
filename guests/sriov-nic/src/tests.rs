//! The component natively, through the plugin layer of a real host.

use super::SriovNic;
use devgate_testing::{Change, Rig};

const POLICY: &str = include_str!("../policy.yaml");
const NODE: &str = include_str!("../nodes/two-adapters.umockdev");
const VFIO: &str = "example.com/vf-vfio";
const RDMA: &str = "example.com/vf-rdma";
const PLAIN: &str = "example.com/vf";

fn rig() -> Rig {
    rig_with(POLICY)
}

fn rig_with(policy: &str) -> Rig {
    Rig::of::<SriovNic>(policy, "sriov-nic", NODE)
}

/// The policy with another part.
fn with(from: &str, to: &str) -> String {
    let policy = POLICY.replace(from, to);
    assert_ne!(policy, POLICY, "{from}");
    policy
}

#[test]
fn functions_are_sorted_into_pools() {
    let mut rig = rig();
    let survey = rig.survey();
    assert_eq!(survey.ids(VFIO), ["0000:3b:00.4", "0000:3b:00.5", "0000:86:01.2"]);
    assert_eq!(survey.ids(RDMA), ["0000:3b:00.2", "0000:3b:00.3"]);
    assert_eq!(survey.ids(PLAIN), ["0000:3b:01.2", "0000:3b:01.3", "0000:86:01.0", "0000:86:01.1"]);
    assert_eq!(
        survey.unit("0000:3b:00.3").to_string(),
        "  0000:3b:00.3
    of 0000:3b:00.3
    /dev/infiniband/umad3 rw
    /dev/infiniband/uverbs3 rw
    /dev/infiniband/rdma_cm rw
    numa 0
    device=101e
    driver=mlx5_core
    link-type=ether
    pci=0000:3b:00.3
    pf=0000:3b:00.0
    pf-name=enp59s0f0np0
    rdma=mlx5_3
    vendor=15b3
    vf=1
"
    );
    let nodes = ["/dev/vfio/105 rw", "/dev/net/tun rw", "/dev/vfio/vfio rw", "/dev/vhost-net rw"];
    assert_eq!(survey.unit("0000:3b:00.5").nodes, nodes);
    assert_eq!(survey.unit("0000:3b:01.2").nodes, [""; 0], "RDMA nodes come with the pool that asks for them");
    assert_eq!(survey.unit("0000:86:01.2").numa_nodes, [1].into());
    assert!(survey.units.iter().all(devgate_testing::Unit::is_healthy));
    assert!(
        survey.rejected.is_empty() && survey.denied.is_empty() && survey.said.is_empty() && survey.unused.is_empty()
    );
}

#[test]
fn a_container_gets_nodes_and_addresses() {
    let mut rig = rig();
    let reply = rig.allocate(VFIO, &["0000:3b:00.4", "0000:3b:00.5"]).unwrap();
    let paths: Vec<_> = reply.nodes.iter().map(|node| node.container_path.as_str()).collect();
    let expected = ["/dev/net/tun", "/dev/vfio/104", "/dev/vfio/105", "/dev/vfio/vfio", "/dev/vhost-net"];
    assert_eq!(paths, expected);
    let env: Vec<_> = reply.env.iter().collect();
    let name = "PCIDEVICE_EXAMPLE_COM_VF_VFIO".to_owned();
    assert_eq!(env, [(&name, &"0000:3b:00.4,0000:3b:00.5".to_owned())]);
    assert!(reply.mounts.is_empty() && reply.cdi.is_empty() && reply.annotations.is_empty());
}

#[test]
fn the_description_is_written_where_the_policy_lets_it() {
    let policy = with(
        "env: {\"PCIDEVICE_{RESOURCE}\": \"{ids}\"}",
        "env: {\"PCIDEVICE_{RESOURCE}\": \"{ids}\", \"PCIDEVICE_{RESOURCE}_INFO\": any}",
    );
    let policy = policy.replace("rdma: true,", "rdma: true, info: true,");
    let reply = rig_with(&policy).allocate(RDMA, &["0000:3b:00.2"]).unwrap();
    assert_eq!(
        reply.env["PCIDEVICE_EXAMPLE_COM_VF_RDMA_INFO"],
        r#"{"0000:3b:00.2":{"generic":{"deviceID":"0000:3b:00.2"},"rdma":{"rdma_cm":"/dev/infiniband/rdma_cm","rdma_dev":"mlx5_2","umad":"/dev/infiniband/umad2","uverbs":"/dev/infiniband/uverbs2"}}}"#
    );
    let policy = with("rdma: true,", "rdma: true, info: true,");
    let refused = rig_with(&policy).allocate(RDMA, &["0000:3b:00.2"]).unwrap_err().to_string();
    assert!(refused.contains("PCIDEVICE_EXAMPLE_COM_VF_RDMA_INFO is not granted"), "{refused}");
}

#[test]
fn the_link_of_the_physical_function_decides_about_health() {
    let mut rig = rig();
    let pf = "net/enp59s0f0np0";
    rig.set(pf, "operstate", "down\n");
    rig.set(pf, "carrier", "0\n");
    let survey = rig.survey();
    let down = "physical function 0000:3b:00.0: interface enp59s0f0np0 is down, no carrier";
    for id in ["0000:3b:00.2", "0000:3b:00.3", "0000:3b:00.4", "0000:3b:00.5"] {
        assert_eq!(survey.unit(id).unhealthy.as_deref(), Some(down), "{id}");
    }
    assert!(survey.unit("0000:3b:01.2").is_healthy(), "the other port");
    rig.set(pf, "operstate", "up\n");
    rig.set(pf, "carrier", "1\n");
    assert!(rig.survey().units.iter().all(devgate_testing::Unit::is_healthy));

    let mut rig = rig_with(&with("{resource: example.com/vf}", "{resource: example.com/vf, link: ignore}"));
    rig.set("net/ens2f0", "operstate", "down\n");
    let survey = rig.survey();
    assert!(survey.unit("0000:86:01.0").is_healthy(), "ignored");
    assert!(!survey.unit("0000:86:01.2").is_healthy());
}

/// IP over InfiniBand may be down while the port is not, and the other way round.
#[test]
fn on_infiniband_the_port_decides() {
    let mut rig = rig();
    rig.set("net/enp59s0f1np1", "type", "32\n");
    rig.set("net/enp59s0f1np1", "operstate", "down\n");
    assert!(rig.survey().unit("0000:3b:01.2").is_healthy());
    rig.set("net/enp59s0f1np1", "operstate", "up\n");
    rig.set("infiniband/mlx5_1", "ports/1/state", "1: DOWN\n");
    let down = "physical function 0000:3b:00.1: mlx5_1 port 1 is DOWN";
    assert_eq!(rig.survey().unit("0000:3b:01.2").unhealthy.as_deref(), Some(down));
}

/// What cannot be read is not what works.
#[test]
fn a_link_that_cannot_be_read_leaves_its_functions_as_they_were() {
    let unknown = |rig: &mut Rig, id: &str| {
        let unit = rig.survey().unit(id).clone();
        assert!(matches!(unit.verdict, Some(devgate_testing::Verdict::Unknown(_))) && !unit.is_healthy(), "{unit}");
    };
    let mut rig = rig();
    rig.set("net/enp59s0f0np0", "operstate", "down\n");
    assert!(!rig.survey().unit("0000:3b:00.2").is_healthy());
    rig.remove("net/enp59s0f0np0", "operstate");
    // What is no file cannot be read as one.
    rig.set("net/enp59s0f0np0", "operstate/x", "");
    unknown(&mut rig, "0000:3b:00.2");

    let mut rig = self::rig();
    rig.set("net/enp59s0f1np1", "type", "32\n");
    rig.set("infiniband/mlx5_1", "ports/1/state", "1: DOWN\n");
    assert!(!rig.survey().unit("0000:3b:01.2").is_healthy());
    rig.remove("infiniband/mlx5_1", "ports/1/state");
    unknown(&mut rig, "0000:3b:01.2");
}

/// A bond, bridge or VLAN of the node is above the interface.
#[test]
fn a_function_that_carries_the_node_s_traffic_is_not_offered() {
    for (link, above) in [("upper_bond0", "bond0"), ("master", "another interface"), ("upper_ens2f0v0.7", "ens2f0v0.7")]
    {
        let mut rig = rig();
        rig.change(Change::SetLink {
            location: "pci0000:85/0000:85:02.0/0000:86:01.0/net/ens2f0v0".to_owned(),
            path: link.to_owned(),
            target: "../../../../../virtual/net/bond0".to_owned(),
        });
        let survey = rig.survey();
        assert_eq!(survey.ids(PLAIN), ["0000:3b:01.2", "0000:3b:01.3", "0000:86:01.1"], "{link}");
        let why = format!("function 0000:86:01.0 is not offered: the node uses its interface ens2f0v0 in {above}");
        assert!(survey.has_said(&why), "{survey}");
        rig.remove("net/ens2f0v0", link);
        assert!(rig.survey().ids(PLAIN).contains(&"0000:86:01.0"), "{link}");
    }
}

/// The host refuses an answer with a longer property as a whole.
#[test]
fn functions_without_a_driver_are_not_too_many_to_say() {
    let mut rig = rig_with(&with("device: \"0x1889\", driver: iavf, use", "device: \"0x1889\", use"));
    let function = |n: u32| {
        format!(
            "P: /devices/pci0000:85/0000:85:02.0/0000:a0:{:02x}.{}\nE: SUBSYSTEM=pci\nA: vendor=0x8086\\n\nA: device=0x1889\\n\nL: physfn=../0000:86:00.0\n\n",
            n / 8,
            n % 8
        )
    };
    let functions: String = (0..255).flat_map(|n| [function(n), function(n).replace("0000:a0:", "0000:a1:")]).collect();
    rig.plug(&functions);
    let survey = rig.survey();
    assert_eq!(survey.ids(PLAIN).len(), 4);
    assert!((200..510).contains(&survey.unread.len()), "{}", survey.unread.len());
}

/// In switchdev mode a physical function has an interface for each of its virtual ones.
#[test]
fn a_representor_that_is_down_is_no_link() {
    let mut rig = rig();
    let place = "/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/net/enp59s0f0npf0vf0";
    rig.plug(&format!(
        "P: {place}\nE: SUBSYSTEM=net\nE: INTERFACE=enp59s0f0npf0vf0\nA: operstate=down\\n\nA: carrier=0\\n\nA: type=1\\n\nA: phys_port_name=pf0vf0\\n\n\n"
    ));
    let survey = rig.survey();
    let function = survey.unit("0000:3b:00.2");
    assert_eq!((function.is_healthy(), function.property("pf-name")), (true, Some("enp59s0f0np0")));
    rig.set("net/enp59s0f0np0", "operstate", "down\n");
    assert!(!rig.survey().unit("0000:3b:00.2").is_healthy());
}

/// A pod's interface is not seen from here, nor is a physical function's that somebody has moved.
#[test]
fn what_is_in_a_network_namespace_is_not_unhealthy() {
    let mut rig = rig();
    let before = rig.survey();
    rig.allocate(RDMA, &["0000:3b:00.2"]).unwrap();
    rig.unplug("net/enp59s0f0v0");
    rig.unplug("net/enp59s0f0np0");
    let survey = rig.survey();
    assert_eq!(survey.ids(PLAIN), before.ids(PLAIN), "no function changes its pool");
    assert_eq!(survey.ids(RDMA), before.ids(RDMA));
    for id in survey.ids(RDMA).into_iter().chain(survey.ids(PLAIN)) {
        assert_eq!(survey.unit(id).unhealthy, None, "{id}");
    }
    assert!(survey.unread.contains(&"0000:3b:00.2".to_owned()), "{survey}");
}

/// With RDMA in namespaces of its own (`netns exclusive`) neither is seen.
#[test]
fn a_function_that_a_pod_has_with_all_stays_as_it_was() {
    let mut rig = rig();
    let before = rig.survey().unit("0000:3b:00.2").clone();
    rig.allocate(RDMA, &["0000:3b:00.2"]).unwrap();
    for device in ["net/enp59s0f0v0", "infiniband/mlx5_2", "infiniband_verbs/uverbs2", "infiniband_mad/umad2"] {
        rig.unplug(device);
    }
    let survey = rig.survey();
    assert_eq!(survey.unread, ["0000:3b:00.2"]);
    assert!(survey.has_said("function 0000:3b:00.2 cannot be described now"));
    let now = survey.unit("0000:3b:00.2");
    assert_eq!((&now.resource, &now.properties), (&before.resource, &before.properties));
    assert_eq!(now.verdict, Some(devgate_testing::Verdict::Healthy));
}

#[test]
fn a_function_that_gets_another_driver_is_another_thing() {
    // A policy that does not say which driver: else the function is not even seen any more.
    let policy = with("device: \"0x1889\", driver: iavf, use", "device: \"0x1889\", use");
    let mut rig = rig_with(&policy);
    rig.allocate(PLAIN, &["0000:86:01.0"]).unwrap();
    rig.change(Change::RemoveAttribute {
        location: "pci0000:85/0000:85:02.0/0000:86:01.0".to_owned(),
        path: "driver".to_owned(),
    });
    let survey = rig.survey();
    assert_eq!(survey.unit("0000:86:01.0").unhealthy.as_deref(), Some("it has no driver now"));
    rig.unplug("pci/0000:86:01.1");
    let left = ["0000:3b:01.2", "0000:3b:01.3", "0000:86:01.0"];
    assert_eq!(rig.survey().ids(PLAIN), left, "gone, as no pod has it");
}

#[test]
fn what_the_policy_does_not_give_is_said() {
    let policy = with(
        "use: offer, nodes: [{subsystem: vfio}]}\n      - {subsystem: pci, vendor: \"0x8086\"",
        "use: offer}\n      - {subsystem: pci, vendor: \"0x8086\"",
    );
    let survey = rig_with(&policy).survey();
    let why = survey.unit("0000:3b:00.4").unhealthy.clone().unwrap();
    assert!(why.starts_with("no node of vfio is offered"), "{why}");

    let policy = with("/dev/vfio/vfio, /dev/infiniband/rdma_cm, ", "");
    let survey = rig_with(&policy).survey();
    assert!(survey.has_said(
        "resource example.com/vf-vfio: /dev/vfio/vfio is not granted (host-nodes: shared): containers will miss it"
    ));
    assert!(survey.has_said("resource example.com/vf-rdma: /dev/infiniband/rdma_cm is not granted"));
}

#[test]
fn without_the_physical_functions_nothing_is_known_of_links() {
    let policy =
        with("      - {subsystem: pci, class: [\"0x0200\", \"0x0207\"], attributes: {sriov_numvfs: \"*\"}}\n", "");
    let mut rig = rig_with(&policy.replace("pf-names: [enp59s0f0np0]", "pf-names: [\"0000:3b:00.0\"]"));
    rig.set("net/enp59s0f0np0", "operstate", "down\n");
    let survey = rig.survey();
    assert_eq!(survey.ids(RDMA), ["0000:3b:00.2", "0000:3b:00.3"], "named by its address");
    assert!(survey.unit("0000:3b:00.2").is_healthy());
    assert_eq!(survey.unit("0000:3b:00.2").property("vf"), None);
    assert!(survey.has_said("physical function 0000:3b:00.0 is not granted: nothing is known of its link"));
}

/// Interfaces with a kernel driver have no node that they share.
#[test]
fn nodes_that_are_shared_need_not_be_granted() {
    let (before, rest) = POLICY.split_once("    host-nodes:\n").unwrap();
    let (_, after) = rest.split_once("    containers:\n").unwrap();
    let policy = format!("{before}    containers:\n{after}");
    let survey = rig_with(&policy).can_do_without(&["host-paths"]).survey();
    assert_eq!(survey.ids(PLAIN).len(), 4, "{survey}");
    assert!(
        survey.denied.is_empty() && survey.has_said("/dev/vfio/vfio is not granted (host-nodes: shared)"),
        "{survey}"
    );
    assert!(!survey.has_said("resource example.com/vf:"), "{survey}");
}
