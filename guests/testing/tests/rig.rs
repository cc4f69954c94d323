//! The rig over small components: what they meet is what a host would do to them, and what is wrong fails the test.
#![cfg(not(target_family = "wasm"))]

use devgate_sdk::{
    Device, Edits, Error, Plugin, Pool, Preference, Unit, Verdict, clock, files, hardware, kernel_log, log, state,
};
use devgate_testing::{Change, Rig, Verdict as Found};
use std::sync::{Mutex, PoisonError};

const POLICY: &str = r#"
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  other:
    component: {file: other.wasm}
    resources: [example.com/other]
  cards:
    component: {file: cards.wasm}
    resources: [example.com/card]
    hardware:
      - {subsystem: card, use: offer, nodes: [{access: rw}]}
    kernel-log: ['^card: (\w+) failed']
    state: true
    except: [{id: card9}]
"#;

const NODE: &str = r"
K: 1000 card: card1 failed

P: /devices/virtual/card/card0
N: card0
E: SUBSYSTEM=card
E: DEVNAME=/dev/card0
E: MAJOR=240
E: MINOR=0
A: status=ok\n
R: secret=no\n

P: /devices/virtual/card/card1
N: card1
E: SUBSYSTEM=card
E: DEVNAME=/dev/card1
E: MAJOR=240
E: MINOR=1
A: status=ok\n

P: /devices/virtual/card/card9
N: card9
E: SUBSYSTEM=card
E: DEVNAME=/dev/card9
E: MAJOR=240
E: MINOR=9
A: status=ok\n
";

const CARD: &str = "example.com/card";

fn cards() -> Result<Vec<Pool>, Error> {
    let unit = |card: Device| Ok(Unit::of(card.name(), card.duplicate(), card.nodes()?));
    let units: Result<Vec<Unit>, Error> = hardware::devices("card")?.into_iter().map(unit).collect();
    Ok(vec![Pool::new(CARD, units?)])
}

fn healthy(units: &[Unit]) -> Vec<Verdict> {
    units.iter().map(|_| Verdict::Healthy).collect()
}

/// A component of which a test says only what it is about.
macro_rules! component {
    ($name:ident $(: $optional:ident)?, $enumerate:expr, $health:expr) => {
        struct $name;
        impl Plugin for $name {
            fn enumerate() -> Result<Vec<Pool>, Error> {
                $enumerate()
            }
            fn health(_: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
                $health(units)
            }
            fn allocate(_: String, _: Vec<Unit>) -> Result<Edits, Error> {
                Ok(Edits::none().with_env("CARDS", "all"))
            }
        }
        devgate_sdk::export!($name $(: $optional)?);
    };
}

component!(Watchful, cards, |units: Vec<Unit>| {
    let batch = kernel_log::since("", 100)?;
    let mut failed = String::from_utf8(state::load()?).unwrap_or_default();
    for event in &batch.events {
        failed.push_str(&event.captures.concat());
    }
    state::store(failed.as_bytes())?;
    let verdict = |unit: &Unit| {
        let Some(card) = unit.backing.first() else {
            return Verdict::Unknown("no card".to_owned());
        };
        match card.attribute("status") {
            Ok(status) if status != "ok" => Verdict::Unknown(status),
            _ if failed.contains(&unit.id) => Verdict::Unhealthy("the kernel says that it failed".to_owned()),
            _ => Verdict::Healthy,
        }
    };
    Ok::<_, Error>(units.iter().map(verdict).collect())
});

#[test]
fn health_is_followed_over_time_restarts_and_boots() {
    let mut rig = Rig::of::<Watchful>(POLICY, "cards", NODE);
    let survey = rig.survey();
    assert_eq!(survey.ids(CARD), ["card0", "card1"]);
    assert_eq!(survey.left_out, ["card9"]);
    assert!(survey.unit("card0").is_healthy());
    assert_eq!(survey.unit("card1").unhealthy.as_deref(), Some("the kernel says that it failed"));
    rig.kernel("card: card0 failed");
    assert!(!rig.survey().unit("card0").is_healthy());
    rig.restart();
    rig.reboot(&NODE.replace("K: 1000 card: card1 failed\n", ""));
    let survey = rig.survey();
    assert!(!survey.unit("card0").is_healthy(), "state survives");
    assert_eq!(rig.state().escape_ascii().to_string(), "card1card1card0", "each look once");
}

#[test]
fn what_is_unknown_stands_as_it_was() {
    let mut rig = Rig::of::<Watchful>(POLICY, "cards", NODE);
    rig.survey();
    rig.set("card/card0", "status", "asleep\n");
    let survey = rig.survey();
    let card = survey.unit("card0");
    assert!(card.is_healthy());
    assert_eq!(card.verdict, Some(Found::Unknown("asleep".to_owned())));
    assert!(survey.to_string().contains("  card0\n    unknown: asleep\n    of card0\n    /dev/card0 rw\n"), "{survey}");
}

component!(Told, cards, |units: Vec<Unit>| {
    let verdict = |unit: &Unit| match unit.backing.first().map(|card| card.attribute("status")) {
        Some(Err(error)) => Verdict::Unhealthy(format!("{:?} {}", error.kind, error.code)),
        Some(Ok(_)) | None => Verdict::Healthy,
    };
    Ok::<_, Error>(units.iter().map(verdict).collect())
});

#[test]
fn an_attribute_may_fail_as_the_kernel_has_it() {
    let mut rig = Rig::of::<Told>(POLICY, "cards", NODE);
    for (error, told) in [("EBUSY", "Io EBUSY"), ("EIO", "Io EIO"), ("EPERM", "Denied "), ("ENOENT", "NotFound ")] {
        rig.fail("card/card0", "status", error);
        let survey = rig.survey();
        assert_eq!(survey.unit("card0").unhealthy.as_deref(), Some(told), "{error}");
        assert!(survey.unit("card1").is_healthy());
    }
    rig.set("card/card0", "status", "ok\n");
    assert!(rig.survey().unit("card0").is_healthy());
}

#[test]
#[should_panic(expected = "must be the name of an error of the kernel")]
fn no_attribute_fails_with_what_is_no_error() {
    Rig::of::<Told>(POLICY, "cards", NODE).fail("card/card0", "status", "BUSY");
}

component!(Timely, cards, |units: Vec<Unit>| {
    let said = kernel_log::since("", 100)?.events.last().map_or(0, |event| event.time / 1_000);
    let ago = clock::now() - said;
    let verdict = |_: &Unit| if ago < 500 { Verdict::Unhealthy(format!("{ago} ms ago")) } else { Verdict::Healthy };
    Ok::<_, Error>(units.iter().map(verdict).collect())
});

#[test]
fn the_time_is_what_a_test_makes_it_and_the_kernel_s() {
    let mut rig = Rig::of::<Timely>(POLICY, "cards", NODE);
    assert_eq!(rig.survey().unit("card0").unhealthy.as_deref(), Some("0 ms ago"));
    rig.clock(400);
    assert_eq!(rig.survey().unit("card0").unhealthy.as_deref(), Some("399 ms ago"));
    rig.clock(501);
    assert!(rig.survey().unit("card0").is_healthy());
    rig.clock(9_000);
    rig.kernel("card: card0 failed");
    assert_eq!(rig.survey().unit("card0").unhealthy.as_deref(), Some("0 ms ago"));
    rig.clock(9_250);
    assert_eq!(rig.survey().unit("card0").unhealthy.as_deref(), Some("250 ms ago"));
    rig.restart();
    assert_eq!(rig.survey().unit("card0").unhealthy.as_deref(), Some("250 ms ago"));
}

#[test]
fn hardware_comes_and_goes() {
    let mut rig = Rig::of::<Watchful>(POLICY, "cards", "P: /devices/virtual/misc/x\nE: SUBSYSTEM=misc\n");
    assert!(rig.survey().idle);
    rig.plug(&NODE[NODE.find("P: ").unwrap()..]);
    assert_eq!(rig.survey().ids(CARD), ["card0", "card1"]);
    rig.unplug("card/card0");
    assert_eq!(rig.survey().ids(CARD), ["card1"]);
    rig.change(Change::RemoveNode("/dev/card1".to_owned()));
    assert!(rig.survey().unit("card1").nodes.is_empty(), "a node that is not there is not offered");
}

#[test]
fn a_reply_is_held_against_the_policy() {
    let mut rig = Rig::of::<Watchful>(POLICY, "cards", NODE);
    let refused = rig.allocate(CARD, &["card0"]).unwrap_err().to_string();
    assert!(refused.contains("CARDS"), "the policy grants no such variable: {refused}");
    let granting = POLICY.replace("    state: true\n", "    state: true\n    containers: {env: {CARDS: any}}\n");
    let mut rig = Rig::of::<Watchful>(&granting, "cards", NODE);
    let reply = rig.allocate(CARD, &["card0"]).unwrap();
    assert_eq!(reply.env["CARDS"], "all");
    assert!(rig.allocate(CARD, &["card7"]).unwrap_err().to_string().contains("there is no device card7"));
}

component!(Curious, cards, |units: Vec<Unit>| {
    for card in units.iter().flat_map(|unit| &unit.backing) {
        let _ = card.attribute("secret");
    }
    log::warn("looked where it must not");
    Ok::<_, Error>(healthy(&units))
});

#[test]
fn what_is_asked_for_in_vain_is_shown() {
    let mut rig = Rig::of::<Curious>(POLICY, "cards", NODE);
    let survey = rig.survey();
    assert_eq!(survey.denied.len(), 2, "of each card once: {survey}");
    assert!(survey.denied[0].contains("secret") && survey.has_said("must not"), "{survey}");
    assert!(rig.denied().is_empty() && rig.said().is_empty());
}

component!(Overreaching, cards, |units: Vec<Unit>| {
    let _ = files::text("/proc/version");
    Ok::<_, Error>(healthy(&units))
});

#[test]
#[should_panic(
    expected = "the component calls files, and the policy's plugin cards has no \"files:\": a host refuses to load it"
)]
fn a_capability_that_the_policy_lacks_fails_the_test() {
    Rig::of::<Overreaching>(POLICY, "cards", NODE).survey();
}

component!(Content, cards, |units: Vec<Unit>| {
    let version = files::text("/proc/version");
    Ok::<_, Error>(match version {
        Err(error) if error.is_not_granted() => healthy(&units),
        other => vec![Verdict::Unknown(format!("{other:?}")); units.len()],
    })
});

#[test]
fn a_capability_that_the_component_can_do_without_is_told_not_to_be_granted() {
    let mut rig = Rig::of::<Content>(POLICY, "cards", NODE).can_do_without(&["files", "control"]);
    let survey = rig.survey();
    assert!(survey.units.iter().all(devgate_testing::Unit::is_healthy) && survey.denied.is_empty(), "{survey}");
    // One that is granted is served all the same.
    let granted = POLICY.replace("    state: true\n", "    state: true\n    files: [/proc/version]\n");
    let survey = Rig::of::<Content>(&granted, "cards", NODE).can_do_without(&["files"]).survey();
    assert!(!survey.units.iter().any(devgate_testing::Unit::is_healthy), "{survey}");
}

component!(Panicking, cards, |units: Vec<Unit>| {
    let first = units.first().map(|unit| unit.id.as_str());
    assert_eq!(first, None, "the first card");
    Ok::<_, Error>(healthy(&units))
});

#[test]
#[should_panic(expected = "in health: assertion `left == right` failed: the first card")]
fn a_panic_of_the_component_is_the_tests() {
    let _ = Rig::of::<Panicking>(POLICY, "cards", NODE).try_survey();
}

component!(
    Hoarding,
    || {
        let card = hardware::devices("card")?.remove(0);
        loop {
            std::mem::forget(card.duplicate());
        }
    },
    |units: Vec<Unit>| Ok::<_, Error>(healthy(&units))
);

#[test]
fn a_limit_ends_the_call() {
    let failed = Rig::of::<Hoarding>(POLICY, "cards", NODE).try_survey().unwrap_err();
    assert!(
        failed.contains("plugin cards: enumerate exceeded its ") && failed.contains("(limits.handles)"),
        "{failed}"
    );
}

static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());

fn kept() -> Vec<Device> {
    std::mem::take(&mut KEPT.lock().unwrap_or_else(PoisonError::into_inner))
}

component!(
    Hanging,
    || {
        let _ = kept().first().map(Device::name);
        let devices = hardware::devices("card").ok().into_iter().flatten();
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).extend(devices);
        cards()
    },
    |units: Vec<Unit>| {
        let _ = kept().first().map(Device::name);
        Ok::<_, Error>(healthy(&units))
    }
);

#[test]
#[should_panic(expected = "the handle was kept from an earlier call")]
fn a_handle_ends_with_its_call() {
    let mut rig = Rig::of::<Hanging>(POLICY, "cards", NODE);
    drop(rig.survey());
}

component!(Choosy: preference, cards, |units: Vec<Unit>| Ok::<_, Error>(healthy(&units)));

impl Preference for Choosy {
    fn choose(_: String, available: Vec<Unit>, _: Vec<String>, size: u32) -> Result<Vec<String>, Error> {
        if size == 1 {
            return Ok(available.last().map(|unit| unit.id.clone()).into_iter().collect());
        }
        Err(Error::unsupported("one at a time"))
    }
}

#[test]
fn a_choice_is_the_components_or_else_the_hosts() {
    let mut rig = Rig::of::<Choosy>(POLICY, "cards", NODE);
    assert_eq!(rig.choose(CARD, &["card0", "card1"], &[], 1), ["card1"]);
    rig.plug("P: /devices/virtual/card/card2\nE: SUBSYSTEM=card\n");
    rig.survey();
    assert_eq!(rig.choose(CARD, &["card0", "card1", "card2"], &[], 2), ["card0", "card1"]);
    let choices = rig.calls().into_iter().filter(|call| call.function == "choose");
    let failed: Vec<_> = choices.map(|call| call.failed).collect();
    assert_eq!(failed, [None, Some("failed: one at a time".to_owned())]);
}

#[test]
#[should_panic(expected = "the policy has no plugin card")]
fn a_plugin_that_the_policy_lacks_fails_the_test() {
    let _ = Rig::of::<Choosy>(POLICY, "card", NODE);
}
