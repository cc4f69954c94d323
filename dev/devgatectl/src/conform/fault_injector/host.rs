//! One call's capabilities: the host's, but for the answers that a script fakes.

use super::{Asked, State, lock};
use crate::conform::query::{Fake, Kind, Query};
use devgate_types::component::{Answered, Capabilities, Denied, LogBatch, LogLevel, NodeInfo};
use devgate_types::{DeviceHandle, Limits, MountHandle, NodeHandle};
use std::any::Any;
use std::sync::{Arc, Mutex};

pub(super) struct FaultyHost {
    inner: Box<dyn Capabilities>,
    limits: Limits,
    state: Arc<Mutex<State>>,
}

/// The part of a file that is read: from where, and how many bytes.
type Range = (u64, u32);
const WHOLE: Range = (0, u32::MAX);

/// What a host answers with, and how a fake becomes such an answer.
trait Fakeable: Sized {
    /// `None` if the fake is of another form, and the host answers.
    fn of(fake: Fake, _query: &Query, _range: Range) -> Option<Answered<Self>> {
        match fake {
            Fake::Failure(failure) => Some(Err(Denied::Failure(failure))),
            _ => None,
        }
    }

    /// The content of a file; `None` if the answer has none.
    fn content(&self) -> Option<Vec<u8>> {
        None
    }
}

impl Fakeable for String {
    fn of(fake: Fake, query: &Query, _range: Range) -> Option<Answered<Self>> {
        Some(fake.text(query))
    }

    fn content(&self) -> Option<Vec<u8>> {
        Some(self.clone().into_bytes())
    }
}

impl Fakeable for Vec<u8> {
    fn of(fake: Fake, _query: &Query, (offset, length): Range) -> Option<Answered<Self>> {
        Some(fake.range(offset, length))
    }

    fn content(&self) -> Option<Vec<u8>> {
        Some(self.clone())
    }
}

/// What cannot fail: any fake takes it away.
impl<T> Fakeable for Option<T> {
    fn of(_fake: Fake, _query: &Query, _range: Range) -> Option<Answered<Self>> {
        Some(Ok(None))
    }
}

/// Answers of other types are faked by a failure, and by these besides.
macro_rules! fakeable {
    ($($type:ty $(: $fake:pat => $value:expr)?;)*) => {$(
        impl Fakeable for $type {
            $(fn of(fake: Fake, _query: &Query, _range: Range) -> Option<Answered<Self>> {
                match fake {
                    Fake::Failure(failure) => Some(Err(Denied::Failure(failure))),
                    $fake => Some(Ok($value)),
                    _ => None,
                }
            })?
        }
    )*};
}

fakeable! {
    Vec<String>: Fake::Names(names) => names;
    Vec<DeviceHandle>: Fake::Nothing => Vec::new();
    Vec<NodeHandle>: Fake::Nothing => Vec::new();
    LogBatch: Fake::Nothing => LogBatch::default();
    DeviceHandle;
    NodeHandle;
    MountHandle;
    NodeInfo;
    (String, bool);
    ();
}

impl FaultyHost {
    /// With the host's own limits unless others are given.
    pub(super) fn new(inner: Box<dyn Capabilities>, limits: Option<Limits>, state: Arc<Mutex<State>>) -> Self {
        Self {
            limits: limits.unwrap_or_else(|| inner.limits().clone()),
            inner,
            state,
        }
    }

    /// Records a query, and answers it with the script's fake or as the host does.
    fn answer<T: Fakeable>(
        &mut self,
        kind: Kind,
        device: Option<DeviceHandle>,
        path: &str,
        range: Range,
        host: impl FnOnce(&mut dyn Capabilities) -> Answered<T>,
    ) -> Answered<T> {
        let location = device.and_then(|device| self.inner.device_location(device).ok());
        let query = Query {
            kind,
            location: location.unwrap_or_default(),
            path: path.to_owned(),
        };
        let fake = {
            let mut state = lock(&self.state);
            let n = state.seen.asked.len();
            if let Some(before) = &mut state.script.before {
                before(n);
            }
            state.script.answer.as_ref().and_then(|answer| answer(&query))
        };
        let answer = match fake.and_then(|fake| T::of(fake, &query, range)) {
            Some(answer) => answer,
            None => host(self.inner.as_mut()),
        };
        let content = answer.as_ref().ok().and_then(T::content);
        lock(&self.state).seen.asked.push(Asked { query, content });
        answer
    }
}

/// Each question to a host: the kind of query that it is, the device and the path that it is about.
macro_rules! queries {
    ($($name:ident($($arg:ident: $type:ty),*) -> $answer:ty = $kind:ident, $device:expr, $path:expr $(, $range:expr)?;)*) => {$(
        fn $name(&mut self, $($arg: $type),*) -> Answered<$answer> {
            let range = [$($range,)? WHOLE][0];
            self.answer(Kind::$kind, $device, $path, range, |host| host.$name($($arg),*))
        }
    )*};
}

impl Capabilities for FaultyHost {
    queries! {
        devices(subsystem: &str) -> Vec<DeviceHandle> = Devices, None, subsystem;
        device_by_name(subsystem: &str, name: &str) -> DeviceHandle = Device, None, &format!("{subsystem}/{name}");
        device_name(device: DeviceHandle) -> String = Word, Some(device), "name";
        device_subsystem(device: DeviceHandle) -> String = Word, Some(device), "subsystem";
        device_driver(device: DeviceHandle) -> Option<String> = Driver, Some(device), "driver";
        device_location(device: DeviceHandle) -> String = Word, Some(device), "location";
        device_numa_node(device: DeviceHandle) -> Option<u32> = Numa, Some(device), "numa-node";
        attribute(device: DeviceHandle, path: &str) -> String = Attribute, Some(device), path;
        attribute_bytes(device: DeviceHandle, path: &str, offset: u64, length: u32) -> Vec<u8>
            = Attribute, Some(device), path, (offset, length);
        entries(device: DeviceHandle, path: &str) -> Vec<String> = Entries, Some(device), path;
        link(device: DeviceHandle, path: &str) -> String = Link, Some(device), path;
        related(device: DeviceHandle, link: &str) -> DeviceHandle = Link, Some(device), link;
        parent(device: DeviceHandle) -> Option<DeviceHandle> = Parent, Some(device), "parent";
        children(device: DeviceHandle, subsystem: &str) -> Vec<DeviceHandle> = Children, Some(device), subsystem;
        nodes(device: DeviceHandle) -> Vec<NodeHandle> = Nodes, Some(device), "nodes";
        node_at(path: &str) -> NodeHandle = HostPath, None, path;
        mount(name: &str) -> MountHandle = HostPath, None, name;
        node(node: NodeHandle) -> NodeInfo = Word, None, "node";
        mount_source(mount: MountHandle) -> (String, bool) = Word, None, "mount";
        file_text(path: &str) -> String = File, None, path;
        file_read(path: &str, offset: u64, length: u32) -> Vec<u8> = File, None, path, (offset, length);
        file_entries(path: &str) -> Vec<String> = FileEntries, None, path;
        kernel_log_since(cursor: &str, most: u32) -> LogBatch = Log, None, "kernel-log";
        control_write(device: DeviceHandle, path: &str, value: &str) -> () = Write, Some(device), path;
        state_load() -> Vec<u8> = State, None, "load";
        state_store(blob: &[u8]) -> () = State, None, "store";
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

    /// The host's own object: only that knows what the handles of an answer mean.
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
