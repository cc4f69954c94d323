//! Device nodes: which one the kernel says belongs to a device, and whether a path still is what it was.

use crate::error::found;
use crate::kernel_log::plain;
use crate::node::Node;
use crate::path::{follow, problem};
use crate::tree::Kind;
use crate::{DevicePath, NodeChanged, ReadError};
use devgate_types::{NodeKind, NodeNumber};

/// A node under `/dev`, with what it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNode {
    /// Absolute, such as `/dev/dri/card0`; never through a link.
    pub path: String,
    /// Type, major and minor.
    pub number: NodeNumber,
}

impl Node {
    /// The node that the kernel says belongs to this very device, if it says one: its `dev` attribute, and the name
    /// that the kernel itself gives the node (`DEVNAME`; not what udev makes of it). Fails with [`ReadError::NotFound`] where the kernel
    /// names a node that is not there, [`ReadError::NodeDiffers`] or [`ReadError::NotANode`] where something else is in its place,
    /// [`ReadError::Gone`] where the device went.
    pub fn own_node(&self, device: &DevicePath) -> Result<Option<DeviceNode>, ReadError> {
        self.own_node_of(device, || self.is_of(device, "block"))
    }

    /// The same for who knows whether the device is one of blocks.
    pub fn own_node_of(
        &self,
        device: &DevicePath,
        is_block: impl FnOnce() -> Result<bool, ReadError>,
    ) -> Result<Option<DeviceNode>, ReadError> {
        let Some(expected) = self.number_by(device, is_block)? else {
            return Ok(None);
        };
        // The kernel writes "/" for the "!" of its own names; a recording may give the name only.
        let name = self.uevent(device, "DEVNAME")?.unwrap_or_else(|| device.name().to_owned()).replace('!', "/");
        if problem(&name).is_some() {
            return Err(ReadError::Invalid("the kernel's name for the node is not a plain path"));
        }
        let path = format!("/dev/{name}");
        let node = self.node_at(&path)?;
        if node.number == expected {
            Ok(Some(node))
        } else {
            Err(ReadError::NodeDiffers { path, expected, found: node.number })
        }
    }

    /// Type, major and minor of the device's node, if it has one.
    pub fn number_of(&self, device: &DevicePath) -> Result<Option<NodeNumber>, ReadError> {
        self.number_by(device, || self.is_of(device, "block"))
    }

    fn number_by(
        &self,
        device: &DevicePath,
        is_block: impl FnOnce() -> Result<bool, ReadError>,
    ) -> Result<Option<NodeNumber>, ReadError> {
        let Some(bytes) = found(self.attribute(device, "dev", 32))? else {
            return Ok(None);
        };
        let kind = match is_block()? {
            true => NodeKind::Block,
            false => NodeKind::Character,
        };
        let numbers = std::str::from_utf8(&bytes).ok().and_then(|text| parse_number(text.trim()));
        let (major, minor) = numbers.ok_or(ReadError::Invalid("the device's dev attribute is not major:minor"))?;
        Ok(Some(NodeNumber { kind, major, minor }))
    }

    /// What is at an absolute path under `/dev` now. No link is followed: `/dev/dri/by-path/...` is not a node. Fails with
    /// [`ReadError::NotFound`], [`ReadError::NotANode`] for anything else than a device node, [`ReadError::Invalid`] for a path that is not
    /// plain, absolute and under `/dev`.
    pub fn node_at(&self, path: &str) -> Result<DeviceNode, ReadError> {
        let relative = path.strip_prefix('/').unwrap_or_default();
        if !relative.starts_with("dev/") {
            return Err(ReadError::Invalid("path must be absolute and under /dev"));
        }
        if let Some(problem) = problem(relative) {
            return Err(ReadError::Invalid(problem));
        }
        match self.tree().stat(relative)? {
            Kind::Node(number) => Ok(DeviceNode { path: path.to_owned(), number }),
            _ => Err(ReadError::NotANode),
        }
    }

    /// Whether a path still is that very node.
    pub fn check_node(&self, node: &DeviceNode) -> Result<(), NodeChanged> {
        match self.node_at(&node.path) {
            Ok(now) if now.number == node.number => Ok(()),
            Ok(now) => Err(NodeChanged::Differs(now.number)),
            // A link on the way leads to no node of this name.
            Err(ReadError::NotANode | ReadError::Invalid(_)) => Err(NodeChanged::NotANode),
            Err(_) => Err(NodeChanged::Missing),
        }
    }

    /// The kernel device that a node of this number belongs to, as `/sys/dev` says.
    #[must_use]
    pub fn owner_of(&self, number: NodeNumber) -> Option<DevicePath> {
        let directory = match number.kind {
            NodeKind::Character => "sys/dev/char",
            NodeKind::Block => "sys/dev/block",
        };
        let target = self.tree().link(&format!("{directory}/{}:{}", number.major, number.minor)).ok()?;
        self.device_at(directory, &target).ok()
    }

    /// The node that a path under `/dev` leads to, through at most eight links, all of them under `/dev`: for paths
    /// that other programs told the kernel (`/dev/mapper/vg-root`), never for what is given away.
    pub(crate) fn node_behind(&self, path: &str) -> Option<NodeNumber> {
        let mut relative = path.strip_prefix('/')?.to_owned();
        for _ in 0..=8 {
            if problem(&relative).is_some() || !relative.starts_with("dev/") {
                return None;
            }
            match self.tree().stat(&relative).ok()? {
                Kind::Node(number) => return Some(number),
                Kind::Link => {
                    let target = self.tree().link(&relative).ok()?;
                    relative = match target.strip_prefix('/') {
                        Some(absolute) => absolute.to_owned(),
                        None => follow(crate::path::above(&relative)?, &target)?,
                    };
                }
                _ => return None,
            }
        }
        None
    }
}

/// `10:229` as numbers.
#[must_use]
pub fn parse_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((plain(major)?, plain(minor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_two_plain_numbers() {
        assert_eq!(parse_number("10:229"), Some((10, 229)));
        for bad in ["", ":", "10", "10:", ":1", "+1:2", "-1:2", "1:2:3", "4294967296:0", "a:b", "1: 2"] {
            assert_eq!(parse_number(bad), None, "{bad}");
        }
    }
}
