//! A component that asks everything, called with a boundary and without.

use super::fake::{DEVICES, Fake};
use crate::child::run::serve;
use crate::message::wire::{self, Export};
use crate::runner::{Collected, Ended, Interfaces, Lane, Wanted};
use crate::socket::Socket;
use devgate_types::component::{Answer, Capabilities, Component, Cost, LogLevel, Profile};
use devgate_types::{
    ByteSize, CallError, DeviceHandle, Edits, Failure, FailureKind, GuestFault, Limit, Limits, MountHandle, NodeHandle,
    Pool, Property, Unit, Verdict,
};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// Asks everything in `enumerate`, and says in the properties of its pool what it was answered.
struct Curious(Profile);

fn property(name: impl ToString, value: impl std::fmt::Debug) -> Property {
    Property { name: name.to_string(), value: format!("{value:?}") }
}

fn answered<T>(value: T, host: Box<dyn Capabilities>) -> Result<Answer<T>, CallError> {
    let cost = Cost { memory: ByteSize(7), host_calls: 8, ..Cost::default() };
    Ok(Answer { value, host, cost })
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

impl Component for Curious {
    fn profile(&self) -> &Profile {
        &self.0
    }
    fn enumerate(&self, mut host: Box<dyn Capabilities>) -> Result<Answer<Vec<Pool>>, CallError> {
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
        let pools = vec![pool("v.com/a", ask(host.as_mut())), pool("", vec![])];
        answered(pools, host)
    }
    fn health(&self, host: Box<dyn Capabilities>, _: &str, units: &[Unit]) -> Result<Answer<Vec<Verdict>>, CallError> {
        let verdict = |unit: &Unit| match unit.backing.len() {
            0 => Verdict::Healthy,
            1 => Verdict::Unhealthy(unit.id.clone()),
            _ => Verdict::Unknown(format!("{:?}", unit.properties)),
        };
        answered(units.iter().map(verdict).collect(), host)
    }
    fn allocate(&self, host: Box<dyn Capabilities>, resource: &str, _: &[Unit]) -> Result<Answer<Edits>, CallError> {
        let edits = Edits {
            env: vec![property("A", resource)],
            mounts: vec![MountHandle(1), MountHandle(2)],
            annotations: vec![property("b", "c"), property("d", "")],
            cdi: vec!["v.com/a=0".into()],
            properties: vec![property("e", "f")],
        };
        answered(edits, host)
    }
    fn choose(
        &self,
        host: Box<dyn Capabilities>,
        _: &str,
        available: &[Unit],
        must_include: &[String],
        size: u32,
    ) -> Result<Answer<Vec<String>>, CallError> {
        let mut ids: Vec<_> = available.iter().map(|unit| unit.id.clone()).collect();
        ids.extend_from_slice(must_include);
        ids.push(size.to_string());
        answered(ids, host)
    }
    fn prepare(&self, host: Box<dyn Capabilities>, resource: &str, _: &[Unit]) -> Result<Answer<()>, CallError> {
        match resource {
            "fails" => Err(CallError::Failed(Failure::new(FailureKind::Busy, "later"))),
            _ => answered((), host),
        }
    }
    fn release(&self, _: Box<dyn Capabilities>, _: &str, _: &[Unit]) -> Result<Answer<()>, CallError> {
        Err(GuestFault::Limit(Limit::Cpu(Duration::from_millis(7))).into())
    }
}

/// A lane whose other end is served by a thread.
fn lane() -> Lane {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = Socket::blocking(theirs.into());
    std::thread::spawn(move || serve(server, &Curious(Profile::default())));
    Lane::new(Socket::patient(ours.into()).unwrap())
}

fn limits() -> Limits {
    Limits { deadline: Duration::from_secs(60), ..Limits::default().for_devices(DEVICES as usize) }
}

fn call(lane: &mut Lane, call: wire::Call, host: &mut Fake) -> Result<(Collected, Cost), Ended> {
    let imports = ["hardware", "host-paths", "files", "kernel-log", "control", "state"];
    let imports = imports.map(|name| format!("devgate:plugin/{name}@0.1.0"));
    let wanted = Wanted::new(call, Interfaces::of(&imports), host);
    lane.call(&wanted, host)
}

fn about(export: Export, resource: &str) -> wire::Call {
    wire::Call { export: export.into(), resource: resource.into(), ..wire::Call::default() }
}

#[test]
fn a_component_is_answered_the_same_in_a_process_of_its_own() {
    let (mut near, mut far) = (Fake::new(limits()), Fake::new(limits()));
    let expected = {
        let near = Fake { asked: Arc::clone(&near.asked), ..*Fake::new(limits()) };
        Curious(Profile::default()).enumerate(Box::new(near)).unwrap().value
    };
    let (collected, cost) = call(&mut lane(), about(Export::Enumerate, ""), &mut far).unwrap_or_else(|_| panic!());
    // What was read ahead counts as read: all else is the same.
    assert_eq!(collected.pools, expected);
    assert_eq!((cost.memory, cost.host_calls), (ByteSize(7), 8));
    near.log.push((LogLevel::Debug, "stores 65536 bytes".into()));
    near.log.push((LogLevel::Error, "a line\nand another".into()));
    assert_eq!(far.log, near.log);
    let asked = far.asked.load(SeqCst);
    assert!(asked <= near.asked.load(SeqCst) + 64, "{asked}: no answer is made twice");
}

#[test]
fn each_export_answers_the_same_in_a_process_of_its_own() {
    let (mut lane, mut host) = (lane(), Fake::new(limits()));
    let units: Vec<Unit> = (0..4)
        .map(|n| Unit {
            id: format!("unit-{n}"),
            backing: (0..n).map(DeviceHandle).collect(),
            nodes: vec![],
            properties: vec![property("serial", n)],
        })
        .collect();
    let component = Curious(Profile::default());
    let with = |export| wire::Call {
        units: units.iter().map(wire::Unit::from).collect(),
        must_include: vec!["m".into()],
        size: 7,
        ..about(export, "v.com/a")
    };
    let near = || Fake::new(limits());
    let mut done = |export| call(&mut lane, with(export), &mut host).map(|(collected, _)| collected);
    assert_eq!(
        done(Export::Health).unwrap_or_else(|_| panic!()).verdicts,
        component.health(near(), "v.com/a", &units).unwrap().value
    );
    assert_eq!(
        done(Export::Allocate).unwrap_or_else(|_| panic!()).edits,
        component.allocate(near(), "v.com/a", &units).unwrap().value
    );
    let must = ["m".to_owned()];
    assert_eq!(
        done(Export::Choose).unwrap_or_else(|_| panic!()).choice,
        component.choose(near(), "v.com/a", &units, &must, 7).unwrap().value
    );
    assert!(done(Export::Prepare).is_ok());
    let Err(Ended::Fault(fault)) = done(Export::Release) else { panic!() };
    assert_eq!(fault, component.release(near(), "", &[]).err().unwrap());
    let Err(Ended::Fault(fault)) = call(&mut lane, about(Export::Prepare, "fails"), &mut host) else { panic!() };
    assert_eq!(fault, component.prepare(near(), "fails", &[]).err().unwrap());
}

#[test]
fn what_ends_a_call_in_the_host_ends_it_there_by_its_name() {
    struct Ends;
    impl Component for Ends {
        fn profile(&self) -> &Profile {
            unreachable!()
        }
        fn enumerate(&self, mut host: Box<dyn Capabilities>) -> Result<Answer<Vec<Pool>>, CallError> {
            match host.devices("end") {
                Err(devgate_types::component::Denied::End(error)) => Err(error),
                other => panic!("{other:?}"),
            }
        }
        fn health(&self, _: Box<dyn Capabilities>, _: &str, _: &[Unit]) -> Result<Answer<Vec<Verdict>>, CallError> {
            unreachable!()
        }
        fn allocate(&self, _: Box<dyn Capabilities>, _: &str, _: &[Unit]) -> Result<Answer<Edits>, CallError> {
            unreachable!()
        }
        fn choose(
            &self,
            _: Box<dyn Capabilities>,
            _: &str,
            _: &[Unit],
            _: &[String],
            _: u32,
        ) -> Result<Answer<Vec<String>>, CallError> {
            unreachable!()
        }
        fn prepare(&self, _: Box<dyn Capabilities>, _: &str, _: &[Unit]) -> Result<Answer<()>, CallError> {
            unreachable!()
        }
        fn release(&self, _: Box<dyn Capabilities>, _: &str, _: &[Unit]) -> Result<Answer<()>, CallError> {
            unreachable!()
        }
    }
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::thread::spawn(move || serve(Socket::blocking(theirs.into()), &Ends));
    let mut lane = Lane::new(Socket::patient(ours.into()).unwrap());
    let Err(Ended::Fault(fault)) = call(&mut lane, about(Export::Enumerate, ""), &mut Fake::new(limits())) else {
        panic!()
    };
    assert_eq!(fault.to_string(), "host fault: the node is gone");
}
