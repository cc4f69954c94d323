//! A driver's devices as slices.

use super::name::of_slice;
use super::{DEVICES, Digest, MAX_SETS, SHARES_CAPACITY};
use devgate_agent_protocol::{self as protocol, Counters};
use k8s_openapi::api::resource::v1::{
    CapacityRequestPolicy, CapacityRequestPolicyRange, Counter, CounterSet, Device, DeviceAttribute, DeviceCapacity,
    DeviceCounterConsumption, DeviceTaint, ResourcePool, ResourceSliceSpec,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use std::collections::BTreeMap;

/// A slice as it shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    /// What it says, of generation 0, in JSON: a tenth of what that takes in the API's types.
    spec: Box<[u8]>,
    pub(crate) digest: Digest,
    /// Of how many.
    pub(crate) count: i64,
}

impl Wanted {
    /// As it is sent.
    pub(crate) fn spec(&self, generation: i64) -> ResourceSliceSpec {
        // It was written a moment ago from the same types.
        let mut spec: ResourceSliceSpec = serde_json::from_slice(&self.spec).unwrap_or_default();
        spec.pool.generation = generation;
        spec
    }
}

/// What is in one slice: devices or sets of counters, never both.
#[derive(Default)]
struct Piece {
    devices: Vec<Device>,
    counters: Option<Vec<CounterSet>>,
}

/// The slices of a pool: 64 devices in each, and one that is empty where there are none; then what they take from.
pub(crate) fn cut(devices: &[protocol::Device], counters: &Counters, driver: &str, node: &str) -> Vec<Wanted> {
    let of_devices =
        |piece: &[protocol::Device]| Piece { devices: piece.iter().map(device).collect(), ..Piece::default() };
    let mut pieces: Vec<Piece> = devices.chunks(DEVICES).map(of_devices).collect();
    if pieces.is_empty() {
        pieces.push(Piece::default());
    }
    let sets: Vec<CounterSet> = counters.iter().map(counter_set).collect();
    pieces.extend(sets.chunks(MAX_SETS).map(|sets| Piece { counters: Some(sets.to_vec()), ..Piece::default() }));
    let count = i64::try_from(pieces.len()).unwrap_or(i64::MAX);
    let wanted = pieces.into_iter().enumerate().map(|(index, piece)| {
        let pool = ResourcePool { generation: 0, name: node.to_owned(), resource_slice_count: count };
        let spec = ResourceSliceSpec {
            // The API server takes not even a list of none beside counters.
            devices: piece.counters.is_none().then_some(piece.devices),
            driver: driver.to_owned(),
            node_name: Some(node.to_owned()),
            pool,
            shared_counters: piece.counters,
            ..ResourceSliceSpec::default()
        };
        let (name, json) = (of_slice(index, driver, node), serde_json::to_vec(&spec).unwrap_or_default());
        Wanted { name, spec: json.into(), digest: Digest::of_spec(spec), count }
    });
    wanted.collect()
}

/// Of what should be known soon: which devices there are, what they have and what keeps pods away. Attributes alone can wait.
pub(crate) fn pressing(devices: &[protocol::Device], counters: &Counters) -> Digest {
    let part = |of: &protocol::Device| protocol::Device { attributes: BTreeMap::new(), ..of.clone() };
    let parts: Vec<_> = devices.iter().map(part).collect();
    Digest::of(&serde_json::to_vec(&(parts, counters)).unwrap_or_default())
}

fn counter_set((name, counters): (&String, &BTreeMap<String, u64>)) -> CounterSet {
    CounterSet { name: name.clone(), counters: amounts(counters) }
}

fn amounts(of: &BTreeMap<String, u64>) -> BTreeMap<String, Counter> {
    of.iter().map(|(name, value)| (name.clone(), Counter { value: Quantity(amount(*value)) })).collect()
}

fn device(of: &protocol::Device) -> Device {
    let attributes = of.attributes.iter().map(|(name, value)| (name.clone(), attribute(value)));
    let several = of.shares.filter(|shares| *shares > 1);
    // What is not asked for is not counted: who has a share may have all of it.
    let optional = |most: u64| CapacityRequestPolicy {
        default: Some(Quantity(amount(0))),
        valid_range: Some(CapacityRequestPolicyRange {
            max: Some(Quantity(amount(most))),
            min: Quantity(amount(0)),
            step: None,
        }),
        valid_values: None,
    };
    let capacity = of.capacity.iter().map(|(name, value)| {
        let request_policy = several.map(|_| optional(*value));
        (name.clone(), DeviceCapacity { request_policy, value: Quantity(amount(*value)) })
    });
    let one = Quantity(amount(1));
    let each = CapacityRequestPolicy { default: Some(one.clone()), valid_range: None, valid_values: Some(vec![one]) };
    let shares = several.map(|shares| {
        let value = Quantity(amount(shares.into()));
        (SHARES_CAPACITY.to_owned(), DeviceCapacity { request_policy: Some(each), value })
    });
    let capacity: BTreeMap<_, _> = capacity.chain(shares).collect();
    let taints = of.taints.iter().map(|taint| DeviceTaint {
        effect: effect(taint.effect).to_owned(),
        key: taint.key.clone(),
        time_added: None,
        value: None,
    });
    let takes = of.takes.as_ref().map(|takes| {
        vec![DeviceCounterConsumption { counter_set: takes.set.clone(), counters: amounts(&takes.amounts) }]
    });
    // A list of nothing is left out, as the API server leaves it out.
    Device {
        name: of.name.clone(),
        allow_multiple_allocations: several.map(|_| true),
        attributes: (!of.attributes.is_empty()).then(|| attributes.collect()),
        capacity: (!capacity.is_empty()).then_some(capacity),
        consumes_counters: takes,
        taints: (!of.taints.is_empty()).then(|| taints.collect()),
        ..Device::default()
    }
}

fn attribute(value: &protocol::Value) -> DeviceAttribute {
    let none = DeviceAttribute::default();
    match value {
        protocol::Value::Int(int) => DeviceAttribute { int: Some(*int), ..none },
        protocol::Value::Bool(bool) => DeviceAttribute { bool: Some(*bool), ..none },
        protocol::Value::String(text) => DeviceAttribute { string: Some(text.clone()), ..none },
        protocol::Value::Version(text) => DeviceAttribute { version: Some(text.clone()), ..none },
    }
}

fn effect(of: protocol::Effect) -> &'static str {
    match of {
        protocol::Effect::NoSchedule => "NoSchedule",
        protocol::Effect::NoExecute => "NoExecute",
    }
}

const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [&str; 6] = ["k", "M", "G", "T", "P", "E"];

/// As the API server writes it, or it would seem changed: as short as it can be said exactly, of memory by 1024, else by 1000.
fn amount(of: u64) -> String {
    let binary = of >= 1 << 20 && of.is_multiple_of(1 << 20);
    let (step, suffixes) = if binary { (1024, BINARY) } else { (1000, DECIMAL) };
    let (mut left, mut suffix) = (of, "");
    for next in suffixes {
        if left == 0 || !left.is_multiple_of(step) {
            break;
        }
        (left, suffix) = (left / step, next);
    }
    format!("{left}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn an_amount_is_written_in_its_greatest_unit() {
        for (of, is) in [
            (0, "0"),
            (1, "1"),
            (1000, "1k"),
            (1024, "1024"),
            (1 << 20, "1Mi"),
            (80 << 30, "80Gi"),
            (80_000_000_000, "80G"),
            (1_500_000, "1500k"),
            (u64::MAX, "18446744073709551615"),
            (1 << 60, "1Ei"),
        ] {
            assert_eq!(amount(of), is);
        }
    }
}
