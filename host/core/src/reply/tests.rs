//! Every rule of a reply, obeyed and violated.

use super::*;
use crate::testing::{plugin_policy, property};
use devgate_node::DeviceNode;
use devgate_policy::NodeGrant;
use devgate_types::{Access, NodeKind, NodeNumber, Property, UnitId};
use std::collections::BTreeSet;

const POLICY: &str = r#"
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  gpus:
    component: {file: fake.wasm}
    resources: [v.com/gpu]
    hardware: [{subsystem: pci, vendor: "0x1234", use: offer, nodes: [{subsystem: drm, container-path: "/dev/gpu/{name}"}]}]
    containers:
      env: {GPUS: "{ids}", MODE: [fast, safe], NOTE: any}
      annotations: {v.com/uuids: "{property.uuid}", v.com/mode: [fast]}
      cdi: {v.com/gpu: "{ids}", v.com/lib: [base, all], v.com/any: any}
      mounts: {lib: {source: /opt/v/lib, target: /opt/v/lib}, log: {source: /srv/v/log, target: /opt/log, writable: true}}
"#;

fn node(path: &str, minor: u32, shared: bool) -> crate::units::GrantedNode {
    let policy = plugin_policy(POLICY);
    let offer = policy.hardware[0].node_offer("drm", "card0").unwrap();
    crate::units::GrantedNode {
        node: DeviceNode { path: path.into(), number: NodeNumber { kind: NodeKind::Character, major: 226, minor } },
        grant: NodeGrant { shared, access: Access::READ_WRITE, container_path: offer.container_path },
        owner: None,
        group: None,
    }
}

fn unit(n: u32) -> Arc<UnitRecord> {
    Arc::new(UnitRecord {
        id: UnitId::try_new(&format!("gpu-{n}")).unwrap(),
        backing: vec![],
        pieces: vec![],
        values: vec![],
        nodes: vec![node(&format!("/dev/dri/card{n}"), n, false)],
        properties: vec![("uuid".into(), format!("u{n}"))],
        numa_nodes: BTreeSet::new(),
    })
}

fn mount(target: &str) -> Arc<MountGrant> {
    let mut mount = Arc::clone(&plugin_policy(POLICY).containers.mounts["lib"]);
    Arc::make_mut(&mut mount).target = target.into();
    mount
}

fn reply_for(units: &[Arc<UnitRecord>], asked: &Asked) -> Result<Reply, ReplyRefused> {
    let resource = ResourceName::try_new("v.com/gpu").unwrap();
    build(&plugin_policy(POLICY), &resource, &PoolRecord::default(), units, asked)
}

fn reply(edits: Edits) -> Result<Reply, ReplyRefused> {
    let asked = Asked { edits, mounts: vec![] };
    reply_for(&[unit(0), unit(1)], &asked)
}

fn with(env: &[(&str, &str)], annotations: &[(&str, &str)], cdi: &[&str]) -> Edits {
    let list =
        |values: &[(&str, &str)]| values.iter().map(|(name, value)| property(name, value)).collect::<Vec<Property>>();
    Edits {
        env: list(env),
        annotations: list(annotations),
        cdi: cdi.iter().map(ToString::to_string).collect(),
        ..Edits::default()
    }
}

#[test]
fn what_a_template_says_is_set_whether_or_not_the_component_says_it() {
    let silent = reply(Edits::default()).unwrap();
    insta::assert_debug_snapshot!(silent);
    let said = with(&[("GPUS", "gpu-0,gpu-1")], &[("v.com/uuids", "u0,u1")], &["v.com/gpu=gpu-1", "v.com/gpu=gpu-0"]);
    assert_eq!(reply(said).unwrap(), silent);
}

#[test]
fn what_the_policy_lists_is_the_components_choice() {
    let chosen = with(
        &[("MODE", "safe"), ("NOTE", "anything, really")],
        &[("v.com/mode", "fast")],
        &["v.com/lib=all", "v.com/lib=base", "v.com/any=x:1"],
    );
    let chosen = reply(chosen).unwrap();
    assert_eq!(chosen.env["MODE"], "safe");
    assert_eq!(chosen.annotations["v.com/mode"], "fast");
    let names: Vec<_> = chosen.cdi.iter().map(String::as_str).collect();
    assert_eq!(names, ["v.com/any=x:1", "v.com/gpu=gpu-0", "v.com/gpu=gpu-1", "v.com/lib=all", "v.com/lib=base"]);
}

#[test]
fn what_the_policy_does_not_expect_is_refused() {
    let refused = |env: &[(&str, &str)], annotations: &[(&str, &str)], cdi: &[&str]| {
        reply(with(env, annotations, cdi)).unwrap_err()
    };
    insta::assert_snapshot!(refused(&[("OTHER", "x")], &[], &[]), @"environment variable OTHER is not granted (containers.env)");
    insta::assert_snapshot!(refused(&[("GPUS", "gpu-0,gpu-1,gpu-2")], &[], &[]), @r#"environment variable GPUS has the value "gpu-0,gpu-1,gpu-2", but the policy expects "gpu-0,gpu-1" (from "{ids}")"#);
    insta::assert_snapshot!(refused(&[("MODE", "slow")], &[], &[]), @r#"environment variable MODE has the value "slow", but the policy expects "fast" or "safe""#);
    insta::assert_snapshot!(refused(&[("MODE", "fast"), ("MODE", "fast")], &[], &[]), @"environment variable MODE is set twice");
    insta::assert_snapshot!(refused(&[], &[("v.com/uuid", "u0")], &[]), @"annotation v.com/uuid is not granted (containers.annotations)");
    insta::assert_snapshot!(refused(&[], &[("v.com/uuids", "u0")], &[]), @r#"annotation v.com/uuids has the value "u0", but the policy expects "u0,u1" (from "{property.uuid}")"#);
    insta::assert_snapshot!(refused(&[], &[], &["v.com/gpu=gpu-7"]), @r#"CDI device "v.com/gpu=gpu-7" is named, but the policy expects what "{ids}" makes of the allocated units"#);
    insta::assert_snapshot!(refused(&[], &[], &["v.com/gpu=all"]), @r#"CDI device "v.com/gpu=all" is named, but the policy expects what "{ids}" makes of the allocated units"#);
    insta::assert_snapshot!(refused(&[], &[], &["v.com/any=all"]), @r#"CDI device "v.com/any=all" is named, but the policy expects a name for one device"#);
    insta::assert_snapshot!(refused(&[], &[], &["v.com/lib=gone"]), @r#"CDI device "v.com/lib=gone" is named, but the policy expects "base" or "all""#);
    insta::assert_snapshot!(refused(&[], &[], &["w.com/gpu=0"]), @r#"CDI device "w.com/gpu=0" is not granted (containers.cdi)"#);
    insta::assert_snapshot!(refused(&[], &[], &["gpu-0"]), @r#"CDI device "gpu-0" is not a name such as vendor.com/class=name"#);
    insta::assert_snapshot!(refused(&[], &[("cdi.k8s.io/x", "v.com/gpu=gpu-0")], &[]), @r#"annotation cdi.k8s.io/x names CDI devices, which the component has to name in the edit "cdi""#);
    insta::assert_snapshot!(refused(&[], &[], &["v.com/gpu=gpu-5"]), @r#"CDI device "v.com/gpu=gpu-5" is named, but the policy expects what "{ids}" makes of the allocated units"#);
    let unknown = Edits { properties: vec![property("hooks\n", "x")], ..Edits::default() };
    insta::assert_snapshot!(reply(unknown).unwrap_err(), @r#"edit "hooks\n" is not known to this host"#);
}

#[test]
fn a_template_that_a_unit_cannot_fill_gives_nothing() {
    let mut bare = (*unit(0)).clone();
    bare.properties.clear();
    let refused = reply_for(&[Arc::new(bare)], &Asked::default()).unwrap_err();
    insta::assert_snapshot!(refused, @r#"annotation v.com/uuids: the policy expects a value from property "uuid", which "gpu-0" does not have"#);
    let mut odd = (*unit(0)).clone();
    odd.id = UnitId::try_new("gpu-0-").unwrap();
    let refused = reply_for(&[Arc::new(odd)], &Asked::default()).unwrap_err();
    assert!(refused.to_string().contains("is not a name that CDI allows"), "{refused}");
}

#[test]
fn two_edits_never_share_a_path() {
    let asked = |mounts: Vec<Arc<MountGrant>>| Asked { edits: Edits::default(), mounts };
    let good = reply_for(&[unit(0)], &asked(vec![mount("/opt/a"), mount("/opt/b"), mount("/opt/a")])).unwrap();
    assert_eq!(good.mounts.len(), 2, "the same mount twice is one");
    let mut other = mount("/opt/a");
    Arc::make_mut(&mut other).source = "/opt/other".into();
    let refused = reply_for(&[unit(0)], &asked(vec![mount("/opt/a"), other])).unwrap_err();
    insta::assert_snapshot!(refused, @"two edits would both be /opt/a in the container (containers.mounts)");
    let refused = reply_for(&[unit(0)], &asked(vec![mount("/dev/gpu/card0")])).unwrap_err();
    insta::assert_snapshot!(refused, @"two edits would both be /dev/gpu/card0 in the container (containers.mounts)");
    let mut twin = (*unit(1)).clone();
    twin.nodes = vec![node("/dev/other/card0", 9, false)];
    let refused = reply_for(&[unit(0), Arc::new(twin)], &Asked::default()).unwrap_err();
    insta::assert_snapshot!(refused, @"nodes /dev/dri/card0 and /dev/other/card0 would both be /dev/gpu/card0 in the container (container-path)");
    let same = reply_for(&[unit(0), unit(0)], &Asked::default()).unwrap();
    assert_eq!(same.nodes.len(), 1, "units that share hardware have the same node");
}
