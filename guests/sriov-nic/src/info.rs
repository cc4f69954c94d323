//! The description of the functions that a container got, as JSON in a variable, for programs written for the common SR-IOV
//! plugin (`PCIDEVICE_…_INFO`; its `pkg/infoprovider` has the keys).

use crate::config::Pool;
use devgate_sdk::Unit;
use devgate_vfio::is_vfio;
use serde_json::{Map, Value};

/// The longest variable that the contract lets through.
const MAX_BYTES: usize = 4_096;

/// What is told of one function.
#[derive(Debug, Default)]
pub(crate) struct Described {
    pci: String,
    driver: String,
    rdma: Option<String>,
    /// Subsystem of its device, and path.
    nodes: Vec<(String, String)>,
}

impl Described {
    pub(crate) fn of(unit: &Unit) -> Self {
        let text = |name: &str| unit.property(name).unwrap_or_default().to_owned();
        let node = |node: &devgate_sdk::Node| {
            let path = node.path();
            let subsystem = match node.owner() {
                Some((_, subsystem)) => subsystem,
                None if path.starts_with("/dev/vfio/") => "vfio".to_owned(),
                None => String::new(),
            };
            (subsystem, path)
        };
        Self {
            pci: text("pci"),
            driver: text("driver"),
            rdma: unit.property("rdma").map(str::to_owned),
            nodes: unit.nodes.iter().map(node).collect(),
        }
    }
}

/// The variable's name: beside the one that the policy fills with addresses.
pub(crate) fn variable(resource: &str) -> String {
    let name = |c: char| {
        if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }
    };
    let resource: String = resource.chars().map(name).collect();
    format!("PCIDEVICE_{resource}_INFO")
}

/// The text; nothing where it would be too long.
pub(crate) fn json(pool: &Pool, functions: &[Described]) -> Option<String> {
    let mut all = Map::new();
    for function in functions {
        all.insert(function.pci.clone(), Value::Object(one(pool, function)));
    }
    let text = Value::Object(all).to_string();
    (text.len() <= MAX_BYTES).then_some(text)
}

fn one(pool: &Pool, function: &Described) -> Map<String, Value> {
    let object = |pairs: Vec<(&str, String)>| {
        let pairs = pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::String(value)));
        Value::Object(pairs.collect())
    };
    let mut info = Map::new();
    info.insert("generic".to_owned(), object(vec![("deviceID", function.pci.clone())]));
    let of = |subsystem: &'static str| function.nodes.iter().filter(move |(of, _)| of == subsystem);
    if is_vfio(&function.driver) {
        let mut vfio = vec![("mount", "/dev/vfio/vfio".to_owned())];
        vfio.extend(of("vfio").next().map(|(_, path)| ("dev-mount", path.clone())));
        info.insert("vfio".to_owned(), object(vfio));
    }
    if pool.rdma {
        let mut rdma = vec![("rdma_cm", "/dev/infiniband/rdma_cm".to_owned())];
        rdma.extend(function.rdma.clone().map(|device| ("rdma_dev", device)));
        rdma.extend(of("infiniband_verbs").next().map(|(_, path)| ("uverbs", path.clone())));
        for (_, path) in of("infiniband_mad") {
            let key = if path.contains("/issm") { "issm" } else { "umad" };
            rdma.push((key, path.clone()));
        }
        info.insert("rdma".to_owned(), object(rdma));
    }
    if pool.vhost_net {
        let vhost = vec![("net-mount", "/dev/vhost-net".to_owned()), ("tun-mount", "/dev/net/tun".to_owned())];
        info.insert("vhost".to_owned(), object(vhost));
    }
    info
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(rdma: bool, vhost_net: bool) -> Pool {
        Pool { resource: "v.com/a-b".to_owned(), select: vec![], rdma, vhost_net, info: true, link: true }
    }

    #[test]
    fn a_function_is_described_with_the_keys_that_programs_know() {
        let function = Described {
            pci: "0000:1c:00.1".to_owned(),
            driver: "mlx5_core".to_owned(),
            rdma: Some("mlx5_2".to_owned()),
            nodes: vec![
                ("infiniband_verbs".to_owned(), "/dev/infiniband/uverbs2".to_owned()),
                ("infiniband_mad".to_owned(), "/dev/infiniband/umad2".to_owned()),
                ("infiniband_mad".to_owned(), "/dev/infiniband/issm2".to_owned()),
            ],
        };
        let expected = r#"{"0000:1c:00.1":{"generic":{"deviceID":"0000:1c:00.1"},"rdma":{"issm":"/dev/infiniband/issm2","rdma_cm":"/dev/infiniband/rdma_cm","rdma_dev":"mlx5_2","umad":"/dev/infiniband/umad2","uverbs":"/dev/infiniband/uverbs2"}}}"#;
        assert_eq!(json(&pool(true, false), &[function]).unwrap(), expected);
        let function = Described {
            pci: "0000:1c:00.2".to_owned(),
            driver: "vfio-pci".to_owned(),
            rdma: None,
            nodes: vec![("vfio".to_owned(), "/dev/vfio/71".to_owned())],
        };
        let expected = r#"{"0000:1c:00.2":{"generic":{"deviceID":"0000:1c:00.2"},"vfio":{"dev-mount":"/dev/vfio/71","mount":"/dev/vfio/vfio"},"vhost":{"net-mount":"/dev/vhost-net","tun-mount":"/dev/net/tun"}}}"#;
        assert_eq!(json(&pool(false, true), &[function]).unwrap(), expected);
    }

    #[test]
    fn a_description_that_is_too_long_is_left_out() {
        let many = |n: usize| (0..n).map(|i| Described { pci: format!("0000:1c:00.{i}"), ..Described::default() });
        assert!(json(&pool(false, false), &many(60).collect::<Vec<_>>()).is_some());
        assert!(json(&pool(false, false), &many(100).collect::<Vec<_>>()).is_none());
    }

    #[test]
    fn the_variable_is_the_resource_s() {
        assert_eq!(variable("v.com/a-b"), "PCIDEVICE_V_COM_A_B_INFO");
    }
}
