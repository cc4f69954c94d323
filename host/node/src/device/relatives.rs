//! What is above and beneath a device, and what its links lead to.

use super::DevicePath;
use crate::ReadError;
use crate::node::Node;
use crate::path::above;
use crate::tree::Kind;

/// How many directories may lie between a device and the next one beneath it. The kernel puts one (`drm/`, `net/`).
const MAX_GAP: usize = 8;

impl Node {
    /// The device that one of the device's links points to. Fails as [`Self::link`] does; with [`ReadError::NotADevice`] where it points to
    /// something else, or out of `/sys/devices`.
    pub fn related(&self, device: &DevicePath, link: &str) -> Result<DevicePath, ReadError> {
        let path = device.join(link)?;
        let target = self.tree().link(&path).map_err(|error| self.explain(device, error))?;
        self.device_at(above(&path).unwrap_or_default(), &target)
    }

    /// The nearest device above, if there is one.
    #[must_use]
    pub fn parent(&self, device: &DevicePath) -> Option<DevicePath> {
        let mut at = above(device.directory())?;
        loop {
            let path = DevicePath::at(at)?;
            if self.is_device(at) {
                return Some(path);
            }
            at = above(at)?;
        }
    }

    /// The device whose directory a path of `device` is in: `device` itself, or one beneath it. The check of grants for
    /// attributes asks this first, as `0000:3b:00.0/vendor` of a bridge is another function's attribute. Fails with [`ReadError::Invalid`]
    /// where the path is not plain.
    pub fn holder(&self, device: &DevicePath, path: &str) -> Result<DevicePath, ReadError> {
        let full = device.join(path)?;
        let mut at = above(&full).unwrap_or_default();
        while at.len() > device.directory().len() {
            if self.is_device(at) {
                return DevicePath::at(at).ok_or(ReadError::NotADevice);
            }
            at = above(at).unwrap_or_default();
        }
        Ok(device.clone())
    }

    /// The devices directly beneath, sorted by location. Directories in between that are no devices (`drm/`, `net/`)
    /// are walked through. Fails with [`ReadError::Gone`] where the device is not there any more.
    pub fn child_devices(&self, device: &DevicePath) -> Result<Vec<DevicePath>, ReadError> {
        let mut found = Vec::new();
        let mut open = vec![(device.directory().to_owned(), 0)];
        while let Some((directory, gap)) = open.pop() {
            let entries = match self.tree().list(&directory) {
                Ok(entries) => entries,
                // Beneath the device itself, directories come and go, and some are not for everybody.
                Err(_) if gap > 0 => continue,
                Err(error) => return Err(self.explain(device, error)),
            };
            for (name, kind) in entries {
                let path = format!("{directory}/{name}");
                if kind != Kind::Directory {
                    continue;
                }
                match DevicePath::at(&path) {
                    Some(child) if self.is_device(&path) => found.push(child),
                    _ if gap < MAX_GAP => open.push((path, gap + 1)),
                    _ => {}
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}
