//! Kernel devices: where they are and what they say of themselves.

mod relatives;

use crate::node::Node;
use crate::path::{MAX_PATH_BYTES, above, base, follow, is_name, problem};
use crate::tree::{Kind, MAX_READ_BYTES, Readers};
use crate::{ReadError, error};
use std::fmt;
use std::sync::Arc;

/// Where every device is, below the node's root.
const DEVICES: &str = "sys/devices/";
/// A `uevent` is made in a buffer of 2,048 bytes (`UEVENT_BUFFER_SIZE`); a recorded one may have udev's additions.
const MAX_UEVENT_BYTES: usize = 16 << 10;

/// One device of the kernel, by its real place below `/sys/devices`: equal paths are the same place, and paths of one
/// node sort by place. Cheap to clone; holds nothing open, so the device may go at any time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePath(Arc<str>);

impl DevicePath {
    /// From a path below the root, if it is one below `/sys/devices`.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        let location = path.strip_prefix(DEVICES)?;
        problem(location).is_none().then(|| Self(path.into()))
    }

    /// The kernel's name, such as `0000:3b:00.0`: the last component of its place.
    #[must_use]
    pub fn name(&self) -> &str {
        base(&self.0)
    }

    /// Its place without `/sys/devices/`, such as `pci0000:3a/0000:3a:00.0/0000:3b:00.0`.
    #[must_use]
    pub fn location(&self) -> &str {
        self.0.strip_prefix(DEVICES).unwrap_or_default()
    }

    /// Whether its place is somewhere beneath `ancestor`'s; no device is beneath itself.
    #[must_use]
    pub fn is_beneath(&self, ancestor: &Self) -> bool {
        self.0.strip_prefix(&*ancestor.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Whether both are the same, or one is beneath the other.
    #[must_use]
    pub fn touches(&self, other: &Self) -> bool {
        self == other || self.is_beneath(other) || other.is_beneath(self)
    }

    /// Its directory, below the node's root.
    #[must_use]
    pub fn directory(&self) -> &str {
        &self.0
    }

    /// What is wrong with a path in its directory, if anything.
    fn problem(&self, path: &str) -> Option<&'static str> {
        let length = self.0.len() + 1 + path.len();
        problem(path).or((length > MAX_PATH_BYTES).then_some("path is too long for the device's place"))
    }

    /// `path` in its directory. Fails with [`ReadError::Invalid`] where that is no plain path.
    pub fn join(&self, path: &str) -> Result<String, ReadError> {
        match self.problem(path) {
            Some(problem) => Err(ReadError::Invalid(problem)),
            None => Ok(format!("{}/{path}", self.0)),
        }
    }
}

impl fmt::Debug for DevicePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePath({:?})", self.location())
    }
}

/// What a device is part of: a bus or a class of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subsystem {
    /// Such as `pci` or `drm`.
    pub name: String,
    /// Whether it is a bus.
    pub is_bus: bool,
}

impl Node {
    /// All devices of a bus or class, sorted by location; none where the subsystem does not exist.
    ///
    /// What a class directory holds besides links to devices (its own attributes, such as `zram-control/hot_add`) is
    /// left out, and so is a link that leads out of `/sys/devices`. Fails with [`ReadError::Invalid`] where `subsystem` is not a plain
    /// name.
    pub fn devices(&self, subsystem: &str) -> Result<Vec<DevicePath>, ReadError> {
        let mut found = Vec::new();
        for directory in subsystem_directories(subsystem)? {
            let links = error::found(self.tree().links(&directory))?.unwrap_or_default();
            let device = |(_, target): &(String, String)| DevicePath::at(&follow(&directory, target)?);
            found.extend(links.iter().filter_map(device));
        }
        // A name can be a bus and a class at once (`nd`), with devices in both.
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The names of all buses and classes, sorted. Fails where neither list can be read.
    pub fn subsystems(&self) -> Result<Vec<String>, ReadError> {
        let mut subsystems = Vec::new();
        for directory in ["sys/bus", "sys/class"] {
            let entries = error::found(self.tree().list(directory))?.unwrap_or_default();
            subsystems.extend(entries.into_iter().map(|(name, _)| name));
        }
        subsystems.sort();
        subsystems.dedup();
        Ok(subsystems)
    }

    /// One device of a bus or class by its kernel name. Fails with [`ReadError::NotFound`] where there is none, [`ReadError::NotADevice`]
    /// where its link leads to something else, [`ReadError::Invalid`] where one of the two is not a plain name.
    pub fn device(&self, subsystem: &str, name: &str) -> Result<DevicePath, ReadError> {
        if !is_name(name) {
            return Err(ReadError::Invalid("device name is not a plain name"));
        }
        for directory in subsystem_directories(subsystem)? {
            match self.tree().link(&format!("{directory}/{name}")) {
                Ok(target) => return self.device_at(&directory, &target),
                Err(ReadError::NotFound | ReadError::Invalid(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(ReadError::NotFound)
    }

    /// All devices of a kernel name, whichever bus or class they are of, sorted by location. Fails with [`ReadError::Invalid`] where it is
    /// not a plain name; others where no list of buses and classes can be read.
    pub fn devices_named(&self, name: &str) -> Result<Vec<DevicePath>, ReadError> {
        if !is_name(name) {
            return Err(ReadError::Invalid("device name is not a plain name"));
        }
        let subsystems = self.subsystems()?;
        let mut found: Vec<_> = subsystems.iter().filter_map(|of| self.device(of, name).ok()).collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The bus or class that a device is part of, if it says one. Fails with [`ReadError::Gone`] where the device is not there any more.
    pub fn subsystem(&self, device: &DevicePath) -> Result<Option<Subsystem>, ReadError> {
        let target = self.tree().link(&format!("{}/subsystem", device.directory()));
        let target = error::found(target.map_err(|error| self.explain(device, error)))?;
        let path = target.and_then(|target| follow(device.directory(), &target));
        Ok(path.and_then(|path| as_subsystem(&path)))
    }

    /// Whether a device is part of the bus or class of this name.
    pub fn is_of(&self, device: &DevicePath, subsystem: &str) -> Result<bool, ReadError> {
        Ok(self.subsystem(device)?.is_some_and(|found| found.name == subsystem))
    }

    /// What kind of device it is within its subsystem, such as `usb_interface` or `partition`.
    #[must_use]
    pub fn devtype(&self, device: &DevicePath) -> Option<String> {
        self.uevent(device, "DEVTYPE").ok()?
    }

    /// The name of the bound driver, if one is.
    #[must_use]
    pub fn driver(&self, device: &DevicePath) -> Option<String> {
        self.link(device, "driver").ok()
    }

    /// The NUMA node that the device says it is on, or else the nearest device above it that says anything. None
    /// where that is -1.
    #[must_use]
    pub fn numa_node(&self, device: &DevicePath) -> Option<u32> {
        let mut at = device.directory();
        loop {
            if let Ok(bytes) = self.tree().read(&format!("{at}/numa_node"), 0, 16, Readers::World) {
                return std::str::from_utf8(&bytes).ok()?.trim().parse().ok();
            }
            at = above(at)?;
            if at.len() <= DEVICES.len() {
                return None;
            }
        }
    }

    /// Whether the device is there now.
    #[must_use]
    pub fn exists(&self, device: &DevicePath) -> bool {
        self.is_device(device.directory())
    }

    /// A whole attribute as the kernel gives it, at most `most` bytes (and never more than 16 MiB). Fails with [`ReadError::Denied`] for a
    /// file that not everybody may read, [`ReadError::TooLarge`], [`ReadError::Invalid`] for a path that is not plain, a link, a directory
    /// or anything else that is not a regular file; else what happened when it was read.
    pub fn attribute(&self, device: &DevicePath, path: &str, most: usize) -> Result<Vec<u8>, ReadError> {
        let most = most.min(MAX_READ_BYTES - 1);
        within(self.attribute_at(device, path, 0, most + 1)?, most)
    }

    /// At most `length` bytes (and never more than 16 MiB) of an attribute from `offset`; fewer only at its end.
    pub fn attribute_at(
        &self,
        device: &DevicePath,
        path: &str,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, ReadError> {
        let read = self.tree().read(&device.join(path)?, offset, length, Readers::World);
        read.map_err(|error| self.explain(device, error))
    }

    /// The names in one of the device's directories (the empty path is its own), sorted, without those that start with
    /// a dot. Fails with [`ReadError::NotFound`] also where it is a file, [`ReadError::Invalid`] for a path that is not plain or a link.
    pub fn entries(&self, device: &DevicePath, path: &str) -> Result<Vec<String>, ReadError> {
        let path = if path.is_empty() { device.directory().to_owned() } else { device.join(path)? };
        let listed = self.tree().list(&path).map_err(|error| self.explain(device, error))?;
        Ok(shown(listed))
    }

    /// The base name of what one of the device's links points to. Fails with [`ReadError::NotFound`]; [`ReadError::Invalid`] for a path
    /// that is not plain, that is not a link, or where the link has no base name.
    pub fn link(&self, device: &DevicePath, path: &str) -> Result<String, ReadError> {
        let target = self.tree().link(&device.join(path)?).map_err(|error| self.explain(device, error))?;
        let name = base(&target);
        if is_name(name) { Ok(name.to_owned()) } else { Err(ReadError::Invalid("a link without a base name")) }
    }

    /// The value of one line of the device's `uevent`.
    pub(crate) fn uevent(&self, device: &DevicePath, key: &str) -> Result<Option<String>, ReadError> {
        let bytes = self.attribute(device, "uevent", MAX_UEVENT_BYTES)?;
        let text = String::from_utf8_lossy(&bytes);
        let value = |line: &str| Some(line.strip_prefix(key)?.strip_prefix('=')?.to_owned());
        Ok(text.lines().find_map(value))
    }

    /// The device that a link with this text in `directory` points to.
    pub(crate) fn device_at(&self, directory: &str, target: &str) -> Result<DevicePath, ReadError> {
        let path = follow(directory, target).and_then(|path| DevicePath::at(&path)).ok_or(ReadError::NotADevice)?;
        if self.exists(&path) { Ok(path) } else { Err(ReadError::NotADevice) }
    }

    /// Whether a directory is a device: it has a `uevent` and says its subsystem, as udev asks too. Without the second,
    /// roots of buses such as `pci0000:00` would be devices.
    #[must_use]
    pub fn is_device(&self, directory: &str) -> bool {
        let is = |name: &str, kind| self.tree().stat(&format!("{directory}/{name}")) == Ok(kind);
        is("subsystem", Kind::Link) && is("uevent", Kind::File)
    }

    /// Whether something is missing from a device or the device itself.
    fn absent(&self, device: &DevicePath) -> ReadError {
        if self.tree().stat(device.directory()) == Ok(Kind::Directory) { ReadError::NotFound } else { ReadError::Gone }
    }

    /// An error of the tree as one about a device: what is missing from a device that went is no fault of the path.
    pub(crate) fn explain(&self, device: &DevicePath, error: ReadError) -> ReadError {
        match error {
            ReadError::NotFound => self.absent(device),
            // What a file says that was opened before its device went.
            ReadError::Io { ref code, .. } if code == "ENODEV" && self.absent(device) == ReadError::Gone => {
                ReadError::Gone
            }
            error => error,
        }
    }
}

/// The names among entries, sorted, without those that start with a dot.
pub(crate) fn shown(entries: Vec<(String, Kind)>) -> Vec<String> {
    let names = entries.into_iter().map(|(name, _)| name);
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    names
}

/// What was read, if it is no longer than wanted.
pub(crate) fn within(bytes: Vec<u8>, most: usize) -> Result<Vec<u8>, ReadError> {
    if bytes.len() > most { Err(ReadError::TooLarge { most }) } else { Ok(bytes) }
}

/// Where the devices of a subsystem are listed, were it a bus and were it a class.
fn subsystem_directories(subsystem: &str) -> Result<[String; 2], ReadError> {
    if !is_name(subsystem) {
        return Err(ReadError::Invalid("subsystem is not a plain name"));
    }
    Ok([format!("sys/bus/{subsystem}/devices"), format!("sys/class/{subsystem}")])
}

/// The subsystem that a path is, such as `sys/bus/pci`.
fn as_subsystem(path: &str) -> Option<Subsystem> {
    let (name, is_bus) = match path.strip_prefix("sys/bus/") {
        Some(name) => (name, true),
        None => (path.strip_prefix("sys/class/")?, false),
    };
    is_name(name).then(|| Subsystem { name: name.to_owned(), is_bus })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_beneath_another_by_components_not_letters() {
        let at = |location: &str| DevicePath::at(&format!("sys/devices/{location}")).unwrap();
        let bridge = at("pci0000:00/0000:00:01.0");
        assert!(at("pci0000:00/0000:00:01.0/0000:01:00.0").is_beneath(&bridge));
        assert!(!at("pci0000:00/0000:00:01.01").is_beneath(&bridge));
        assert!(!bridge.is_beneath(&bridge));
        assert_eq!((bridge.name(), bridge.location()), ("0000:00:01.0", "pci0000:00/0000:00:01.0"));
        assert_eq!(format!("{bridge:?}"), "DevicePath(\"pci0000:00/0000:00:01.0\")");
    }

    #[test]
    fn nothing_outside_of_sys_devices_is_a_device() {
        for path in ["", "sys", "sys/devices", "sys/devices/", "sys/bus/pci/devices/x", "sys/devicesx/y", "dev/null"] {
            assert_eq!(DevicePath::at(path), None, "{path}");
        }
    }

    #[test]
    fn a_subsystem_is_directly_in_bus_or_class() {
        let of = |path| as_subsystem(path).map(|s| (s.name, s.is_bus));
        assert_eq!(of("sys/bus/pci"), Some(("pci".to_owned(), true)));
        assert_eq!(of("sys/class/drm"), Some(("drm".to_owned(), false)));
        for path in ["sys/bus", "sys/bus/pci/devices", "sys/class/", "sys/module/x", "class/x"] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
