//! Whether a block device is in use by the node itself, and so must never be given to a container.

mod nvme;

use crate::error::found;
use crate::node::Node;
use crate::nodes::parse_number;
use crate::tree::{Kind, Readers};
use crate::{DevicePath, ReadError};
use devgate_types::{NodeKind, NodeNumber, escape};
use std::collections::BTreeSet;

/// The most characters of a mount point or file name in a reason.
const SHOWN: usize = 128;

impl Node {
    /// Why a block device must not be given away, if so: it, one of its partitions or the disk that it is a partition
    /// of is mounted, used as swap, held by another device (dm, md, bcache), attached to a loop device, or is a loop
    /// device with a file. The text is for people, and escaped.
    ///
    /// Mounts are those that `/proc` under the root shows, and those that ext4, xfs, f2fs, erofs and btrfs show under
    /// `/sys/fs` wherever they are mounted. What no kernel file shows is not seen: members of a ZFS pool. Fails with
    /// [`ReadError::NotFound`] where no block device has this number; others where it cannot be told, which is no reason to give the device
    /// away.
    pub fn block_in_use(&self, number: NodeNumber) -> Result<Option<String>, ReadError> {
        let device = self.block_device(number)?;
        let users = Users::of(self)?;
        if let Some(reason) = users.reason(self, &device)? {
            return Ok(Some(reason));
        }
        // A disk is in use when a part of it is, and a part when the whole disk is; two parts are apart.
        let is_block = |device: &DevicePath| self.is_of(device, "block").is_ok_and(|is| is);
        let related = if self.devtype(&device).as_deref() == Some("partition") {
            self.parent(&device).into_iter().collect()
        } else {
            self.child_devices(&device)?
        };
        for other in related.into_iter().filter(is_block) {
            match users.reason(self, &other) {
                Ok(Some(reason)) => return Ok(Some(reason)),
                // A partition can go at any time.
                Ok(None) | Err(ReadError::Gone) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn block_device(&self, number: NodeNumber) -> Result<DevicePath, ReadError> {
        if number.kind != NodeKind::Block {
            return Err(ReadError::NotFound);
        }
        if let Some(device) = self.owner_of(number) {
            return Ok(device);
        }
        // A container of the host may see /sys/class and not /sys/dev.
        let has_number = |device: &DevicePath| self.number_of(device).is_ok_and(|found| found == Some(number));
        self.devices("block")?.into_iter().find(has_number).ok_or(ReadError::NotFound)
    }
}

/// Who uses block devices, read once for one question.
pub struct Users {
    /// Number and mount point.
    pub mounted: Vec<(NodeNumber, String)>,
    /// What is swapped to.
    pub swap: BTreeSet<NodeNumber>,
    /// Names of devices that a file system is on, as file systems show them in sysfs, with the file system's name.
    pub file_systems: Vec<(String, String)>,
    /// Number of the device behind a loop device, and the loop device's name.
    pub looped: Vec<(NodeNumber, String)>,
}

impl Users {
    /// As the kernel says now. Fails where `/proc/1/mountinfo` or another list of the kernel cannot be read.
    pub fn of(node: &Node) -> Result<Self, ReadError> {
        Ok(Self { mounted: mounted(node)?, swap: swap(node)?, file_systems: file_systems(node), looped: looped(node)? })
    }

    /// Why this one device, without its partitions, is in use.
    fn reason(&self, node: &Node, device: &DevicePath) -> Result<Option<String>, ReadError> {
        let name = escape(device.name(), SHOWN);
        let number = node.number_of(device)?;
        if let Some((_, point)) = self.mounted.iter().find(|(mounted, _)| Some(*mounted) == number) {
            return Ok(Some(format!("{name} is mounted on {}", escape(point, SHOWN))));
        }
        if number.is_some_and(|number| self.swap.contains(&number)) {
            return Ok(Some(format!("{name} is used as swap")));
        }
        // File systems write "!" for the "/" of names such as cciss/c0d0, as sysfs itself does.
        if let Some((file_system, _)) = self.file_systems.iter().find(|(_, on)| on == device.name()) {
            return Ok(Some(format!("{name} is mounted as {file_system}")));
        }
        if let Some((_, user)) = self.looped.iter().find(|(behind, _)| Some(*behind) == number) {
            return Ok(Some(format!("{name} is attached to {}", escape(user, SHOWN))));
        }
        if let Some(holder) = found(node.entries(device, "holders"))?.and_then(|holders| holders.into_iter().next()) {
            return Ok(Some(format!("{name} is held by {}", escape(&holder, SHOWN))));
        }
        Ok(backing_file(node, device)?.map(|file| format!("{name} is a loop device of {}", escape(&file, SHOWN))))
    }
}

/// Mounted block devices, as the first process and this one see them.
///
/// The first process is the node's own where the node's `/proc` is mounted. Own mounts are added because a container
/// that sees only its own `/proc` still sees the node's file systems that were mounted into it.
fn mounted(node: &Node) -> Result<Vec<(NodeNumber, String)>, ReadError> {
    let own = node.tree().link("proc/self").unwrap_or_default();
    let mut found = Vec::new();
    let mut answered = false;
    for process in ["1", own.as_str()].into_iter().filter(|process| !process.is_empty()) {
        let Ok(bytes) = proc_file(node, &format!("proc/{process}/mountinfo")) else {
            continue;
        };
        answered = true;
        found.extend(bytes.split(|byte| *byte == b'\n').flat_map(|line| mount_of(node, line)));
    }
    if answered { Ok(found) } else { Err(ReadError::Denied("the node's mounts cannot be read")) }
}

/// The block devices that one line of `mountinfo` names, by number and, for file systems with numbers of their own
/// (btrfs), by source. The format is that of `proc_pid_mountinfo(5)`.
fn mount_of(node: &Node, line: &[u8]) -> Vec<(NodeNumber, String)> {
    let line = String::from_utf8_lossy(line);
    let fields: Vec<&str> = line.split(' ').collect();
    let (Some(number), Some(point)) = (fields.get(2).and_then(|n| parse_number(n)), fields.get(4)) else {
        return Vec::new();
    };
    let source = fields.iter().position(|field| *field == "-").and_then(|dash| fields.get(dash + 2));
    let (major, minor) = number;
    let by_number = NodeNumber { kind: NodeKind::Block, major, minor };
    let by_source = source.and_then(|source| node.node_behind(&unescape(source)));
    // Major 0 is no device: the kernel's own number for a file system without one.
    let numbers = (major != 0).then_some(by_number).into_iter().chain(by_source);
    numbers.filter(|number| number.kind == NodeKind::Block).map(|number| (number, unescape(point))).collect()
}

/// Devices that are swapped to. `/proc/swaps` is the same in every container.
fn swap(node: &Node) -> Result<BTreeSet<NodeNumber>, ReadError> {
    // A kernel without swap has no such file.
    let bytes = found(proc_file(node, "proc/swaps"))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut swapped = BTreeSet::new();
    for path in text.lines().skip(1).filter_map(|line| line.split_whitespace().next()) {
        let path = unescape(path);
        swapped.extend(node.node_behind(&path));
        // The path is as swapon's caller saw it; the kernel's own name may be all that still leads there.
        if let Some(name) = path.strip_prefix("/dev/") {
            let device = node.device("block", &name.replace('/', "!"));
            swapped.extend(device.ok().and_then(|device| node.number_of(&device).ok()?));
        }
    }
    Ok(swapped)
}

/// File systems that name the devices that they are on in sysfs, which no mount namespace hides.
fn file_systems(node: &Node) -> Vec<(String, String)> {
    let names = |path: &str| node.tree().list(path).unwrap_or_default().into_iter();
    let directory = |(name, kind): (String, Kind)| (kind == Kind::Directory).then_some(name);
    let mut found = Vec::new();
    for file_system in ["ext4", "xfs", "f2fs", "erofs"] {
        let on = names(&format!("sys/fs/{file_system}")).filter_map(directory);
        found.extend(on.map(|device| (file_system.to_owned(), device)));
    }
    for volume in names("sys/fs/btrfs").filter_map(directory) {
        let on = names(&format!("sys/fs/btrfs/{volume}/devices"));
        found.extend(on.map(|(device, _)| ("btrfs".to_owned(), device)));
    }
    found
}

/// Block devices that a loop device stands for.
fn looped(node: &Node) -> Result<Vec<(NodeNumber, String)>, ReadError> {
    let mut found = Vec::new();
    for device in node.devices("block")?.into_iter().filter(|device| device.name().starts_with("loop")) {
        if let Some(behind) = backing_file(node, &device)?.and_then(|file| node.node_behind(&file)) {
            found.push((behind, device.name().to_owned()));
        }
    }
    Ok(found)
}

/// The file of a loop device that has one.
fn backing_file(node: &Node, device: &DevicePath) -> Result<Option<String>, ReadError> {
    match node.attribute(device, "loop/backing_file", 4096) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())),
        // Detached between being listed and read, it is no loop device of anything either.
        Err(ReadError::NotFound | ReadError::Gone) => Ok(None),
        Err(error) => Err(error),
    }
}

fn proc_file(node: &Node, path: &str) -> Result<Vec<u8>, ReadError> {
    node.tree().read(path, 0, crate::tree::MAX_READ_BYTES, Readers::World)
}

/// `\040` and the like as `/proc` writes what would break its columns.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proc_escapes_is_unescaped() {
        assert_eq!(unescape("/mnt/a\\040b\\134"), "/mnt/a b\\");
        assert_eq!(unescape("\\04"), "\\04");
        assert_eq!(unescape("\\999\\é"), "\\999\\é");
    }
}
