//! The component natively, through the plugin layer of a real host.

use super::Rdma;
use devgate_testing::Rig;

const POLICY: &str = include_str!("../policy.yaml");
const NODE: &str = include_str!("../nodes/eight-hcas.umockdev");
const IB: &str = "rdma/ib";
const ROCE: &str = "rdma/roce";

fn ib() -> Rig {
    Rig::of::<Rdma>(POLICY, "infiniband", NODE)
}

/// The entry for InfiniBand with another configuration.
fn ib_with(config: &str) -> Rig {
    let policy = POLICY.replace("config: {resource: rdma/ib}", &format!("config: {{resource: rdma/ib, {config}}}"));
    assert_ne!(policy, POLICY);
    Rig::of::<Rdma>(&policy, "infiniband", NODE)
}

/// So many seconds after the recording, in milliseconds since the start.
fn at(second: u64) -> u64 {
    (350_735 + second) * 1_000
}

fn down(rig: &mut Rig, device: &str, count: u32) {
    rig.set(&format!("infiniband/{device}"), "ports/1/counters/link_downed", &format!("{count}\n"));
}

#[test]
fn each_device_is_a_unit_with_its_own_nodes() {
    let mut rig = ib();
    let survey = rig.survey();
    let names: Vec<_> = (0..8).map(|n| format!("mlx5_{n}")).collect();
    assert_eq!(survey.ids(IB), names);
    assert_eq!(
        survey.unit("mlx5_1").to_string(),
        "  mlx5_1
    of 0000:40:00.0
    /dev/infiniband/uverbs1 rw
    /dev/infiniband/rdma_cm rw
    numa 0
    board=MT_0000000838
    firmware=28.41.1000
    link-layer=InfiniBand
    model=MT4129
    netdevs=ibp64s0
    node-guid=0200:5eff:fe00:0001
    numa=0
    pci=0000:40:00.0
    rate=400 Gb/sec (4X NDR)
    rdma=mlx5_1
"
    );
    assert!(survey.units.iter().all(devgate_testing::Unit::is_healthy));
    assert!(
        survey.rejected.is_empty() && survey.denied.is_empty() && survey.said.is_empty() && survey.unused.is_empty()
    );
    let reply = rig.allocate(IB, &["mlx5_1"]).unwrap();
    let paths: Vec<_> = reply.nodes.iter().map(|node| node.host_path.as_str()).collect();
    assert_eq!(paths, ["/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs1"]);
    assert_eq!(reply.env["RDMA_DEVICES_RDMA_IB"], "mlx5_1");
}

/// `mlx5_1` begins the name of `mlx5_10`.
#[test]
fn many_containers_share_a_device_and_get_that_device() {
    let policy = POLICY.replace("class: \"0x0200\"", "class: [\"0x0200\", \"0x0207\"]");
    let mut rig = Rig::of::<Rdma>(&policy, "roce", NODE);
    let survey = rig.survey();
    assert_eq!(survey.ids(ROCE).len(), 11);
    for (id, number) in [("mlx5_1::0", 1), ("mlx5_10::63", 10), ("mlx5_10::2", 10)] {
        let reply = rig.allocate(ROCE, &[id]).unwrap();
        let paths: Vec<_> = reply.nodes.iter().map(|node| node.host_path.clone()).collect();
        assert_eq!(paths[1..], [format!("/dev/infiniband/uverbs{number}")], "{id}");
    }
}

/// A virtual function has the class and the driver of its physical one, and no functions of its own.
#[test]
fn virtual_functions_are_left_to_others() {
    let mut rig = Rig::of::<Rdma>(POLICY, "roce", NODE);
    let place = "/devices/pci0000:28/0000:28:01.0/0000:29:00.2";
    let function = format!(
        "P: {place}\nE: SUBSYSTEM=pci\nE: DRIVER=mlx5_core\nA: vendor=0x15b3\\n\nA: device=0x101e\\n\nA: class=0x020000\\n\nL: physfn=../0000:29:00.0\n"
    );
    let device = format!(
        "P: {place}/infiniband/mlx5_11\nE: SUBSYSTEM=infiniband\nA: ports/1/state=4: ACTIVE\\n\nA: ports/1/phys_state=5: LinkUp\\n\nA: ports/1/link_layer=Ethernet\\n\n"
    );
    let before = rig.survey().ids(ROCE).len();
    rig.plug(&format!("{function}\n{device}\n"));
    assert_eq!(rig.survey().ids(ROCE).len(), before);
    let policy = POLICY.replace("        attributes: {sriov_totalvfs: \"*\"}\n", "");
    let mut rig = Rig::of::<Rdma>(&policy, "roce", NODE);
    rig.plug(&format!("{function}\n{device}\n"));
    assert!(rig.survey().ids(ROCE).contains(&"mlx5_11"), "the policy keeps it away");
}

#[test]
fn a_link_layer_and_names_select() {
    let policy = POLICY.replace("class: \"0x0207\"", "class: [\"0x0200\", \"0x0207\"]");
    let select = |config: &str| {
        let policy = policy.replace("config: {resource: rdma/ib}", &format!("config: {{resource: rdma/ib, {config}}}"));
        let survey = Rig::of::<Rdma>(&policy, "infiniband", NODE).survey();
        survey.ids(IB).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(select("link-layers: ethernet"), ["mlx5_10", "mlx5_8", "mlx5_9"]);
    assert_eq!(select("link-layers: infiniband").len(), 8);
    assert_eq!(select("devices: [mlx5_1, mlx5_7]"), ["mlx5_1", "mlx5_7"]);
    assert_eq!(select("devices: mlx5_1, ids: pci"), ["0000:40:00.0"]);
}

#[test]
fn all_together_are_one_unit() {
    let mut rig = ib_with("together: true");
    let survey = rig.survey();
    let all = survey.unit("all");
    assert_eq!((all.backing.len(), all.nodes.len()), (8, 9));
    rig.set("infiniband/mlx5_3", "ports/1/state", "1: DOWN\n");
    assert!(rig.survey().unit("all").is_healthy(), "the others work");
    for n in 0..8 {
        rig.set(&format!("infiniband/mlx5_{n}"), "ports/1/state", "1: DOWN\n");
    }
    assert_eq!(rig.survey().unit("all").unhealthy.as_deref(), Some("mlx5_0 port 1 is DOWN (LinkUp)"));
}

/// What counts as down is what is read, not what cannot be.
#[test]
fn a_port_that_cannot_be_read_leaves_its_device_as_it_was() {
    let mut rig = ib();
    rig.set("infiniband/mlx5_1", "ports/1/state", "1: DOWN\n");
    assert!(!rig.survey().unit("mlx5_1").is_healthy());
    for attribute in ["state", "phys_state"] {
        rig.remove("infiniband/mlx5_1", &format!("ports/1/{attribute}"));
        let unit = rig.survey().unit("mlx5_1").clone();
        assert!(
            matches!(&unit.verdict, Some(devgate_testing::Verdict::Unknown(why)) if why.starts_with("mlx5_1 port 1")),
            "{unit}"
        );
        assert!(!unit.is_healthy(), "as it was");
    }
}

/// What is not kept would be found anew at every look.
#[test]
fn flaps_that_cannot_be_stored_do_not_count() {
    let mut rig = ib_with("flaps: 1000, flap-window: 86400");
    rig.clock(u64::MAX);
    rig.survey();
    for n in 0..8 {
        down(&mut rig, &format!("mlx5_{n}"), 1_000);
    }
    let survey = rig.survey();
    assert!(survey.has_said("what ports have counted could not be stored"), "{survey}");
    assert!(survey.units.iter().all(devgate_testing::Unit::is_healthy), "{survey}");
    let mut rig = ib_with("flaps: 1000, flap-window: 86400");
    rig.survey();
    down(&mut rig, "mlx5_3", 1_000);
    assert!(!rig.survey().unit("mlx5_3").is_healthy());
}

#[test]
fn a_port_that_is_not_active_takes_its_device_away_until_it_is() {
    let mut rig = ib();
    rig.set("infiniband/mlx5_2", "ports/1/state", "2: INIT\n");
    let survey = rig.survey();
    let why = "mlx5_2 port 1 is INIT (LinkUp): is there a subnet manager?";
    assert_eq!(survey.unit("mlx5_2").unhealthy.as_deref(), Some(why));
    assert!(survey.unit("mlx5_3").is_healthy());
    rig.set("infiniband/mlx5_2", "ports/1/state", "4: ACTIVE\n");
    assert!(rig.survey().unit("mlx5_2").is_healthy());
}

#[test]
fn a_link_that_flaps_takes_its_device_away_for_a_while() {
    let mut rig = ib();
    rig.clock(at(1_000));
    down(&mut rig, "mlx5_1", 40);
    rig.survey();
    for (second, count) in [(1_010, 41), (1_020, 42)] {
        rig.clock(at(second));
        down(&mut rig, "mlx5_1", count);
        assert!(rig.survey().unit("mlx5_1").is_healthy(), "{count}");
    }
    // Neither a short restart of the host nor a port that is active now hides the third.
    rig.restart();
    rig.clock(at(1_030));
    down(&mut rig, "mlx5_1", 43);
    let survey = rig.survey();
    let why = "mlx5_1 port 1: its link went down 3 times or more within 600 s (flaps, flap-window)";
    assert_eq!(survey.unit("mlx5_1").unhealthy.as_deref(), Some(why));
    assert!(survey.unit("mlx5_0").is_healthy());
    rig.clock(at(1_609));
    assert!(!rig.survey().unit("mlx5_1").is_healthy());
    rig.clock(at(1_611));
    assert!(rig.survey().unit("mlx5_1").is_healthy(), "the first is past");
}

#[test]
fn a_new_boot_and_a_counter_that_is_reset_are_new_beginnings() {
    let mut rig = ib();
    down(&mut rig, "mlx5_1", 40);
    rig.survey();
    down(&mut rig, "mlx5_1", 2);
    assert!(rig.survey().unit("mlx5_1").is_healthy());
    down(&mut rig, "mlx5_1", 5);
    assert!(!rig.survey().unit("mlx5_1").is_healthy());
    rig.file("/proc/sys/kernel/random/boot_id", "another\n");
    assert!(rig.survey().unit("mlx5_1").is_healthy());
    let stored = rig.state();
    rig.survey();
    assert_eq!(rig.state(), stored, "nothing new, nothing stored");
}

#[test]
fn flaps_are_not_looked_at_where_nobody_wants_to() {
    let mut rig = ib_with("flaps: 0");
    down(&mut rig, "mlx5_1", 40);
    rig.survey();
    down(&mut rig, "mlx5_1", 90);
    assert!(rig.survey().unit("mlx5_1").is_healthy());
    assert!(rig.state().is_empty());
}

/// As `rdma system set netns exclusive` has it: the device is not seen, and its function is.
#[test]
fn a_device_in_a_pod_s_namespace_stays_as_it_was() {
    let mut rig = ib();
    rig.allocate(IB, &["mlx5_4"]).unwrap();
    for device in ["infiniband/mlx5_4", "infiniband_verbs/uverbs4", "infiniband_mad/umad4", "infiniband_mad/issm4"] {
        rig.unplug(device);
    }
    let survey = rig.survey();
    assert_eq!(survey.unread, ["0000:9a:00.0"]);
    let unit = survey.unit("mlx5_4");
    assert!(
        matches!(&unit.verdict, Some(devgate_testing::Verdict::Unknown(why)) if why.contains("a pod may have it")),
        "{unit}"
    );
}

#[test]
fn what_the_policy_does_not_give_is_said() {
    let policy = POLICY
        .replace("nodes: [{subsystem: infiniband_verbs}]", "nodes: [{subsystem: infiniband_mad, name: \"umad*\"}]");
    let survey = Rig::of::<Rdma>(&policy, "infiniband", NODE).survey();
    let why = survey.unit("mlx5_0").unhealthy.clone().unwrap();
    assert!(why.starts_with("no node of it is offered"), "{why}");
}

/// Nothing but the devices: what is not granted is not missed.
#[test]
fn the_boot_the_state_and_rdma_cm_need_not_be_granted() {
    let is_kept =
        |line: &&str| !["files:", "state:", "host-nodes:"].iter().any(|key| line.trim_start().starts_with(key));
    let policy: String = POLICY.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
    let rig = Rig::of::<Rdma>(&policy, "infiniband", NODE);
    let survey = rig.can_do_without(&["files", "host-paths", "state"]).survey();
    assert_eq!(survey.ids(IB).len(), 8, "{survey}");
    assert!(survey.units.iter().all(devgate_testing::Unit::is_healthy) && survey.denied.is_empty(), "{survey}");
    let warned = survey.said.iter().any(|said| said.level == devgate_testing::LogLevel::Warn);
    assert!(!warned && survey.has_said("links are not watched for flapping: state is not granted"), "{survey}");
}
