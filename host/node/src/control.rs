//! Writing to the kernel's devices, and what else such a write may act on.

use crate::ReadError;
use crate::device::DevicePath;
use crate::error::found;
use crate::node::Node;
use crate::path::above;
use crate::tree::Readers;
use std::collections::BTreeSet;

/// The largest value that is written, in bytes: the kernel gives an attribute one page.
const MAX_VALUE: usize = 4096;
/// Ways to reset a function that touch no other (`Documentation/ABI/testing/sysfs-bus-pci`, `reset_method`): its own reset,
/// and a way through its power states. `bus` and `cxl_bus` reset all that is behind a bridge, `acpi` and `device_specific`
/// what the vendor made them reset.
const OWN_RESETS: [&str; 3] = ["flr", "af_flr", "pm"];

impl Node {
    /// Writes an attribute of a device, by one `write(2)`. Only a regular file that is there, through no link; nothing is
    /// created. Fails as [`Node::attribute`] does; with [`ReadError::Denied`] where the file may not be written, with [`ReadError::Io`]
    /// where the kernel refuses the value, or where its file system is mounted read-only (`EROFS`).
    pub fn write_attribute(&self, device: &DevicePath, path: &str, value: &[u8]) -> Result<(), ReadError> {
        if value.len() > MAX_VALUE {
            return Err(ReadError::TooLarge { most: MAX_VALUE });
        }
        let written = self.tree().write(&device.join(path)?, value);
        written.map_err(|error| self.explain(device, error))
    }

    /// The devices, besides this one and all beneath it, that a write to it may act on: those of its iommu group, those that
    /// a reset of it resets as well, and its virtual functions. Sorted; this one is among them.
    pub fn acts_on(&self, device: &DevicePath) -> Result<Vec<DevicePath>, ReadError> {
        let mut reached = BTreeSet::from([device.clone()]);
        if let Some((_, members)) = self.iommu_group(device)? {
            reached.extend(members);
        }
        if self.is_of(device, "pci")? {
            reached.extend(self.virtual_functions(device)?);
            reached.extend(self.reset_with(device)?);
        }
        Ok(reached.into_iter().collect())
    }

    fn virtual_functions(&self, device: &DevicePath) -> Result<Vec<DevicePath>, ReadError> {
        let links = self.tree().links(device.directory()).map_err(|error| self.explain(device, error))?;
        let functions = links.iter().filter(|(name, _)| name.starts_with("virtfn"));
        functions.map(|(_, target)| self.device_at(device.directory(), target)).collect()
    }

    /// The functions that may be reset with this one: none where each way to do it is its own, all that are behind the same
    /// bridge where one is not. Directly at a root, where no bus can be reset, those of the same slot.
    fn reset_with(&self, device: &DevicePath) -> Result<Vec<DevicePath>, ReadError> {
        let has = |name: &str| found(self.tree().stat(&device.join(name)?)).map(|kind| kind.is_some());
        // A virtual function has a reset of its own (PCI Express, 9.2: "must support Function Level Reset").
        if !has("reset")? || has("physfn")? || self.resets_alone(device)? {
            return Ok(Vec::new());
        }
        let bus = above(device.directory());
        let behind_bridge = self.parent(device).is_some_and(|parent| Some(parent.directory()) == bus);
        let slot = |device: &DevicePath| device.name().rsplit_once('.').map(|(slot, _)| slot.to_owned());
        let mut all = self.devices("pci")?;
        all.retain(|other| above(other.directory()) == bus && (behind_bridge || slot(other) == slot(device)));
        Ok(all)
    }

    fn resets_alone(&self, device: &DevicePath) -> Result<bool, ReadError> {
        let read = self.tree().read(&device.join("reset_method")?, 0, 256, Readers::Host);
        // Kernels before 5.15 do not say.
        let Some(bytes) = found(read)? else { return Ok(false) };
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.split_whitespace().all(|way| OWN_RESETS.contains(&way)))
    }
}
