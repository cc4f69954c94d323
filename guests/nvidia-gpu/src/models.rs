//! What the driver does not say of a GPU without NVML: architecture, compute capability and size of memory by PCI device id.
//!
//! Ids and product names are those of "Compatible GPUs" in the README of NVIDIA's open kernel modules
//! (github.com/NVIDIA/open-gpu-kernel-modules), which knows Turing and later; those of Volta, T4 and Blackwell's B200 are as
//! `lspci -nn` prints them (The PCI ID Repository). Compute capabilities are those of developer.nvidia.com/cuda-gpus. The memory is the
//! product's nominal size, and left out where products of one id differ. A GPU that is not here is offered all the same,
//! without these properties.

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Model {
    /// The PCI device id.
    pub(crate) id: u16,
    pub(crate) architecture: &'static str,
    /// As `9.0`.
    pub(crate) compute: &'static str,
    /// As `80GB`.
    pub(crate) memory: Option<&'static str>,
}

/// The model of a PCI device id as sysfs writes it (`0x2330`).
pub(crate) fn of(device: &str) -> Option<&'static Model> {
    let id = u16::from_str_radix(device.strip_prefix("0x")?, 16).ok()?;
    MODELS.get(MODELS.binary_search_by_key(&id, |model| model.id).ok()?)
}

const fn model(id: u16, architecture: &'static str, compute: &'static str, memory: &'static str) -> Model {
    let memory = if memory.is_empty() { None } else { Some(memory) };
    Model { id, architecture, compute, memory }
}

/// Sorted by id. Data-center products; which product is meant stands behind each.
const MODELS: [Model; 33] = [
    model(0x1db1, "volta", "7.0", "16GB"),   // Tesla V100 SXM2 16GB
    model(0x1db5, "volta", "7.0", "32GB"),   // Tesla V100 SXM2 32GB
    model(0x1eb8, "turing", "7.5", "16GB"),  // Tesla T4
    model(0x20b0, "ampere", "8.0", "40GB"),  // A100-SXM4-40GB
    model(0x20b2, "ampere", "8.0", "80GB"),  // A100-SXM4-80GB
    model(0x20b3, "ampere", "8.0", "64GB"),  // A100-SXM-64GB
    model(0x20b5, "ampere", "8.0", "80GB"),  // A100 80GB PCIe
    model(0x20b7, "ampere", "8.0", "24GB"),  // A30
    model(0x20bd, "ampere", "8.0", "40GB"),  // A800-SXM4-40GB
    model(0x20f1, "ampere", "8.0", "40GB"),  // A100-PCIE-40GB
    model(0x20f3, "ampere", "8.0", "80GB"),  // A800-SXM4-80GB
    model(0x20f5, "ampere", "8.0", "80GB"),  // A800 80GB PCIe
    model(0x2235, "ampere", "8.6", "48GB"),  // A40
    model(0x2236, "ampere", "8.6", "24GB"),  // A10
    model(0x2237, "ampere", "8.6", "24GB"),  // A10G
    model(0x2321, "hopper", "9.0", "94GB"),  // H100 NVL
    model(0x2322, "hopper", "9.0", "80GB"),  // H800 PCIe
    model(0x2324, "hopper", "9.0", "80GB"),  // H800
    model(0x2329, "hopper", "9.0", "96GB"),  // H20
    model(0x232c, "hopper", "9.0", "141GB"), // H20-3e
    model(0x2330, "hopper", "9.0", "80GB"),  // H100 80GB HBM3
    model(0x2331, "hopper", "9.0", "80GB"),  // H100 PCIe
    model(0x2335, "hopper", "9.0", "141GB"), // H200
    model(0x2339, "hopper", "9.0", ""),      // H100
    model(0x233a, "hopper", "9.0", ""),      // H800 NVL
    model(0x2342, "hopper", "9.0", ""),      // GH200, whose name tells the processor's memory
    model(0x25b6, "ampere", "8.6", "16GB"),  // A2, A16
    model(0x26b5, "ada", "8.9", "48GB"),     // L40
    model(0x26b9, "ada", "8.9", "48GB"),     // L40S
    model(0x26ba, "ada", "8.9", "48GB"),     // L20
    model(0x27b6, "ada", "8.9", "24GB"),     // L2
    model(0x27b8, "ada", "8.9", "24GB"),     // L4
    model(0x2901, "blackwell", "10.0", ""),  // B200
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_each_id_once() {
        assert!(MODELS.is_sorted_by(|a, b| a.id < b.id));
    }

    #[test]
    fn ids_are_found_as_sysfs_writes_them() {
        let h100 = of("0x2330").unwrap();
        assert_eq!((h100.architecture, h100.compute, h100.memory), ("hopper", "9.0", Some("80GB")));
        assert_eq!(of("0x2342").unwrap().memory, None);
        for unknown in ["0xffff", "2330", "0x", "0x12330", ""] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }
}
