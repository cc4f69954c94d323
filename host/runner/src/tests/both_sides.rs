//! A component that asks everything, called with a boundary and without.

use super::fake::{DEVICES, Fake};
use crate::child::run::{Callee, serve};
use crate::runner::{Ended, Interfaces, Lane, Wanted};
use crate::socket::Socket;
use devgate_types::component::{Call, CallKind, Capabilities, Cost, Denied, LogLevel, Output};
use devgate_types::{
    ByteSize, CallError, Condition, DeviceHandle, Edits, Effect, Failure, FailureKind, GuestFault, Limit, Limits,
    MountHandle, NodeHandle, Origin, Pool, Property, Setting, Unit, Verdict,
};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

fn property(name: impl ToString, value: impl std::fmt::Debug) -> Property {
    Property { name: name.to_string(), value: format!("{value:?}") }
}

fn ask(host: &mut dyn Capabilities) -> Vec<Property> {
    let device = DeviceHandle(5);
    let mut said = vec![
        property("by-name", host.device_by_name("pci", "x")),
        property("none", host.devices("none")),
        property("attribute", host.attribute(device, "vendor")),
        property("no-attribute", host.attribute(device, "none")),
        property("bytes", host.attribute_bytes(device, "config", u64::MAX, 9)),
        property("entries", host.entries(device, "")),
        property("link", host.link(device, "driver")),
        property("related", host.related(device, "physfn")),
        property("parent", host.parent(device)),
        property("no-parent", host.parent(DeviceHandle(0))),
        property("children", host.children(device, "usb")),
        property("node-at", host.node_at("/dev/x")),
        property("mount", host.mount("lib")),
        property("source", host.mount_source(MountHandle(3))),
        property("text", host.file_text("a").map(|text| text.len())),
        property("read", host.file_read("a", 7, 1 << 20).map(|bytes| (bytes.len(), bytes[0]))),
        property("files", host.file_entries("/proc")),
        property("log", host.kernel_log_since("c", 2)),
        property("write", host.control_write(device, "reset", "1")),
        property("no-write", host.control_write(device, "reset", "2")),
        property("clock", host.clock_now()),
        property("uevents", host.uevents_recent(device)),
        property("load", host.state_load()),
        property("store", host.state_store(&[1; 64 << 10])),
        property("config", host.config()),
        property("bytes-read", host.bytes_read()),
    ];
    host.log(LogLevel::Error, "a line\nand another");
    for device in host.devices("pci").unwrap() {
        let nodes = host.nodes(device).unwrap();
        let nodes: Vec<_> = nodes.into_iter().map(|node| host.node(node).unwrap()).collect();
        let all = (
            host.device_name(device),
            host.device_subsystem(device),
            host.device_driver(device),
            host.device_location(device),
            host.device_numa_node(device),
            nodes,
        );
        said.push(property(device.0, all));
    }
    said
}

/// Asks everything in `enumerate`, and says in the properties of its pool what it was answered.
fn curious(call: &Call<'_>, mut host: Box<dyn Capabilities>) -> Result<(Output, Cost), CallError> {
    let mut output = Output::default();
    match call.kind {
        CallKind::Enumerate => {
            let unit = |n: u32| Unit {
                id: format!("unit-{n}"),
                backing: vec![DeviceHandle(n), DeviceHandle(u32::MAX)],
                nodes: vec![NodeHandle(n)],
                properties: (0..n).map(|n| property(n, n)).collect(),
            };
            let pool = |resource: &str, properties| Pool {
                resource: resource.into(),
                units: (0..3).map(unit).collect(),
                shared_nodes: vec![NodeHandle(9)],
                properties,
            };
            output.pools = vec![pool("v.com/a", ask(host.as_mut())), pool("", vec![])];
        }
        CallKind::Health => {
            let verdict = |unit: &Unit| match unit.backing.len() {
                0 => Verdict::Healthy,
                1 => Verdict::Unhealthy(unit.id.clone()),
                _ => Verdict::Unknown(format!("{:?}", unit.properties)),
            };
            output.verdicts = call.units.iter().map(verdict).collect();
        }
        CallKind::Allocate => {
            output.edits = Edits {
                env: vec![property("A", call.resource), property("B", format!("{:?}", call.settings))],
                mounts: vec![MountHandle(1), MountHandle(2)],
                annotations: vec![property("b", "c"), property("d", "")],
                cdi: vec!["v.com/a=0".into()],
                properties: vec![property("e", "f")],
            };
        }
        CallKind::Choose => {
            output.choice = call.units.iter().map(|unit| unit.id.clone()).collect();
            output.choice.extend_from_slice(call.must_include);
            output.choice.push(call.size.to_string());
        }
        CallKind::Examine => {
            let condition = |(n, effect): (usize, Effect)| Condition {
                key: format!("key-{n}"),
                effect,
                message: format!("{effect:?}"),
            };
            let all = || Effect::ALL.into_iter().enumerate().map(condition);
            output.conditions = call.units.iter().map(|unit| all().take(unit.backing.len()).collect()).collect();
        }
        CallKind::Prepare if call.resource == "fails" => {
            return Err(CallError::Failed(Failure::new(FailureKind::Busy, "later")));
        }
        CallKind::Prepare => {}
        CallKind::Release => return Err(GuestFault::Limit(Limit::Cpu(Duration::from_millis(7))).into()),
    }
    Ok((output, Cost { memory: ByteSize(7), host_calls: 8, ..Cost::default() }))
}

/// A lane whose other end is served by a thread.
fn lane(callee: &'static Callee) -> Lane {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = Socket::blocking(theirs.into());
    std::thread::spawn(move || serve(server, callee));
    Lane::new(Socket::patient(ours.into()).unwrap())
}

fn limits() -> Limits {
    Limits { deadline: Duration::from_secs(60), ..Limits::default().for_devices(DEVICES as usize) }
}

fn call(lane: &mut Lane, call: &Call<'_>, host: &mut Fake) -> Result<(Output, Cost), Ended> {
    let imports = ["hardware", "host-paths", "files", "kernel-log", "control", "state", "uevents"];
    let imports = imports.map(|name| format!("devgate:plugin/{name}@0.1.0"));
    let wanted = Wanted::new(call, Interfaces::of(&imports), host);
    lane.call(&wanted, host)
}

#[test]
fn a_component_is_answered_the_same_in_a_process_of_its_own() {
    let (mut near, mut far) = (Fake::new(limits()), Fake::new(limits()));
    let expected = {
        let near = Fake { asked: Arc::clone(&near.asked), ..*Fake::new(limits()) };
        curious(&Call::default(), Box::new(near)).unwrap().0
    };
    let (output, cost) = call(&mut lane(&curious), &Call::default(), &mut far).unwrap_or_else(|_| panic!());
    // What was read ahead counts as read: all else is the same.
    assert_eq!(output, expected);
    assert_eq!((cost.memory, cost.host_calls), (ByteSize(7), 8));
    near.log.push((LogLevel::Debug, "stores 65536 bytes".into()));
    near.log.push((LogLevel::Error, "a line\nand another".into()));
    assert_eq!(far.log, near.log);
    let asked = far.asked.load(SeqCst);
    assert!(asked <= near.asked.load(SeqCst) + 64, "{asked}: no answer is made twice");
}

#[test]
fn each_export_answers_the_same_in_a_process_of_its_own() {
    let (mut lane, mut host) = (lane(&curious), Fake::new(limits()));
    let units: Vec<Unit> = (0..4)
        .map(|n| Unit {
            id: format!("unit-{n}"),
            backing: (0..n).map(DeviceHandle).collect(),
            nodes: vec![],
            properties: vec![property("serial", n)],
        })
        .collect();
    let must = ["m".to_owned()];
    let mut same = |call_: Call<'_>| {
        let near = curious(&call_, Fake::new(limits()));
        match (call(&mut lane, &call_, &mut host), near) {
            (Ok((output, _)), Ok((near, _))) => assert_eq!(output, near),
            (Err(Ended::Fault(fault)), Err(near)) => assert_eq!(fault, near),
            _ => panic!("{:?}", call_.kind),
        }
    };
    let settings =
        [Origin::Class, Origin::Claim].map(|origin| Setting { origin, json: format!("{{\"a\": \"{origin:?}\"}}") });
    for kind in CallKind::ALL {
        same(Call { must_include: &must, size: 7, settings: &settings, ..Call::about(kind, "v.com/a", &units) });
    }
    same(Call::about(CallKind::Prepare, "fails", &[]));
}

#[test]
fn what_ends_a_call_in_the_host_ends_it_there_by_its_name() {
    fn ends(_: &Call<'_>, mut host: Box<dyn Capabilities>) -> Result<(Output, Cost), CallError> {
        match host.devices("end") {
            Err(Denied::End(error)) => Err(error),
            other => panic!("{other:?}"),
        }
    }
    let called = call(&mut lane(&ends), &Call::default(), &mut Fake::new(limits()));
    let Err(Ended::Fault(fault)) = called else { panic!() };
    assert_eq!(fault.to_string(), "host fault: the node is gone");
}
