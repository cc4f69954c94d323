//! One call's capabilities: the host's, but for the answers that a script fakes.

use super::{Asked, State, lock};
use crate::query::{Fake, Kind, Query};
use devgate_types::component::{Answered, Capabilities, LogBatch, LogLevel, NodeInfo, Uevent};
use devgate_types::{DeviceHandle, Limits, MountHandle, NodeHandle};
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Instant;

pub(super) struct FaultyHost<'a> {
    inner: &'a mut dyn Capabilities,
    limits: Limits,
    state: Arc<Mutex<State>>,
}

/// What a fake becomes where the host answers like this; `None` if it has another form, and the host answers.
type Faked<T> = Option<Answered<T>>;

fn fails<T>(fake: Fake, _query: &Query) -> Faked<T> {
    match fake {
        Fake::Failure(failure) => Some(Err(failure.into())),
        _ => None,
    }
}

fn empty<T: Default>(fake: Fake, query: &Query) -> Faked<T> {
    if fake == Fake::Nothing { Some(Ok(T::default())) } else { fails(fake, query) }
}

fn names(fake: Fake, query: &Query) -> Faked<Vec<String>> {
    match fake {
        Fake::Names(names) => Some(Ok(names)),
        fake => fails(fake, query),
    }
}

/// What cannot fail: any fake takes it away.
fn absent<T>(_fake: Fake, _query: &Query) -> Faked<Option<T>> {
    Some(Ok(None))
}

fn text(fake: Fake, query: &Query) -> Faked<String> {
    Some(fake.text(query))
}

fn part(offset: u64, length: u32) -> impl FnOnce(Fake, &Query) -> Faked<Vec<u8>> {
    move |fake, _query| Some(fake.range(offset, length))
}

impl<'a> FaultyHost<'a> {
    /// With the host's own limits unless others are given.
    pub(super) fn new(inner: &'a mut dyn Capabilities, limits: Option<Limits>, state: Arc<Mutex<State>>) -> Self {
        Self { limits: limits.unwrap_or_else(|| inner.limits().clone()), inner, state }
    }

    /// Records a query, and answers it with the script's fake or as the host does.
    fn answer<T: 'static>(
        &mut self,
        (kind, device, path): (Kind, Option<DeviceHandle>, &str),
        faked: impl FnOnce(Fake, &Query) -> Faked<T>,
        host: impl FnOnce(&mut dyn Capabilities) -> Answered<T>,
    ) -> Answered<T> {
        let location = device.and_then(|device| self.inner.device_location(device).ok());
        let query = Query { kind, location: location.unwrap_or_default(), path: path.to_owned() };
        let fake = {
            let mut state = lock(&self.state);
            let n = state.seen.asked.len();
            if let Some(before) = &mut state.script.before {
                before(n);
            }
            state.script.answer.as_ref().and_then(|answer| answer(&query))
        };
        let begun = Instant::now();
        let answer = fake.and_then(|fake| faked(fake, &query));
        let answer = answer.unwrap_or_else(|| host(self.inner));
        let took = begun.elapsed();
        let content = answer.as_ref().ok().and_then(|value| {
            let value: &dyn Any = value;
            let text = value.downcast_ref().map(|text: &String| text.clone().into_bytes());
            text.or_else(|| value.downcast_ref().cloned())
        });
        let error = answer.as_ref().err().cloned();
        lock(&self.state).seen.asked.push(Asked { query, content, error, took });
        answer
    }
}

/// Each question to a host: the kind of query that it is, the device and the path that it is about, and how it is faked.
macro_rules! queries {
    ($($name:ident($($arg:ident: $type:ty),*) -> $answer:ty = $kind:ident, $device:expr, $path:expr, $faked:expr;)*) => {$(
        fn $name(&mut self, $($arg: $type),*) -> Answered<$answer> {
            self.answer((Kind::$kind, $device, $path), $faked, |host| host.$name($($arg),*))
        }
    )*};
}

impl Capabilities for FaultyHost<'_> {
    queries! {
        devices(subsystem: &str) -> Vec<DeviceHandle> = Devices, None, subsystem, empty;
        device_by_name(subsystem: &str, name: &str) -> DeviceHandle = Device, None, &format!("{subsystem}/{name}"), fails;
        device_name(device: DeviceHandle) -> String = Word, Some(device), "name", text;
        device_subsystem(device: DeviceHandle) -> String = Word, Some(device), "subsystem", text;
        device_driver(device: DeviceHandle) -> Option<String> = Driver, Some(device), "driver", absent;
        device_location(device: DeviceHandle) -> String = Word, Some(device), "location", text;
        device_numa_node(device: DeviceHandle) -> Option<u32> = Numa, Some(device), "numa-node", absent;
        attribute(device: DeviceHandle, path: &str) -> String = Attribute, Some(device), path, text;
        attribute_bytes(device: DeviceHandle, path: &str, offset: u64, length: u32) -> Vec<u8>
            = Attribute, Some(device), path, part(offset, length);
        entries(device: DeviceHandle, path: &str) -> Vec<String> = Entries, Some(device), path, names;
        link(device: DeviceHandle, path: &str) -> String = Link, Some(device), path, text;
        related(device: DeviceHandle, link: &str) -> DeviceHandle = Link, Some(device), link, fails;
        parent(device: DeviceHandle) -> Option<DeviceHandle> = Parent, Some(device), "parent", absent;
        children(device: DeviceHandle, subsystem: &str) -> Vec<DeviceHandle> = Children, Some(device), subsystem, empty;
        nodes(device: DeviceHandle) -> Vec<NodeHandle> = Nodes, Some(device), "nodes", empty;
        node_at(path: &str) -> NodeHandle = HostPath, None, path, fails;
        mount(name: &str) -> MountHandle = HostPath, None, name, fails;
        node(node: NodeHandle) -> NodeInfo = Word, None, "node", fails;
        mount_source(mount: MountHandle) -> (String, bool) = Word, None, "mount", fails;
        file_text(path: &str) -> String = File, None, path, text;
        file_read(path: &str, offset: u64, length: u32) -> Vec<u8> = File, None, path, part(offset, length);
        file_entries(path: &str) -> Vec<String> = FileEntries, None, path, names;
        kernel_log_since(cursor: &str, most: u32) -> LogBatch = Log, None, "kernel-log", empty;
        control_write(device: DeviceHandle, path: &str, value: &str) -> () = Write, Some(device), path, fails;
        clock_now() -> u64 = Word, None, "clock", fails;
        uevents_recent(device: DeviceHandle) -> Vec<Uevent> = Log, Some(device), "uevents", empty;
        state_load() -> Vec<u8> = State, None, "load", part(0, u32::MAX);
        state_store(blob: &[u8]) -> () = State, None, "store", fails;
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn config(&mut self) -> Arc<str> {
        self.inner.config()
    }

    fn log(&mut self, level: LogLevel, message: &str) {
        self.inner.log(level, message);
    }

    fn bytes_read(&self) -> u64 {
        self.inner.bytes_read()
    }
}
