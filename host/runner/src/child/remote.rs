//! The host's capabilities, as the sandbox sees them in a runner: each question is a message, and each answer another.

use crate::message::wire::{self, Function, answer::Answer as Given};
use crate::socket::{MOST_DOWN, Socket};
use devgate_types::component::{Answered, Capabilities, Denied, LogBatch, LogEvent, LogLevel, NodeInfo};
use devgate_types::{CallError, DeviceHandle, HostFault, Limits, MountHandle, Mutex, NodeHandle, NodeKind, NodeNumber};
use std::collections::HashMap;
use std::sync::Arc;

/// What one call may ask.
pub(super) struct Remote {
    host: Arc<Mutex<Socket>>,
    limits: Limits,
    bytes_read: u64,
    /// Answers that came before their questions.
    ahead: HashMap<(i32, u32), Given>,
    /// What came with the call.
    config: Option<Arc<str>>,
}

impl Remote {
    pub(super) fn new(host: Arc<Mutex<Socket>>, limits: Limits, config: Option<String>) -> Self {
        Self { host, limits, bytes_read: 0, ahead: HashMap::new(), config: config.map(Arc::from) }
    }

    fn ask(&mut self, ask: wire::Ask) -> Answered<Given> {
        // A write may change what was said, and another list is gone through anew.
        if matches!(ask.function(), Function::ControlWrite | Function::Devices | Function::Children) {
            self.ahead.clear();
        }
        if ask.name.is_empty()
            && let Some(given) = self.ahead.remove(&(ask.function, ask.handle))
        {
            return Ok(given);
        }
        let mut host = self.host.lock();
        let ask = wire::FromRunner { kind: Some(wire::from_runner::Kind::Ask(ask)) };
        let answer = host.send(&ask).and_then(|()| host.receive::<wire::ToRunner>(MOST_DOWN));
        let answer = answer.map_err(|why| broken(&format!("its host: {why}")))?;
        let Some(wire::to_runner::Kind::Answer(answer)) = answer.kind else {
            return Err(broken("its host says something that is no answer"));
        };
        self.bytes_read = answer.bytes_read;
        let ahead = answer.ahead.into_iter();
        let ahead = ahead.filter_map(|ahead| Some(((ahead.function, ahead.handle), ahead.answer?.answer?)));
        self.ahead.extend(ahead);
        match answer.answer {
            Some(Given::Failure(failure)) => Err(Denied::Failure(failure.into())),
            Some(Given::End(fault)) => Err(Denied::End(fault.into())),
            Some(given) => Ok(given),
            None => Err(other()),
        }
    }

    fn of_device(&mut self, function: Function, device: DeviceHandle, name: &str) -> Answered<Given> {
        self.ask(wire::Ask { handle: device.0, name: name.to_owned(), ..asking(function) })
    }
}

fn asking(function: Function) -> wire::Ask {
    wire::Ask { function: function.into(), ..wire::Ask::default() }
}

fn named(function: Function, name: &str) -> wire::Ask {
    wire::Ask { name: name.to_owned(), ..asking(function) }
}

fn broken(why: &str) -> Denied {
    Denied::End(CallError::Host(HostFault(why.to_owned())))
}

/// Both ends are of one build: this is a bug.
fn other() -> Denied {
    broken("its host answers something else")
}

fn text(given: Given) -> Answered<String> {
    match given {
        Given::Text(text) => Ok(text),
        _ => Err(other()),
    }
}

fn texts(given: Given) -> Answered<Vec<String>> {
    match given {
        Given::Texts(texts) => Ok(texts.texts),
        _ => Err(other()),
    }
}

fn bytes(given: Given) -> Answered<Vec<u8>> {
    match given {
        Given::Bytes(bytes) => Ok(bytes),
        _ => Err(other()),
    }
}

fn number(given: Given) -> Answered<u32> {
    match given {
        Given::Number(number) => Ok(number),
        _ => Err(other()),
    }
}

/// A number, or nothing.
fn perhaps(given: Given) -> Answered<Option<u32>> {
    match given {
        Given::Nothing(_) => Ok(None),
        given => number(given).map(Some),
    }
}

fn numbers(given: Given) -> Answered<Vec<u32>> {
    match given {
        Given::Handles(numbers) => Ok(numbers.numbers),
        _ => Err(other()),
    }
}

fn nothing(given: Given) -> Answered<()> {
    match given {
        Given::Nothing(_) => Ok(()),
        _ => Err(other()),
    }
}

fn devices(given: Given) -> Answered<Vec<DeviceHandle>> {
    Ok(numbers(given)?.into_iter().map(DeviceHandle).collect())
}

impl Capabilities for Remote {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn devices(&mut self, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        devices(self.ask(named(Function::Devices, subsystem))?)
    }

    fn device_by_name(&mut self, subsystem: &str, name: &str) -> Answered<DeviceHandle> {
        let ask = wire::Ask { value: name.to_owned(), ..named(Function::DeviceByName, subsystem) };
        number(self.ask(ask)?).map(DeviceHandle)
    }

    fn device_name(&mut self, device: DeviceHandle) -> Answered<String> {
        text(self.of_device(Function::DeviceName, device, "")?)
    }

    fn device_subsystem(&mut self, device: DeviceHandle) -> Answered<String> {
        text(self.of_device(Function::DeviceSubsystem, device, "")?)
    }

    fn device_driver(&mut self, device: DeviceHandle) -> Answered<Option<String>> {
        match self.of_device(Function::DeviceDriver, device, "")? {
            Given::Nothing(_) => Ok(None),
            given => text(given).map(Some),
        }
    }

    fn device_location(&mut self, device: DeviceHandle) -> Answered<String> {
        text(self.of_device(Function::DeviceLocation, device, "")?)
    }

    fn device_numa_node(&mut self, device: DeviceHandle) -> Answered<Option<u32>> {
        perhaps(self.of_device(Function::DeviceNumaNode, device, "")?)
    }

    fn attribute(&mut self, device: DeviceHandle, path: &str) -> Answered<String> {
        text(self.of_device(Function::Attribute, device, path)?)
    }

    fn attribute_bytes(&mut self, device: DeviceHandle, path: &str, offset: u64, length: u32) -> Answered<Vec<u8>> {
        bytes(self.ask(wire::Ask { handle: device.0, offset, length, ..named(Function::AttributeBytes, path) })?)
    }

    fn entries(&mut self, device: DeviceHandle, path: &str) -> Answered<Vec<String>> {
        texts(self.of_device(Function::Entries, device, path)?)
    }

    fn link(&mut self, device: DeviceHandle, path: &str) -> Answered<String> {
        text(self.of_device(Function::Link, device, path)?)
    }

    fn related(&mut self, device: DeviceHandle, link: &str) -> Answered<DeviceHandle> {
        number(self.of_device(Function::Related, device, link)?).map(DeviceHandle)
    }

    fn parent(&mut self, device: DeviceHandle) -> Answered<Option<DeviceHandle>> {
        let parent = perhaps(self.of_device(Function::Parent, device, "")?)?;
        Ok(parent.map(DeviceHandle))
    }

    fn children(&mut self, device: DeviceHandle, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        devices(self.of_device(Function::Children, device, subsystem)?)
    }

    fn nodes(&mut self, device: DeviceHandle) -> Answered<Vec<NodeHandle>> {
        let nodes = numbers(self.of_device(Function::Nodes, device, "")?)?;
        Ok(nodes.into_iter().map(NodeHandle).collect())
    }

    fn node_at(&mut self, path: &str) -> Answered<NodeHandle> {
        number(self.ask(named(Function::NodeAt, path))?).map(NodeHandle)
    }

    fn mount(&mut self, name: &str) -> Answered<MountHandle> {
        number(self.ask(named(Function::Mount, name))?).map(MountHandle)
    }

    fn node(&mut self, node: NodeHandle) -> Answered<NodeInfo> {
        let ask = wire::Ask { handle: node.0, ..asking(Function::Node) };
        let Given::Node(node) = self.ask(ask)? else {
            return Err(other());
        };
        let (major, minor) = (node.major, node.minor);
        let kind = if node.block { NodeKind::Block } else { NodeKind::Character };
        Ok(NodeInfo {
            path: node.path,
            number: NodeNumber { kind, major, minor },
            owner: node.owner.map(|owner| (owner.name, owner.subsystem)),
        })
    }

    fn mount_source(&mut self, mount: MountHandle) -> Answered<(String, bool)> {
        let ask = wire::Ask { handle: mount.0, ..asking(Function::MountSource) };
        match self.ask(ask)? {
            Given::Mount(mount) => Ok((mount.source, mount.writable)),
            _ => Err(other()),
        }
    }

    fn file_text(&mut self, path: &str) -> Answered<String> {
        text(self.ask(named(Function::FileText, path))?)
    }

    fn file_read(&mut self, path: &str, offset: u64, length: u32) -> Answered<Vec<u8>> {
        bytes(self.ask(wire::Ask { offset, length, ..named(Function::FileRead, path) })?)
    }

    fn file_entries(&mut self, path: &str) -> Answered<Vec<String>> {
        texts(self.ask(named(Function::FileEntries, path))?)
    }

    fn kernel_log_since(&mut self, cursor: &str, most: u32) -> Answered<LogBatch> {
        let ask = wire::Ask { length: most, ..named(Function::KernelLogSince, cursor) };
        let Given::Batch(batch) = self.ask(ask)? else {
            return Err(other());
        };
        let event =
            |event: wire::Event| LogEvent { pattern: event.pattern, captures: event.captures, micros: event.micros };
        Ok(LogBatch { events: batch.events.into_iter().map(event).collect(), cursor: batch.cursor, gap: batch.gap })
    }

    fn control_write(&mut self, device: DeviceHandle, path: &str, value: &str) -> Answered<()> {
        nothing(self.ask(wire::Ask {
            handle: device.0,
            value: value.to_owned(),
            ..named(Function::ControlWrite, path)
        })?)
    }

    fn state_load(&mut self) -> Answered<Vec<u8>> {
        bytes(self.ask(asking(Function::StateLoad))?)
    }

    fn state_store(&mut self, blob: &[u8]) -> Answered<()> {
        nothing(self.ask(wire::Ask { blob: blob.to_owned(), ..asking(Function::StateStore) })?)
    }

    fn config(&mut self) -> Arc<str> {
        if let Some(config) = &self.config {
            return Arc::clone(config);
        }
        // Where there is no answer the host is gone, and with it all that this call could give.
        let config = self.ask(asking(Function::Config)).and_then(text);
        Arc::clone(self.config.insert(config.map_or_else(|_| Arc::from("null"), Arc::from)))
    }

    fn log(&mut self, level: LogLevel, message: &str) {
        let level = match level {
            LogLevel::Debug => wire::log::Level::Debug,
            LogLevel::Info => wire::log::Level::Info,
            LogLevel::Warn => wire::log::Level::Warn,
            LogLevel::Error => wire::log::Level::Error,
        };
        let log = wire::Log { level: level.into(), line: message.to_owned() };
        let log = wire::FromRunner { kind: Some(wire::from_runner::Kind::Log(log)) };
        // It goes with the next question, or with the answer.
        let _ = self.host.lock().add(&log);
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }
}
