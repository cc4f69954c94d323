//! KFD, the part of the driver that computes: what its topology says of each GPU or partition.
//!
//! The class `kfd` has one device, `kfd`, with the node `/dev/kfd`, which every program that computes opens, and a directory
//! `topology/nodes/<n>` for each processor and each GPU or partition. Its file `properties` has lines of a name and an unsigned number
//! of up to 64 bits (`kfd_topology.c`). `location_id` is the PCI bus, device and function in 8, 5 and 3 bits, where the function
//! stands for the number of the partition.

use devgate_sdk::{Device, Error, ErrorKind, Node, Presence, hardware};

/// The most banks of memory that are looked at; GPUs have one.
const MAX_BANKS: u64 = 8;

/// The lines of a file of the topology.
pub(crate) struct Values<'a>(Vec<(&'a str, u64)>);

impl<'a> Values<'a> {
    /// What is no name and number is left out.
    pub(crate) fn of(text: &'a str) -> Self {
        let line = |line: &'a str| {
            let (name, value) = line.trim().split_once(' ')?;
            Some((name, value.trim().parse().ok()?))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// The value of a name; 0 is what KFD writes where it knows none.
    pub(crate) fn get(&self, name: &str) -> u64 {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).unwrap_or_default()
    }
}

/// What KFD says of a GPU, or of one of its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gpu {
    /// Its number in the topology, which is another one after a change of mode.
    pub(crate) number: u32,
    /// The minor number of its render node: what ties it to a DRM device.
    pub(crate) render: u64,
    /// The PCI address of the GPU.
    pub(crate) address: String,
    /// Which of the GPU's partitions.
    pub(crate) partition: u64,
    pub(crate) gfx: u64,
    pub(crate) compute_units: u64,
    pub(crate) hive: u64,
    pub(crate) unique: u64,
    /// The bytes of its memory, once [`measure`] has read them.
    pub(crate) memory: u64,
    banks: u64,
}

impl Gpu {
    /// Whether it is the GPU of a PCI function, or a part of it. What KFD says has no function's number.
    pub(crate) fn is_of(&self, function: &str) -> bool {
        let slot = |address: &'_ str| address.rsplit_once('.').map(|(slot, _)| slot.to_owned());
        slot(&self.address) == slot(function)
    }

    /// From the text of `properties`; nothing for a processor, which has no units that compute. Older kernels tell neither
    /// `gfx_target_version` nor `domain`.
    fn of(number: u32, text: &str) -> Option<Self> {
        let values = Values::of(text);
        let (render, gfx) = (values.get("drm_render_minor"), values.get("gfx_target_version"));
        if render == 0 || values.get("simd_count") == 0 {
            return None;
        }
        let (location, domain) = (values.get("location_id"), values.get("domain"));
        let (bus, device) = ((location >> 8) & 0xff, (location >> 3) & 0x1f);
        Some(Self {
            number,
            render,
            address: format!("{domain:04x}:{bus:02x}:{device:02x}.0"),
            partition: location & 7,
            gfx,
            compute_units: values.get("simd_count").checked_div(values.get("simd_per_cu")).unwrap_or_default(),
            hive: values.get("hive_id"),
            unique: values.get("unique_id"),
            memory: 0,
            banks: values.get("mem_banks_count"),
        })
    }
}

/// The GPUs and partitions that KFD lists.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    pub(crate) gpus: Vec<Gpu>,
    /// Whether there are nodes that this process may not look at: KFD answers EPERM to a process whose device cgroup keeps it from
    /// the GPU's render node (`kfd_devcgroup_check_permission`), and then nothing can be concluded from a GPU that is missing.
    pub(crate) is_partial: bool,
}

impl Topology {
    /// The one of a render node.
    pub(crate) fn with_render(&self, minor: u64) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.render == minor)
    }
}

/// The device `kfd`, if the driver has made it and the policy grants it.
pub(crate) fn device() -> Result<Option<Device>, Error> {
    hardware::device_by_name("kfd", "kfd").if_present()
}

/// Its node, which every container of a GPU gets.
pub(crate) fn nodes() -> Result<Vec<Node>, Error> {
    let Some(kfd) = device()? else { return Ok(Vec::new()) };
    Ok(kfd.nodes().if_present()?.unwrap_or_default())
}

/// Reads the topology; empty where there is no KFD.
pub(crate) fn topology() -> Result<Topology, Error> {
    let Some(kfd) = device()? else {
        return Ok(Topology::default());
    };
    let numbers = kfd.entries("topology/nodes").if_present()?.unwrap_or_default();
    let mut numbers: Vec<u32> = numbers.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    let paths: Vec<String> = numbers.iter().map(|n| format!("topology/nodes/{n}/properties")).collect();
    let mut topology = Topology::default();
    for (number, text) in numbers.into_iter().zip(kfd.attributes(&paths)) {
        match text {
            Ok(text) => topology.gpus.extend(Gpu::of(number, &text)),
            Err(error) if error.is_absence() => {}
            Err(error) if error.kind == ErrorKind::Io && error.code != "EPERM" => return Err(error),
            Err(_) => topology.is_partial = true,
        }
    }
    Ok(topology)
}

/// Reads how much memory each has, as its banks add up: all in one question to the host.
pub(crate) fn measure(topology: &mut Topology) -> Result<(), Error> {
    let Some(kfd) = device()? else { return Ok(()) };
    let bank = |gpu: &Gpu, bank| format!("topology/nodes/{}/mem_banks/{bank}/properties", gpu.number);
    let banks = |gpu: &Gpu| (0..gpu.banks.min(MAX_BANKS)).map(|n| bank(gpu, n)).collect();
    let paths: Vec<Vec<String>> = topology.gpus.iter().map(banks).collect();
    let mut texts = kfd.attributes(&paths.concat()).into_iter();
    for (gpu, paths) in topology.gpus.iter_mut().zip(&paths) {
        for text in texts.by_ref().take(paths.len()).flatten() {
            gpu.memory = gpu.memory.saturating_add(Values::of(&text).get("size_in_bytes"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the form of a partition of an MI308X in CPX mode.
    const PARTITION: &str = "cpu_cores_count 0\nsimd_count 80\nmem_banks_count 1\nsimd_per_cu 4\ngfx_target_version 90402\n\
        vendor_id 4098\ndevice_id 29858\nlocation_id 41985\ndomain 0\ndrm_render_minor 145\nhive_id 2095653680343411291\n\
        unique_id 10187445671099294242\nnum_xcc 1\n";

    #[test]
    fn a_partition_says_where_it_is() {
        let gpu = Gpu::of(11, PARTITION).unwrap();
        assert_eq!((gpu.address.as_str(), gpu.partition, gpu.render), ("0000:a4:00.0", 1, 145));
        assert_eq!((gpu.compute_units, gpu.gfx, gpu.banks), (20, 90_402, 1));
        assert!(gpu.is_of("0000:a4:00.0") && gpu.is_of("0000:a4:00.1"));
        assert!(!gpu.is_of("0000:a5:00.0") && !gpu.is_of("0001:a4:00.0") && !gpu.is_of(""));
    }

    /// More than an i64 holds.
    #[test]
    fn numbers_have_64_bits() {
        assert_eq!(Gpu::of(11, PARTITION).unwrap().unique, 10_187_445_671_099_294_242);
        let values = Values::of("a 18446744073709551615\nb 18446744073709551616\nc\nd -1\ne 7\n");
        assert_eq!((values.get("a"), values.get("b"), values.get("d"), values.get("e")), (u64::MAX, 0, 0, 7));
    }

    #[test]
    fn a_processor_is_no_gpu() {
        assert_eq!(Gpu::of(0, "cpu_cores_count 64\nsimd_count 0\ndrm_render_minor 0\ngfx_target_version 0\n"), None);
        assert_eq!(Gpu::of(0, ""), None);
    }

    /// As a Radeon Instinct MI25 on such a kernel.
    #[test]
    fn a_gpu_is_one_where_its_instruction_set_is_not_told() {
        let text = "cpu_cores_count 0\nsimd_count 256\nsimd_per_cu 4\nvendor_id 4098\ndevice_id 26720\nlocation_id 6400\n\
            drm_render_minor 128\n";
        let gpu = Gpu::of(1, text).unwrap();
        assert_eq!((gpu.address.as_str(), gpu.render, gpu.gfx, gpu.compute_units), ("0000:19:00.0", 128, 0, 64));
    }

    #[test]
    fn a_gpu_in_another_domain_has_its_address() {
        let text = "drm_render_minor 128\ngfx_target_version 90402\nlocation_id 256\ndomain 3\nsimd_count 4\n";
        let gpu = Gpu::of(2, text).unwrap();
        assert_eq!((gpu.address.as_str(), gpu.compute_units), ("0003:01:00.0", 0));
    }
}
