//! A runner's questions, answered from the capabilities of the call that is under way.

use super::prefetch::Habits;
use crate::message::wire::{self, Function, answer::Answer as Given};
use devgate_types::component::{Answered, Capabilities, Denied};
use devgate_types::load::Interface;
use devgate_types::{DeviceHandle, MountHandle, NodeHandle};

/// Interfaces of the contract that the policy grants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Interfaces(u8);

const NAMES: [&str; 6] = ["hardware", "host-paths", "files", "kernel-log", "control", "state"];

impl Interfaces {
    /// Those among a component's imports: each was granted, or it would not have been loaded.
    pub(crate) fn of(imports: &[String]) -> Self {
        let ours = imports.iter().filter_map(|import| Interface::parse(import));
        let names = ours.filter(|import| import.package == "devgate:plugin").map(|import| import.name);
        Self(names.filter_map(bit).fold(0, |all, bit| all | bit))
    }

    fn has(self, name: &str) -> bool {
        bit(name).is_some_and(|bit| self.0 & bit != 0)
    }
}

fn bit(name: &str) -> Option<u8> {
    let place = NAMES.iter().position(|known| *known == name)?;
    1_u8.checked_shl(u32::try_from(place).ok()?)
}

/// The interface that a function is of; `None` if every component has it.
fn interface(function: Function) -> Option<&'static str> {
    match function {
        Function::Devices | Function::DeviceByName => Some("hardware"),
        Function::NodeAt | Function::Mount => Some("host-paths"),
        Function::FileText | Function::FileRead | Function::FileEntries => Some("files"),
        Function::KernelLogSince => Some("kernel-log"),
        Function::ControlWrite => Some("control"),
        Function::StateLoad | Function::StateStore => Some("state"),
        // These take a handle that one of the others gave, or give nothing of the node.
        _ => None,
    }
}

/// The answer to a question.
///
/// # Errors
/// Where no component of these imports could ask it.
pub(super) fn serve(
    host: &mut dyn Capabilities,
    ask: wire::Ask,
    interfaces: Interfaces,
    habits: &mut Habits,
) -> Result<wire::Answer, &'static str> {
    let function = Function::try_from(ask.function).map_err(|_| "it asks what is not in the contract")?;
    if interface(function).is_some_and(|name| !interfaces.has(name)) {
        return Err("it asks what its component does not import");
    }
    let answer = given(host, function, &ask);
    let ahead = habits.foresee(host, function, ask.handle, answer.as_ref().ok());
    let answer = answer.unwrap_or_else(|denied| match denied {
        Denied::Failure(failure) => Given::Failure(failure.into()),
        Denied::End(error) => Given::End(error.into()),
    });
    Ok(wire::Answer { bytes_read: host.bytes_read(), answer: Some(answer), ahead })
}

pub(super) fn given(host: &mut dyn Capabilities, function: Function, ask: &wire::Ask) -> Answered<Given> {
    let wire::Ask { handle, name, value, offset, length, blob, .. } = ask;
    let (device, node, mount) = (DeviceHandle(*handle), NodeHandle(*handle), MountHandle(*handle));
    Ok(match function {
        Function::Devices => devices(host.devices(name)?),
        Function::DeviceByName => Given::Number(host.device_by_name(name, value)?.0),
        Function::DeviceName => Given::Text(host.device_name(device)?),
        Function::DeviceSubsystem => Given::Text(host.device_subsystem(device)?),
        Function::DeviceDriver => perhaps(host.device_driver(device)?, Given::Text),
        Function::DeviceLocation => Given::Text(host.device_location(device)?),
        Function::DeviceNumaNode => perhaps(host.device_numa_node(device)?, Given::Number),
        Function::Attribute => Given::Text(host.attribute(device, name)?),
        Function::AttributeBytes => Given::Bytes(host.attribute_bytes(device, name, *offset, *length)?),
        Function::Entries => texts(host.entries(device, name)?),
        Function::Link => Given::Text(host.link(device, name)?),
        Function::Related => Given::Number(host.related(device, name)?.0),
        Function::Parent => perhaps(host.parent(device)?.map(|parent| parent.0), Given::Number),
        Function::Children => devices(host.children(device, name)?),
        Function::Nodes => numbers(host.nodes(device)?.into_iter().map(|node| node.0)),
        Function::NodeAt => Given::Number(host.node_at(name)?.0),
        Function::Mount => Given::Number(host.mount(name)?.0),
        Function::Node => {
            let node = host.node(node)?;
            Given::Node(wire::Node {
                path: node.path,
                block: node.number.kind == devgate_types::NodeKind::Block,
                major: node.number.major,
                minor: node.number.minor,
                owner: node.owner.map(|(name, subsystem)| wire::Owner { name, subsystem }),
            })
        }
        Function::MountSource => {
            let (source, writable) = host.mount_source(mount)?;
            Given::Mount(wire::Mount { source, writable })
        }
        Function::FileText => Given::Text(host.file_text(name)?),
        Function::FileRead => Given::Bytes(host.file_read(name, *offset, *length)?),
        Function::FileEntries => texts(host.file_entries(name)?),
        Function::KernelLogSince => {
            let batch = host.kernel_log_since(name, *length)?;
            let events = batch.events.into_iter().map(|event| wire::Event {
                pattern: event.pattern,
                captures: event.captures,
                micros: event.micros,
            });
            Given::Batch(wire::Batch { events: events.collect(), cursor: batch.cursor, gap: batch.gap })
        }
        Function::ControlWrite => nothing(host.control_write(device, name, value)?),
        Function::StateLoad => Given::Bytes(host.state_load()?),
        Function::StateStore => nothing(host.state_store(blob)?),
        Function::Config => Given::Text(host.config().as_ref().to_owned()),
    })
}

fn nothing(_done: ()) -> Given {
    Given::Nothing(true)
}

fn perhaps<T>(value: Option<T>, given: fn(T) -> Given) -> Given {
    value.map_or(Given::Nothing(true), given)
}

fn texts(texts: Vec<String>) -> Given {
    Given::Texts(wire::Texts { texts })
}

fn numbers(numbers: impl Iterator<Item = u32>) -> Given {
    Given::Handles(wire::Numbers { numbers: numbers.collect() })
}

fn devices(devices: Vec<DeviceHandle>) -> Given {
    numbers(devices.into_iter().map(|device| device.0))
}
