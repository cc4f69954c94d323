//! What a component is compiled against and what its tests are compiled against are the same: each function, record and
//! case of the contract is named here with its type, and this file is compiled for both.

use crate::kernel_log::{Batch, Event};
use crate::{
    Condition, Conditions, Device, Edits, Effect, Error, ErrorKind, Lifecycle, MountSource, Node, NodeKind, Origin,
    Parameters, Plugin, Pool, Preference, Property, Setting, Unit, Verdict,
};
use crate::{config, control, files, hardware, host_paths, kernel_log, state};

type Answer<T> = Result<T, Error>;
type Choose = fn(String, Vec<Unit>, Vec<String>, u32) -> Answer<Vec<String>>;
type Examine = fn(String, Vec<Unit>) -> Answer<Vec<Vec<Condition>>>;
type Work = fn(String, Vec<Unit>) -> Answer<()>;

const _: fn(&Device) -> Device = Device::duplicate;
const _: [fn(&Device) -> String; 3] = [Device::name, Device::subsystem, Device::location];
const _: fn(&Device) -> Option<String> = Device::driver;
const _: fn(&Device) -> Option<u32> = Device::numa_node;
const _: [fn(&Device, &str) -> Answer<String>; 2] = [Device::attribute, Device::link];
const _: fn(&Device, &[String]) -> Vec<Answer<String>> = Device::attributes;
const _: fn(&Device, &str, u64, u32) -> Answer<Vec<u8>> = Device::attribute_bytes;
const _: fn(&Device, &str) -> Answer<Vec<String>> = Device::entries;
const _: fn(&Device, &str) -> Answer<Device> = Device::related;
const _: fn(&Device) -> Option<Device> = Device::parent;
const _: fn(&Device, &str) -> Answer<Vec<Device>> = Device::children;
const _: fn(&Device) -> Answer<Vec<Node>> = Device::nodes;
const _: fn(&Node) -> String = Node::path;
const _: fn(&Node) -> NodeKind = Node::kind;
const _: fn(&Node) -> (u32, u32) = Node::number;
const _: fn(&Node) -> Option<(String, String)> = Node::owner;
const _: fn(&MountSource) -> String = MountSource::path;
const _: fn(&MountSource) -> bool = MountSource::writable;

const _: fn(&str) -> Answer<Vec<Device>> = hardware::devices;
const _: fn(&str, &str) -> Answer<Device> = hardware::device_by_name;
const _: fn(&Device, &str, &str) -> Answer<()> = control::write;
const _: fn(&str) -> Answer<Node> = host_paths::node_at;
const _: fn(&str) -> Answer<MountSource> = host_paths::mount;
const _: fn(&str) -> Answer<String> = files::text;
const _: fn(&str, u64, u32) -> Answer<Vec<u8>> = files::read;
const _: fn(&str) -> Answer<Vec<String>> = files::entries;
const _: fn(&str, u32) -> Answer<Batch> = kernel_log::since;
const _: fn() -> Answer<Vec<u8>> = state::load;
const _: fn(&[u8]) -> Answer<()> = state::store;
const _: fn() -> String = config::json;

/// All cases, and what can be done with them.
const fn kinds(kind: ErrorKind, node: NodeKind, origin: Origin, effect: Effect) {
    use ErrorKind::{Busy, Denied, Gone, Invalid, Io, Limit, NotFound, Other, Unsupported};
    match kind {
        Denied | NotFound | Gone | Invalid | Io | Limit | Busy | Unsupported | Other => {}
    }
    match node {
        NodeKind::Character | NodeKind::Block => {}
    }
    match origin {
        Origin::Class | Origin::Claim => {}
    }
    match effect {
        Effect::Inform | Effect::NoNew | Effect::Evict => {}
    }
}

/// All fields.
fn records(pool: Pool, edits: Edits, batch: Batch, verdict: Verdict, error: Error) {
    let Pool { resource: _, units, shared_nodes, properties } = pool;
    let _: (Vec<Unit>, Vec<Node>, Vec<Property>) = (units, shared_nodes, properties);
    let unit = |unit: Unit| {
        let Unit { id: _, backing, nodes, properties } = unit;
        let _: (Vec<Device>, Vec<Node>, Vec<Property>) = (backing, nodes, properties);
    };
    let _: fn(Unit) = unit;
    let Edits { env, mounts, annotations, cdi, properties } = edits;
    let _: (Vec<MountSource>, Vec<String>) = (mounts, cdi);
    let _: [Vec<Property>; 3] = [env, annotations, properties];
    let Batch { events, cursor, gap } = batch.clone();
    let _: (Vec<Event>, String, bool) = (events, cursor, gap);
    let event = |Event { pattern, captures, time }: Event| (pattern, captures, time);
    let _: fn(Event) -> (u32, Vec<String>, u64) = event;
    let setting = |Setting { origin, json }: Setting| (origin, json);
    let _: fn(Setting) -> (Origin, String) = setting;
    let condition = |Condition { key, effect, message }: Condition| (key, effect, message);
    let _: fn(Condition) -> (String, Effect, String) = condition;
    let property = |Property { name, value }: Property| (name, value);
    let _: fn(Property) -> (String, String) = property;
    match verdict.clone() {
        Verdict::Healthy => {}
        Verdict::Unhealthy(reason) | Verdict::Unknown(reason) => {
            let _: String = reason;
        }
    }
    let Error { kind, code, message } = error.clone();
    let _: (ErrorKind, String, String) = (kind, code, message);
}

/// All functions that a component has.
#[expect(dead_code, reason = "it only has to compile")]
fn exports<T: Plugin + Preference + Lifecycle + Parameters + Conditions>() {
    let _: fn() -> Answer<Vec<Pool>> = T::enumerate;
    let _: fn(String, Vec<Unit>) -> Answer<Vec<Verdict>> = T::health;
    let _: fn(String, Vec<Unit>) -> Answer<Edits> = T::allocate;
    let _: Choose = T::choose;
    let _: [Work; 2] = [T::prepare, T::release];
    let _: fn(String, Vec<Unit>, Vec<Setting>) -> Answer<Edits> = T::allocate_with;
    let _: Examine = T::examine;
}

/// Nobody calls what only has to compile.
const _: () = {
    let _ = kinds as fn(_, _, _, _);
    let _ = records as fn(_, _, _, _, _);
};

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(expected = "files::text was called outside of a call of the component")]
    fn there_is_no_host_outside_of_a_call() {
        let _ = crate::files::text("/proc/version");
    }
}
