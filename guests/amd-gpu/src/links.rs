//! How far GPUs are from each other, as KFD's topology has it.
//!
//! `topology/nodes/<n>/io_links` and `p2p_links` have a directory for each way to another node, with `type` (11 is XGMI, 2 is PCIe)
//! and `weight`, which grows with the number of hops (`kfd_crat.h`, `kfd_topology.c`). One of a GPU's partitions speaks
//! for all of them.

use crate::choose::{Candidate, Distances};
use crate::kfd::{self, Topology, Values};
use devgate_sdk::{Device, Unit};
use std::collections::BTreeSet;

const XGMI: u64 = 11;
const PCIE: u64 = 2;
/// What a way that is not XGMI costs besides its weight, so that any number of XGMI's hops is nearer.
const OFF_XGMI: u64 = 100;

/// What is known of a unit that can be taken.
pub(crate) fn candidate(unit: &Unit) -> Candidate {
    Candidate {
        id: unit.id.clone(),
        gpu: unit.property("pci").unwrap_or(&unit.id).to_owned(),
        numa: unit.property("numa").and_then(|numa| numa.parse().ok()),
    }
}

/// The distances between the GPUs of these units; without KFD none is known, and NUMA nodes decide.
pub(crate) fn distances(candidates: &[Candidate]) -> Distances {
    let mut distances = Distances::default();
    let gpus: BTreeSet<&str> = candidates.iter().map(|candidate| candidate.gpu.as_str()).collect();
    if gpus.len() < 2 {
        return distances;
    }
    let (Ok(Some(kfd)), Ok(topology)) = (kfd::device(), kfd::topology()) else {
        return distances;
    };
    for gpu in &gpus {
        let node = topology.gpus.iter().find(|node| node.address == *gpu);
        for text in node.map(|node| ways(&kfd, node.number)).unwrap_or_default() {
            if let Some((other, distance)) = way(&text, &topology).filter(|(other, _)| gpus.contains(other)) {
                distances.set(gpu, other, distance);
            }
        }
    }
    distances
}

/// The texts of all ways from a node.
fn ways(kfd: &Device, number: u32) -> Vec<String> {
    let mut paths = Vec::new();
    for kind in ["io_links", "p2p_links"] {
        let directory = format!("topology/nodes/{number}/{kind}");
        let names = kfd.entries(&directory).unwrap_or_default();
        paths.extend(names.iter().map(|name| format!("{directory}/{name}/properties")));
    }
    kfd.attributes(&paths).into_iter().flatten().collect()
}

/// Where a way leads, if that is a GPU, and how far it is.
fn way<'a>(text: &str, topology: &'a Topology) -> Option<(&'a str, u64)> {
    let values = Values::of(text);
    let to = topology.gpus.iter().find(|gpu| u64::from(gpu.number) == values.get("node_to"))?;
    Some((&to.address, distance(values.get("type"), values.get("weight"))?))
}

fn distance(kind: u64, weight: u64) -> Option<u64> {
    let weight = weight.clamp(1, OFF_XGMI - 1);
    match kind {
        XGMI => Some(weight),
        PCIE => Some(OFF_XGMI + weight),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xgmi_is_nearer_than_pcie_whatever_its_weight() {
        assert!(distance(XGMI, 15) < distance(XGMI, 41));
        assert!(distance(XGMI, 500).unwrap() < distance(PCIE, 0).unwrap());
        assert!(distance(PCIE, 20) < distance(PCIE, 52));
        assert_eq!(distance(1, 15), None);
    }

    #[test]
    fn a_way_to_no_gpu_counts_for_nothing() {
        assert_eq!(way("type 2\nnode_from 2\nnode_to 0\nweight 20\n", &Topology::default()), None);
    }
}
