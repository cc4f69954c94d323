//! The component natively, through the plugin layer of a real host.

use super::Onload;
use devgate_testing::{Change, Origin, Rig};

const POLICY: &str = include_str!("../policy.yaml");
const NODE: &str = include_str!("../nodes/two-ports.umockdev");
const ONLOAD: &str = "amd.com/onload";
const FIRST: &str = "0000:5e:00.0";

fn rig() -> Rig {
    Rig::of::<Onload>(POLICY, "onload", NODE)
}

#[test]
fn each_port_is_a_unit_and_nobody_else_s_is() {
    let survey = rig().survey();
    assert_eq!(survey.ids(ONLOAD), [FIRST, "0000:5e:00.1"]);
    assert_eq!(
        survey.unit(FIRST).to_string(),
        "  0000:5e:00.0
    of 0000:5e:00.0
    /dev/onload rw
    /dev/onload_epoll rw
    /dev/sfc_char rw
    numa 0
    device=0x0b03
    driver=sfc
    interface=ens1f0np0
    pci=0000:5e:00.0
"
    );
    assert!(survey.units.iter().all(devgate_testing::Unit::is_healthy));
    assert!(
        survey.rejected.is_empty() && survey.denied.is_empty() && survey.said.is_empty() && survey.unused.is_empty()
    );
}

#[test]
fn a_container_gets_nodes_library_and_preloading() {
    let reply = rig().allocate(ONLOAD, &["0000:5e:00.0::7"]).unwrap();
    let paths: Vec<_> = reply.nodes.iter().map(|node| node.container_path.as_str()).collect();
    assert_eq!(paths, ["/dev/onload", "/dev/onload_epoll", "/dev/sfc_char"]);
    let library = "/opt/onload/usr/lib64/libonload.so";
    assert_eq!(reply.env["LD_PRELOAD"], library);
    assert_eq!(reply.mounts.len(), 1);
    assert_eq!((reply.mounts[0].container_path.as_str(), reply.mounts[0].read_only), (library, true));
}

#[test]
fn a_library_that_is_not_there_keeps_a_container_from_starting_without_it() {
    let mut rig = rig();
    rig.survey();
    rig.change(Change::RemoveFile("/opt/onload/usr/lib64/libonload.so".to_owned()));
    let refused = rig.allocate(ONLOAD, &["0000:5e:00.0::7"]).unwrap_err().to_string();
    assert!(refused.contains("libonload"), "{refused}");
}

#[test]
fn a_port_without_a_link_is_unhealthy_and_one_that_is_not_seen_is_not() {
    let mut rig = rig();
    rig.set("net/ens1f0np0", "operstate", "down\n");
    rig.set("net/ens1f0np0", "carrier", "0\n");
    let survey = rig.survey();
    assert_eq!(survey.unit(FIRST).unhealthy.as_deref(), Some("interface ens1f0np0 is down, no carrier"));
    assert!(survey.unit("0000:5e:00.1").is_healthy());
    rig.remove("net/ens1f0np0", "operstate");
    // What is no file cannot be read as one.
    rig.set("net/ens1f0np0", "operstate/x", "");
    let unit = rig.survey().unit(FIRST).clone();
    assert!(matches!(unit.verdict, Some(devgate_testing::Verdict::Unknown(_))) && !unit.is_healthy(), "{unit}");
    rig.unplug("net/ens1f0np0");
    assert!(rig.survey().unit(FIRST).is_healthy());
}

#[test]
fn without_a_node_nothing_works() {
    let mut rig = rig();
    rig.change(Change::RemoveNode("/dev/onload_epoll".to_owned()));
    let survey = rig.survey();
    let why = "node /dev/onload_epoll is not there: are the modules onload and sfc_char loaded?";
    assert!(survey.has_said(why));
    for id in [FIRST, "0000:5e:00.1"] {
        assert_eq!(survey.unit(id).unhealthy.as_deref(), Some(why), "{id}");
    }
}

/// An error that passes is not taken for a module that is not loaded.
#[test]
fn a_node_that_cannot_be_told_leaves_all_as_they_were() {
    use super::{Error, ErrorKind, NODES, Verdict, problem};
    let with = |errors: [Option<ErrorKind>; 3]| {
        let mut errors = errors.into_iter();
        problem(NODES.map(|path| (path, errors.next().unwrap().map(|kind| Error::new(kind, "the kernel said EIO")))))
    };
    assert!(with([None, None, None]).is_none());
    let unknown = with([None, Some(ErrorKind::Io), None]);
    assert!(matches!(unknown, Some(Verdict::Unknown(why)) if why == "the kernel said EIO"));
    for sure in [ErrorKind::NotFound, ErrorKind::Denied] {
        let unhealthy = with([Some(ErrorKind::Io), None, Some(sure)]);
        assert!(matches!(unhealthy, Some(Verdict::Unhealthy(why)) if why.contains("/dev/sfc_char")));
    }
}

#[test]
fn an_adapter_with_another_driver_is_not_onload_s() {
    let mut rig = rig();
    rig.allocate(ONLOAD, &["0000:5e:00.1::0"]).unwrap();
    rig.change(Change::RemoveAttribute {
        location: "pci0000:5d/0000:5d:00.0/0000:5e:00.1".to_owned(),
        path: "driver".to_owned(),
    });
    let survey = rig.survey();
    assert!(!survey.unit("0000:5e:00.1").is_healthy(), "{survey}");
    assert!(survey.unit(FIRST).is_healthy());
}

/// The policy has the variables that there may be, and their values.
fn for_claims() -> Rig {
    let env = "env: {LD_PRELOAD: /opt/onload/usr/lib64/libonload.so, EF_POLL_USEC: [\"0\", \"100000\"], EF_STACK_PER_THREAD: [\"1\"]}";
    let policy = POLICY.replace("env: {LD_PRELOAD: /opt/onload/usr/lib64/libonload.so}", env);
    Rig::of::<Onload>(&policy, "onload", NODE)
}

#[test]
fn a_claim_tunes_onload_as_far_as_its_class_and_the_policy_let_it() {
    let mut rig = for_claims();
    let ids = ["0000:5e:00.0::3"];
    let class = (Origin::Class, r#"{"variables": {"EF_STACK_PER_THREAD": "1"}}"#);
    let poll = (Origin::Claim, r#"{"variables": {"EF_POLL_USEC": "100000"}}"#);
    let reply = rig.claim(ONLOAD, &ids, &[class, poll]).unwrap();
    rig.end();
    let env: Vec<_> = reply.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let library = "LD_PRELOAD=/opt/onload/usr/lib64/libonload.so";
    assert_eq!(env, ["EF_POLL_USEC=100000", "EF_STACK_PER_THREAD=1", library]);
    assert_eq!(reply.mounts.len(), 1, "all else is as ever");
    for (claim, why) in [
        (r#"{"variables": {"EF_STACK_PER_THREAD": "0"}}"#, "claim variables.EF_STACK_PER_THREAD: is set by the class"),
        (r#"{"variables": {"LD_PRELOAD": "/x.so"}}"#, "claim variables.LD_PRELOAD: is no variable of Onload's"),
        (r#"{"variables": {"EF_POLL_USEC": "1"}}"#, "variable EF_POLL_USEC has the value \"1\""),
        (r#"{"variables": {"EF_LOG": "x"}}"#, "variable EF_LOG is not granted (containers.env)"),
        (r#"{"variable": {}}"#, "claim: unknown key `variable`; known here: variables"),
    ] {
        let refused = rig.claim(ONLOAD, &ids, &[class, (Origin::Claim, claim)]).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}
