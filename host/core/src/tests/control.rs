//! Writing attributes: what the policy names, of what the call is about, and of nothing that another consumer has.

mod audited;

use crate::allocations::Allocations;
use crate::call::CallHost;
use crate::grants::Grants;
use crate::ledger::{Footprint, Intent, Ledger, NotHeld, NotWritten, PluginIndex, Writing};
use crate::plugin_services::PluginServices;
use crate::status::RefusalKind;
use crate::testing::*;
use devgate_fake_node::RecordedNode;
use devgate_node::DevicePath;
use devgate_node::tree::Readers;
use devgate_types::component::{Answered, CallKind, Capabilities, Denied};
use devgate_types::{FailureKind, UnitId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// Behind one bridge: two functions that only a reset of their bus resets. Behind another: one with a reset of its own, and a
/// function beneath it. Two more that share an iommu group.
const NODE: &str = "\
P: /devices/pci0000:00/0000:00:01.0
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
R: reset=

P: /devices/pci0000:00/0000:00:01.0/0000:01:00.0
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
A: mode=0\\n
R: reset=
A: reset_method=bus\\n

P: /devices/pci0000:00/0000:00:01.0/0000:01:00.1
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
R: reset=
A: reset_method=bus\\n

P: /devices/pci0000:00/0000:00:02.0
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
R: reset=
A: reset_method=flr\\n
L: alias=reset

P: /devices/pci0000:00/0000:00:02.0/drm/card0
E: SUBSYSTEM=drm

P: /devices/pci0000:00/0000:00:02.0/0000:02:00.0
E: SUBSYSTEM=pci
A: vendor=0x9999\\n
R: reset=

P: /devices/pci0000:00/0000:00:03.0
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
R: reset=
A: reset_method=flr\\n
L: iommu_group=../../../kernel/iommu_groups/7

P: /devices/pci0000:00/0000:00:04.0
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
R: reset=
A: reset_method=flr\\n
L: iommu_group=../../../kernel/iommu_groups/7
";

const POLICY: &str = r#"    hardware: [{subsystem: pci, vendor: "0x1234", use: offer}]
    control:
      - {attribute: reset, values: ["1"], moment: [prepare, release]}
      - {attribute: mode, values: ["1", "2"], moment: release}
      - {attribute: alias, values: ["1"], moment: release}
      - {attribute: nothing, values: ["1"], moment: release}
      - {attribute: "0000:02:00.0/reset", values: ["1"], moment: release}
      - {attribute: "0000:01:00.0/mode", values: ["1"], moment: release}
"#;

struct World {
    node: RecordedNode,
    ledger: Ledger,
}

impl World {
    fn new() -> Self {
        Self {
            node: RecordedNode::parse("test", NODE).unwrap(),
            ledger: Ledger::new(["p".to_owned(), "other".to_owned()]),
        }
    }

    fn device(&self, name: &str) -> DevicePath {
        self.node.device("pci", name).unwrap()
    }

    fn host(&self) -> CallHost {
        let policy = plugin_policy(&policy_of(POLICY));
        let grants = Arc::new(Grants::new(self.node.clone().into(), policy));
        let mut services = PluginServices::none(&grants.policy, None);
        services.ledger = self.ledger.clone();
        host_with(grants, Arc::new(services))
    }

    /// What `release` of a unit that is made of `of` gets when it writes to `name`.
    fn write_in(&self, kind: Option<CallKind>, of: &str, name: &str, path: &str, value: &str) -> Answered<()> {
        let mut host = self.host();
        host.kind = kind.unwrap_or(CallKind::Release);
        self.write_by(host, of, name, path, value)
    }

    fn write_by(&self, mut host: CallHost, of: &str, name: &str, path: &str, value: &str) -> Answered<()> {
        host.lends(&id(of), &[self.device(of)]);
        let target = host.hold_device(self.device(name));
        host.control_write(target, path, value)
    }

    fn release(&self, name: &str, path: &str, value: &str) -> Answered<()> {
        self.write_in(None, name, name, path, value)
    }

    fn written(&self, name: &str, path: &str) -> String {
        let bytes = self.node.tree().read(&self.device(name).join(path).unwrap(), 0, 64, Readers::Host).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// A unit of another plugin that is made of this and that a container has.
    fn give(&self, name: &str) -> Result<Vec<UnitId>, NotHeld> {
        let footprint = self.footprint(name);
        self.ledger.report(PluginIndex(1), vec![footprint.clone()]);
        self.ledger.hold(PluginIndex(1), vec![footprint])
    }

    fn footprint(&self, name: &str) -> Footprint {
        Footprint {
            id: id("theirs"),
            exclusive: vec![],
            shared: vec![],
            backing: vec![self.node.device("pci", name).or_else(|_| self.node.device("drm", name)).unwrap()],
            pieces: vec![],
            values: vec![],
            shares: false,
            part: None,
            is_counted: false,
            remembered: false,
        }
    }
}

fn id(text: &str) -> UnitId {
    UnitId::try_new(text).unwrap()
}

fn kind(answer: Answered<()>) -> (FailureKind, String) {
    match answer {
        Err(Denied::Failure(failure)) => (failure.kind, failure.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_the_policy_names_is_written_at_its_moment() {
    let world = World::new();
    assert_eq!(world.release("0000:01:00.0", "reset", "1"), Ok(()));
    assert_eq!(world.written("0000:01:00.0", "reset"), "1");
    assert_eq!(world.release("0000:01:00.0", "mode", "2"), Ok(()));
    assert_eq!(world.written("0000:01:00.0", "mode"), "2");
    let prepare = world.write_in(Some(CallKind::Prepare), "0000:00:02.0", "0000:00:02.0", "reset", "1");
    assert_eq!(prepare, Ok(()));
    assert_eq!(world.written("0000:00:02.0", "reset"), "1");
}

#[test]
fn nothing_else_is_written_and_it_is_said_why() {
    let world = World::new();
    let gpu = "0000:01:00.0";
    let in_call = |call| kind(world.write_in(Some(call), gpu, gpu, "reset", "1"));
    let mut start = world.host();
    (start.kind, start.is_start) = (CallKind::Prepare, true);
    let said: Vec<_> = [
        kind(world.release(gpu, "vendor", "1")),
        kind(world.release(gpu, "reset", "2")),
        kind(world.release(gpu, "reset", "1\n")),
        kind(world.write_in(Some(CallKind::Prepare), gpu, gpu, "mode", "1")),
        in_call(CallKind::Allocate),
        in_call(CallKind::Health),
        in_call(CallKind::Enumerate),
        in_call(CallKind::Choose),
        kind(world.write_by(start, gpu, gpu, "reset", "1")),
        kind(world.write_in(None, "0000:01:00.1", gpu, "reset", "1")),
        kind(world.release("0000:00:02.0", "alias", "1")),
        kind(world.release("0000:00:02.0", "nothing", "1")),
        kind(world.release("0000:00:02.0", "0000:02:00.0/reset", "1")),
        // Granted as well, and all the same: what a write acts on is asked of the device that the handle is.
        kind(world.release("0000:00:01.0", "0000:01:00.0/mode", "1")),
        kind(world.release(gpu, "../0000:01:00.1/reset", "1")),
    ]
    .into_iter()
    .map(|(kind, message)| format!("{kind:?}: {message}"))
    .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    Denied: writing "1" to vendor of 0000:01:00.0: the policy's control does not name that attribute
    Denied: writing "2" to reset of 0000:01:00.0: the policy's control does not name that value
    Denied: writing "1\n" to reset of 0000:01:00.0: the policy's control does not name that value
    Denied: writing "1" to mode of 0000:01:00.0: the policy's control does not name it for prepare
    Unsupported: writing "1" to reset of 0000:01:00.0: attributes are written in prepare and release only, not in allocate
    Unsupported: writing "1" to reset of 0000:01:00.0: attributes are written in prepare and release only, not in health
    Unsupported: writing "1" to reset of 0000:01:00.0: attributes are written in prepare and release only, not in enumerate
    Unsupported: writing "1" to reset of 0000:01:00.0: attributes are written in prepare and release only, not in choose
    Unsupported: writing "1" to reset of 0000:01:00.0: a container has the device already
    Denied: writing "1" to reset of 0000:01:00.0: no unit that this call is about is made of that device
    Invalid: writing "1" to alias of 0000:00:02.0: invalid: a link, or one on the way
    NotFound: writing "1" to nothing of 0000:00:02.0: not found
    Denied: writing "1" to 0000:02:00.0/reset of 0000:00:02.0: it is in the directory of another device, and is written through that one alone
    Denied: writing "1" to 0000:01:00.0/mode of 0000:00:01.0: it is in the directory of another device, and is written through that one alone
    Denied: writing "1" to ../0000:01:00.1/reset of 0000:01:00.0: the policy's control does not name that attribute
    "#);
    assert_eq!((world.written(gpu, "reset"), world.written(gpu, "mode")), (String::new(), "0\n".into()));
}

/// Another consumer that has something that a write may act on keeps it as it is.
#[test]
fn nothing_is_written_that_acts_on_what_another_pod_has() {
    for (theirs, ours, refused) in [
        // A bus reset: its neighbour, and the bridge above.
        ("0000:01:00.1", "0000:01:00.0", true),
        ("0000:01:00.1", "0000:00:01.0", true),
        ("0000:00:01.0", "0000:01:00.0", true),
        // What is beneath it, a node's device included.
        ("card0", "0000:00:02.0", true),
        ("0000:02:00.0", "0000:00:02.0", true),
        // Its iommu group.
        ("0000:00:04.0", "0000:00:03.0", true),
        // None of all that.
        ("0000:00:02.0", "0000:01:00.0", false),
        ("0000:01:00.1", "0000:00:02.0", false),
        ("0000:00:04.0", "0000:00:02.0", false),
    ] {
        let world = World::new();
        let answer = world.release(ours, "reset", "1");
        assert_eq!(answer, Ok(()), "{ours}: no consumer has anything");
        world.give(theirs).unwrap();
        let answer = world.release(ours, "reset", "1");
        assert_eq!(answer.is_err(), refused, "{theirs} is held, {ours} is written");
        if refused {
            let (kind, message) = kind(answer);
            assert_eq!(kind, FailureKind::Busy);
            assert!(!message.contains("theirs"), "{message}");
        }
        world.ledger.let_go(PluginIndex(1), &[id("theirs")]);
        assert_eq!(world.release(ours, "reset", "1"), Ok(()), "{theirs} is free again");
    }
}

#[test]
fn what_was_handed_out_before_the_host_started_counts_as_held() {
    let world = World::new();
    let mut footprint = world.footprint("0000:01:00.1");
    footprint.remembered = true;
    world.ledger.report(PluginIndex(1), vec![footprint]);
    assert_eq!(kind(world.release("0000:01:00.0", "reset", "1")).0, FailureKind::Busy);
}

/// The unit that the call is about is held itself, and is no obstacle.
#[test]
fn a_unit_is_written_to_while_it_is_held() {
    let world = World::new();
    let mut footprint = world.footprint("0000:01:00.0");
    footprint.id = id("0000:01:00.0");
    world.ledger.report(PluginIndex(0), vec![footprint.clone()]);
    world.ledger.hold(PluginIndex(0), vec![footprint]).unwrap();
    assert_eq!(world.release("0000:01:00.0", "reset", "1"), Ok(()));
}

fn begin(
    world: &World,
    ids: &BTreeSet<UnitId>,
    given_up: &CancellationToken,
    allocations: &Allocations,
) -> Result<Writing, NotWritten> {
    let gpu = world.device("0000:01:00.0");
    world.ledger.begin_write(Intent {
        index: PluginIndex(0),
        ids: ids.clone(),
        devices: world.node.acts_on(&gpu).unwrap(),
        given_up,
        reached: &|devices| allocations.reached_by(devices, ids, &BTreeSet::from([gpu.clone()])),
    })
}

#[test]
fn while_something_is_written_nobody_gets_what_it_acts_on() {
    let world = World::new();
    let ids = BTreeSet::from([id("ours")]);
    let writing = begin(&world, &ids, &CancellationToken::new(), &Allocations::forgetful()).unwrap();
    assert_eq!(world.give("0000:01:00.1"), Err(NotHeld::Changed));
    assert_eq!(world.give("0000:00:02.0"), Ok(vec![id("theirs")]));
    world.ledger.let_go(PluginIndex(1), &[id("theirs")]);
    // Not even the unit that it is about: the write hangs, or the call has not ended.
    let mut own = world.footprint("0000:01:00.0");
    own.id = id("ours");
    world.ledger.report(PluginIndex(0), vec![own.clone()]);
    assert_eq!(world.ledger.hold(PluginIndex(0), vec![own.clone()]), Err(NotHeld::Changed));
    drop(writing);
    assert_eq!(world.ledger.hold(PluginIndex(0), vec![own]), Ok(vec![id("ours")]));
    world.ledger.let_go(PluginIndex(0), &[id("ours")]);
    world.ledger.report(PluginIndex(0), vec![]);
    assert_eq!(world.give("0000:01:00.1"), Ok(vec![id("theirs")]));
}

#[test]
fn what_nobody_waits_for_any_more_is_not_written() {
    let world = World::new();
    let given_up = CancellationToken::new();
    let mut host = world.host().until(given_up.clone());
    host.kind = CallKind::Prepare;
    let gpu = world.device("0000:01:00.0");
    host.lends(&id("0000:01:00.0"), std::slice::from_ref(&gpu));
    let target = host.hold_device(gpu);
    assert_eq!(host.control_write(target, "reset", "1"), Ok(()));
    given_up.cancel();
    let (kind, message) = kind(host.control_write(target, "reset", "1"));
    assert_eq!(kind, FailureKind::Busy);
    assert!(message.contains("this call is not waited for any more"), "{message}");
}

/// A plugin that could not be loaded, or that has left, claims nothing, and its pods run on.
#[test]
fn what_was_handed_out_counts_as_held_whoever_looks_after_it() {
    let world = World::new();
    let ids = BTreeSet::from([id("ours")]);
    let handed_out = |id: &str, name: &str| {
        let dir = tempfile::tempdir().unwrap();
        let place = world.device(name).location().to_owned();
        let unit = serde_json::json!({"nodes": [], "backing": [place]});
        let handed_out = serde_json::json!({"version": 1, "handed_out": {"other.com/x": {id: unit}}});
        std::fs::write(dir.path().join("handed-out.json"), handed_out.to_string()).unwrap();
        Allocations::open(dir.path()).unwrap()
    };
    let try_with = |allocations: &Allocations| begin(&world, &ids, &CancellationToken::new(), allocations).map(drop);
    let refused = try_with(&handed_out("theirs", "0000:01:00.1")).unwrap_err();
    assert!(matches!(&refused, NotWritten::Held(other) if other.of == "resource other.com/x"), "{refused:?}");
    // The bridge above, which has it beneath.
    try_with(&handed_out("theirs", "0000:00:01.0")).unwrap_err();
    // The same id, made of something else as well as of what the call is about.
    try_with(&handed_out("ours", "0000:01:00.1")).unwrap_err();
    try_with(&handed_out("ours", "0000:01:00.0")).unwrap();
    try_with(&handed_out("theirs", "0000:00:02.0")).unwrap();
    try_with(&Allocations::forgetful()).unwrap();
}
