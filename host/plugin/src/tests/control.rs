//! Writing attributes: what the policy names, of what the call is about, and of nothing that somebody else has.

use crate::call::{CallHost, Moment};
use crate::claims::{Claim, Ledger, NotHeld, Place};
use crate::component::{Answered, Capabilities, Denied};
use crate::grants::Grants;
use crate::means::Means;
use crate::testing::*;
use devgate_model::{FailureKind, UnitId};
use devgate_node::{DevicePath, Node};
use std::collections::BTreeSet;
use std::sync::Arc;

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
"#;

struct World {
    node: Node,
    ledger: Ledger,
}

impl World {
    fn new() -> Self {
        Self {
            node: Node::recorded("test", NODE).unwrap(),
            ledger: Ledger::new(["p".to_owned(), "other".to_owned()]),
        }
    }

    fn device(&self, name: &str) -> DevicePath {
        self.node.device("pci", name).unwrap()
    }

    fn host(&self) -> CallHost {
        let policy = plugin_policy(&policy_of(POLICY));
        let grants = Arc::new(Grants::new(self.node.clone(), policy));
        let mut means = Means::none(&grants.policy);
        means.ledger = self.ledger.clone();
        host_with(grants, Arc::new(means))
    }

    /// What `release` of a unit that is made of `of` gets when it writes to `name`.
    fn write_in(&self, moment: Option<Moment>, of: &str, name: &str, path: &str, value: &str) -> Answered<()> {
        let mut host = self.host();
        let moment = moment.unwrap_or_else(|| Moment::Release(host.ticket()));
        host.during(moment);
        host.lends(&id(of), &[self.device(of)]);
        let target = host.hold_device(self.device(name));
        host.control_write(target, path, value)
    }

    fn release(&self, name: &str, path: &str, value: &str) -> Answered<()> {
        self.write_in(None, name, name, path, value)
    }

    fn written(&self, name: &str, path: &str) -> String {
        let bytes = self.node.root_attribute(&self.device(name), path, 64).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// A unit of another plugin that is made of this and that a container has.
    fn give(&self, name: &str) -> Result<Vec<UnitId>, NotHeld> {
        let claim = self.claim(name);
        self.ledger.report(Place(1), vec![claim.clone()]);
        self.ledger.hold(Place(1), vec![claim])
    }

    fn claim(&self, name: &str) -> Claim {
        Claim {
            id: id("theirs"),
            exclusive: vec![],
            shared: vec![],
            backing: vec![
                self.node
                    .device("pci", name)
                    .or_else(|_| self.node.device("drm", name))
                    .unwrap(),
            ],
            shares: false,
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
    let prepare = world.write_in(Some(Moment::Prepare), "0000:00:02.0", "0000:00:02.0", "reset", "1");
    assert_eq!(prepare, Ok(()));
    assert_eq!(world.written("0000:00:02.0", "reset"), "1");
}

#[test]
fn nothing_else_is_written_and_it_is_said_why() {
    let world = World::new();
    let gpu = "0000:01:00.0";
    let ticket = world.host().ticket();
    let in_moment = |moment| kind(world.write_in(Some(moment), gpu, gpu, "reset", "1"));
    let said: Vec<_> = [
        kind(world.release(gpu, "vendor", "1")),
        kind(world.release(gpu, "reset", "2")),
        kind(world.release(gpu, "reset", "1\n")),
        kind(world.write_in(Some(Moment::Prepare), gpu, gpu, "mode", "1")),
        in_moment(Moment::Allocate),
        in_moment(Moment::Health(ticket)),
        in_moment(Moment::Enumerate(ticket)),
        in_moment(Moment::Choose),
        in_moment(Moment::Start),
        kind(world.write_in(None, "0000:01:00.1", gpu, "reset", "1")),
        kind(world.release("0000:00:02.0", "alias", "1")),
        kind(world.release("0000:00:02.0", "nothing", "1")),
        kind(world.release("0000:00:02.0", "0000:02:00.0/reset", "1")),
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
    Denied: writing "1" to 0000:02:00.0/reset of 0000:00:02.0: denied: the policy does not grant the device that has it
    Denied: writing "1" to ../0000:01:00.1/reset of 0000:01:00.0: the policy's control does not name that attribute
    "#);
    assert_eq!(
        (world.written(gpu, "reset"), world.written(gpu, "mode")),
        (String::new(), "0\n".into())
    );
}

/// Whoever else has something that a write may act on keeps it as it is.
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
        assert_eq!(answer, Ok(()), "{ours}: nobody has anything");
        world.give(theirs).unwrap();
        let answer = world.release(ours, "reset", "1");
        assert_eq!(answer.is_err(), refused, "{theirs} is held, {ours} is written");
        if refused {
            let (kind, message) = kind(answer);
            assert_eq!(kind, FailureKind::Busy);
            assert!(!message.contains("theirs"), "{message}");
        }
        world.ledger.let_go(Place(1), &[id("theirs")]);
        assert_eq!(world.release(ours, "reset", "1"), Ok(()), "{theirs} is free again");
    }
}

#[test]
fn what_was_handed_out_before_the_host_started_counts_as_held() {
    let world = World::new();
    let mut claim = world.claim("0000:01:00.1");
    claim.remembered = true;
    world.ledger.report(Place(1), vec![claim]);
    assert_eq!(kind(world.release("0000:01:00.0", "reset", "1")).0, FailureKind::Busy);
}

/// The unit that the call is about is held itself, and is no obstacle.
#[test]
fn a_unit_is_written_to_while_it_is_held() {
    let world = World::new();
    let mut claim = world.claim("0000:01:00.0");
    claim.id = id("0000:01:00.0");
    world.ledger.report(Place(0), vec![claim.clone()]);
    world.ledger.hold(Place(0), vec![claim]).unwrap();
    assert_eq!(world.release("0000:01:00.0", "reset", "1"), Ok(()));
}

#[test]
fn while_something_is_written_nobody_gets_what_it_acts_on() {
    let world = World::new();
    let gpu = world.device("0000:01:00.0");
    let reach = world.node.acts_on(&gpu).unwrap();
    let ids = BTreeSet::from([id("ours")]);
    let writing = world
        .ledger
        .begin_write(Place(0), ids, reach)
        .map_err(|_| "held")
        .unwrap();
    assert_eq!(world.give("0000:01:00.1"), Err(NotHeld::Changed));
    assert_eq!(world.give("0000:00:02.0"), Ok(vec![id("theirs")]));
    world.ledger.let_go(Place(1), &[id("theirs")]);
    drop(writing);
    assert_eq!(world.give("0000:01:00.1"), Ok(vec![id("theirs")]));
}
