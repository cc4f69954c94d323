//! One look at a whole policy.

use crate::component_state::ComponentState;
use crate::loader::LoadFailure;
use crate::state::Dir;
use crate::testing::*;
use crate::{Grants, Outcome, survey};
use devgate_policy::Use;
use devgate_types::{CallError, HostFault, PluginName, Unit, Verdict};
use std::fmt::Write;
use tokio_util::sync::CancellationToken;

fn entry(name: &str, subsystem: &str, more: &str) -> String {
    format!(
        "  {name}:\n    component: {{file: {name}.wasm}}\n    resources: [fake.com/{name}]\n    hardware:\n      \
         - {{subsystem: {subsystem}, use: offer, nodes: [{{subsystem: drm, name: \"card*\"}}]{more}}}\n"
    )
}

/// A component that offers all PCI devices that it sees under a name of its own.
fn gpus(name: &'static str) -> Fake {
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(move |host| {
        let mut pools = gpu_pool(host)?;
        pools[0].resource = format!("fake.com/{name}");
        for unit in &mut pools[0].units {
            unit.id = format!("{name}-{}", unit.id);
        }
        Ok(pools)
    });
    fake
}

fn show(policy: &str, fakes: Vec<(&'static str, Fake)>) -> String {
    let mut text = String::new();
    for plugin in survey(&parse(policy), &node(), FakeLoader::with(fakes).as_ref(), None) {
        let _ = writeln!(text, "{}: {:?}", plugin.name, plugin.outcome);
        for rejection in &plugin.rejected {
            let _ = writeln!(text, "  rejected {rejection}");
        }
        for unit in &plugin.units {
            let nodes: Vec<_> = unit.nodes().map(|n| n.node.path.as_str()).collect();
            let why = unit.causes.reason().map_or("healthy", |why| why);
            let _ = writeln!(text, "  {} {} x{} {nodes:?} {why}", unit.resource, unit.record.id, unit.devices);
        }
    }
    text
}

#[test]
fn each_plugin_gets_as_far_as_it_would_if_it_were_started() {
    let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
    let policy = format!(
        "{head}{}    replicas: 2\n{}{}{}{}",
        entry("first", "pci", ", name: \"0000:00:01.0\""),
        entry("second", "pci", ""),
        entry("idle", "infiniband", ""),
        entry("missing", "misc", ""),
        entry("dumb", "pci", ", name: \"0000:00:03.0\""),
    );
    let mut second = gpus("second");
    second.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        pools[0].resource = "fake.com/second".into();
        pools[0].units.push(Unit { id: "a,b".into(), backing: vec![], nodes: vec![], properties: vec![] });
        Ok(pools)
    });
    second.health = Box::new(|_, units| {
        let verdict = |unit: &Unit| match unit.id.as_str() {
            "0000:00:02.0" => Verdict::Unhealthy("too\nhot".into()),
            _ => Verdict::Healthy,
        };
        Ok(units.iter().map(verdict).collect())
    });
    let mut dumb = gpus("dumb");
    dumb.health = Box::new(|_, _| Err(CallError::Host(HostFault("no answer".into()))));
    let fakes = vec![("first.wasm", gpus("first")), ("second.wasm", second), ("dumb.wasm", dumb)];
    insta::assert_snapshot!(show(&policy, fakes));
}

/// A host that is to serve in the place of another one looks with what components stored there, and stores nothing.
#[test]
fn in_a_state_directory_components_have_a_copy_of_what_they_stored() {
    let dir = tempfile::tempdir().unwrap();
    let name = PluginName::try_new("gpus").unwrap();
    let stored = || ComponentState::new(Some(&Dir::open(dir.path()).unwrap()), &name);
    stored().store(&CancellationToken::new(), b"kept").unwrap();
    let mut fake = gpus("gpus");
    fake.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        pools[0].resource = "fake.com/gpus".into();
        pools[0].units[0].id = String::from_utf8(host.state_load().unwrap()).unwrap();
        host.state_store(b"another").unwrap();
        Ok(pools)
    });
    let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
    let policy = parse(&format!("{head}{}    state: true\n", entry("gpus", "pci", "")));
    let loader = FakeLoader::with([("gpus.wasm", fake)]);
    let surveyed = survey(&policy, &node(), loader.as_ref(), Dir::look(dir.path()).unwrap().as_ref());
    assert!(surveyed[0].units.iter().any(|unit| unit.record.id.as_str() == "kept"), "{surveyed:?}");
    assert_eq!(*stored().load().unwrap(), *b"kept");
}

#[test]
fn nothing_is_known_without_a_device_tree() {
    let empty = devgate_fake_node::RecordedNode::parse("empty", "").unwrap();
    let surveyed = survey(&parse(POLICY), &empty, FakeLoader::with([]).as_ref(), None);
    assert!(matches!(&surveyed[0].outcome, Outcome::Blind(why) if why.contains("device tree")), "{surveyed:?}");
    let surveyed = survey(&parse(POLICY), &node(), FakeLoader::with([]).as_ref(), None);
    assert!(matches!(&surveyed[0].outcome, Outcome::NotLoaded(LoadFailure::Host(_))));
}

/// The first key that does not hold, for each selector; and what a device beneath a granted one inherits.
#[test]
fn a_sight_says_which_key_of_which_selector_does_not_hold() {
    let grants = Grants::new(node().into(), plugin_policy(POLICY));
    let sight = |subsystem: &str, name: &str| grants.sight(&grants.node.device(subsystem, name).unwrap()).unwrap();
    let unmet = |sight: &crate::Sight| sight.unmet.iter().map(|unmet| unmet.unwrap_or("-")).collect::<Vec<_>>();

    let own = sight("pci", "0000:00:01.0");
    assert_eq!((own.usage, own.from.is_none()), (Some(Use::Offer), true));
    assert_eq!(unmet(&own), ["-", "subsystem", "subsystem", "subsystem"]);
    assert_eq!(own.nodes.len(), 1, "the card, not the render node");

    let beneath = sight("drm", "card0");
    assert_eq!(beneath.from.unwrap().name(), "0000:00:01.0");

    let other = sight("pci", "0000:00:03.0");
    assert_eq!((other.usage, unmet(&other)[0]), (None, "vendor"));

    let uinput = sight("misc", "uinput");
    assert!(uinput.withheld[0].why.contains("dangerous"), "{:?}", uinput.withheld);

    assert!(grants.node_at("/dev/fuse").is_ok());
    assert!(matches!(grants.node_at("/dev/kvm").unwrap_err(), crate::NotGranted::Unlisted(_)));
}
