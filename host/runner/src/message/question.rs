//! The questions of a component on their way to its host, and the answers on theirs back: each function of [`Capabilities`] once, for
//! both ends.

use super::wire::{self, Function, answer::Answer as Given};
use devgate_types::component::{Answered, Capabilities, LogBatch, LogEvent, NodeInfo, Uevent};
use devgate_types::{ByteSize, DeviceHandle, MountHandle, NodeHandle, NodeKind, NodeNumber, Property};
use std::time::Duration;

/// Each function: its name in a message and here, what it takes and which field of a message that is in, and what it answers with.
macro_rules! questions {
    ($then:ident) => {
        $then! {
            Devices devices(subsystem: &str = name) -> Vec<DeviceHandle>;
            DeviceByName device_by_name(subsystem: &str = name, name: &str = value) -> DeviceHandle;
            DeviceName device_name(device: DeviceHandle = handle) -> String;
            DeviceSubsystem device_subsystem(device: DeviceHandle = handle) -> String;
            DeviceDriver device_driver(device: DeviceHandle = handle) -> Option<String>;
            DeviceLocation device_location(device: DeviceHandle = handle) -> String;
            DeviceNumaNode device_numa_node(device: DeviceHandle = handle) -> Option<u32>;
            Attribute attribute(device: DeviceHandle = handle, path: &str = name) -> String;
            AttributeBytes attribute_bytes(
                device: DeviceHandle = handle, path: &str = name, offset: u64 = offset, length: u32 = length
            ) -> Vec<u8>;
            Entries entries(device: DeviceHandle = handle, path: &str = name) -> Vec<String>;
            Link link(device: DeviceHandle = handle, path: &str = name) -> String;
            Related related(device: DeviceHandle = handle, link: &str = name) -> DeviceHandle;
            Parent parent(device: DeviceHandle = handle) -> Option<DeviceHandle>;
            Children children(device: DeviceHandle = handle, subsystem: &str = name) -> Vec<DeviceHandle>;
            Nodes nodes(device: DeviceHandle = handle) -> Vec<NodeHandle>;
            NodeAt node_at(path: &str = name) -> NodeHandle;
            Mount mount(mount: &str = name) -> MountHandle;
            Node node(node: NodeHandle = handle) -> NodeInfo;
            MountSource mount_source(mount: MountHandle = handle) -> (String, bool);
            FileText file_text(path: &str = name) -> String;
            FileRead file_read(path: &str = name, offset: u64 = offset, length: u32 = length) -> Vec<u8>;
            FileEntries file_entries(path: &str = name) -> Vec<String>;
            KernelLogSince kernel_log_since(cursor: &str = name, most: u32 = length) -> LogBatch;
            ControlWrite control_write(device: DeviceHandle = handle, path: &str = name, to: &str = value) -> ();
            ClockNow clock_now() -> u64;
            UeventsRecent uevents_recent(device: DeviceHandle = handle) -> Vec<Uevent>;
            StateLoad state_load() -> Vec<u8>;
            StateStore state_store(state: &[u8] = blob) -> ();
        }
    };
}
pub(crate) use questions;

macro_rules! answer {
    ($($function:ident $name:ident($($argument:ident: $type:ty = $field:ident),*) -> $value:ty;)*) => {
        /// What these capabilities answer to a question.
        pub(crate) fn answer(host: &mut dyn Capabilities, function: Function, ask: &wire::Ask) -> Answered<Given> {
            match function {
                $(Function::$function => host.$name($(Argument::heard(&ask.$field)),*).map(Value::said),)*
                Function::Config => Ok(Given::Text(host.config().as_ref().to_owned())),
            }
        }
    };
}
questions!(answer);

/// What a question takes, and a limit.
pub(crate) trait Argument<'a> {
    /// What it is in a message.
    type Field;
    fn said(self) -> Self::Field;
    fn heard(field: &'a Self::Field) -> Self;
}

impl<'a> Argument<'a> for &'a str {
    type Field = String;
    fn said(self) -> String {
        self.to_owned()
    }
    fn heard(field: &'a String) -> Self {
        field
    }
}

impl<'a> Argument<'a> for &'a [u8] {
    type Field = Vec<u8>;
    fn said(self) -> Vec<u8> {
        self.to_owned()
    }
    fn heard(field: &'a Vec<u8>) -> Self {
        field
    }
}

macro_rules! numbers {
    ($($type:ty = $field:ty, $said:expr, $heard:expr;)*) => {$(
        impl Argument<'_> for $type {
            type Field = $field;
            fn said(self) -> $field {
                $said(self)
            }
            fn heard(field: &$field) -> Self {
                $heard(*field)
            }
        }
    )*};
}
numbers! {
    u32 = u32, u32::from, u32::from;
    u64 = u64, u64::from, u64::from;
    ByteSize = u64, |size: Self| size.0, Self;
    Duration = u64, |time: Self| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Duration::from_nanos;
    DeviceHandle = u32, |device: Self| device.0, Self;
    NodeHandle = u32, |node: Self| node.0, Self;
    MountHandle = u32, |mount: Self| mount.0, Self;
}

/// What an answer is.
pub(crate) trait Value: Sized {
    fn said(self) -> Given;
    /// Nothing where it is something else.
    fn heard(given: Given) -> Option<Self>;
}

macro_rules! values {
    ($($type:ty = $given:ident($said:expr, $heard:expr);)*) => {$(
        impl Value for $type {
            fn said(self) -> Given {
                Given::$given($said(self))
            }
            fn heard(given: Given) -> Option<Self> {
                match given {
                    Given::$given(value) => Some($heard(value)),
                    _ => None,
                }
            }
        }
    )*};
}
values! {
    () = Nothing(|()| true, |_| ());
    String = Text(Self::from, Self::from);
    Vec<u8> = Bytes(Self::from, Self::from);
    Vec<String> = Texts(|texts| wire::Texts { texts }, |texts: wire::Texts| texts.texts);
    u32 = Number(Self::from, Self::from);
    u64 = Time(Self::from, Self::from);
    DeviceHandle = Number(Argument::said, Self);
    NodeHandle = Number(Argument::said, Self);
    MountHandle = Number(Argument::said, Self);
    Vec<DeviceHandle> = Handles(handles, |all: wire::Numbers| all.numbers.into_iter().map(DeviceHandle).collect());
    Vec<NodeHandle> = Handles(handles, |all: wire::Numbers| all.numbers.into_iter().map(NodeHandle).collect());
    (String, bool) = Mount(
        |(source, writable)| wire::Mount { source, writable },
        |wire::Mount { source, writable }| (source, writable)
    );
    NodeInfo = Node(
        |NodeInfo { path, number: NodeNumber { kind, major, minor }, owner }| {
            let owner = owner.map(|(name, subsystem)| wire::Owner { name, subsystem });
            wire::Node { path, block: kind == NodeKind::Block, major, minor, owner }
        },
        |wire::Node { path, block, major, minor, owner }| {
            let kind = if block { NodeKind::Block } else { NodeKind::Character };
            let owner = owner.map(|owner| (owner.name, owner.subsystem));
            Self { path, number: NodeNumber { kind, major, minor }, owner }
        }
    );
    LogBatch = Batch(
        |LogBatch { events, cursor, gap }| {
            let event = |LogEvent { pattern, captures, micros }| wire::Event { pattern, captures, micros };
            wire::Batch { events: events.into_iter().map(event).collect(), cursor, gap }
        },
        |wire::Batch { events, cursor, gap }| {
            let event = |wire::Event { pattern, captures, micros }| LogEvent { pattern, captures, micros };
            Self { events: events.into_iter().map(event).collect(), cursor, gap }
        }
    );
    Vec<Uevent> = Uevents(
        |all: Self| {
            let words = |words: Vec<Property>| words.iter().map(Into::into).collect();
            let uevent = |Uevent { millis, words: said }| wire::Uevent { millis, words: words(said) };
            wire::Uevents { uevents: all.into_iter().map(uevent).collect() }
        },
        |all: wire::Uevents| {
            let words = |words: Vec<wire::Property>| words.into_iter().map(Into::into).collect();
            let uevent = |wire::Uevent { millis, words: said }| Uevent { millis, words: words(said) };
            all.uevents.into_iter().map(uevent).collect()
        }
    );
}

/// A value, or none.
impl<T: Value> Value for Option<T> {
    fn said(self) -> Given {
        self.map_or(Given::Nothing(true), Value::said)
    }
    fn heard(given: Given) -> Option<Self> {
        match given {
            Given::Nothing(_) => Some(None),
            given => T::heard(given).map(Some),
        }
    }
}

fn handles<'a>(handles: Vec<impl Argument<'a, Field = u32>>) -> wire::Numbers {
    wire::Numbers { numbers: handles.into_iter().map(Argument::said).collect() }
}
