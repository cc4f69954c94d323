//! Parts of a node as a recorded node: what is asked for, and what it takes that the copy answers as the node does.

mod device;
mod non_device_files;
mod runtime_pm;
#[cfg(test)]
mod tests;

use super::world::{Entry, World};
use super::{RecordedNode, Unwritten};
use devgate_node::Node;
use devgate_node::tree::Kind;
use devgate_node::{DevicePath, KernelLine, ReadError};
use std::collections::{BTreeMap, BTreeSet};

/// Whether an attribute or file may be read, by its path beneath its device: as [`Recorder::new`] says.
type MayRead<'r> = &'r dyn Fn(&str) -> Result<(), &'static str>;

/// Copies parts of a node.
///
/// Only what everybody may read is read, at most 4 KiB of each attribute, and never what `may_read` refuses. Of a device that
/// sleeps, or one beneath it, only what the kernel itself keeps is read: anything else could wake it.
pub struct Recorder<'r> {
    node: Node,
    may_read: MayRead<'r>,
    world: World,
    wanted: BTreeMap<DevicePath, Depth>,
    unwritten: BTreeSet<Unwritten>,
    to_write: Vec<(DevicePath, String)>,
}

/// How much of a device is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    /// What it is and where: for those that others are seen through.
    Place,
    /// All.
    Whole,
}

/// A copy.
pub struct Recording {
    /// The recorded node.
    pub node: RecordedNode,
    /// How many devices there are as a whole, and how many only for their place.
    pub devices: (usize, usize),
    /// What was asked for, or belongs to it, and is not in the copy, sorted by path.
    pub unwritten: Vec<Unwritten>,
}

impl<'r> Recorder<'r> {
    /// Nothing is copied so far. `may_read` is asked before any attribute is read, and says why not.
    #[must_use]
    pub fn new(node: &Node, may_read: MayRead<'r>) -> Self {
        Self {
            node: node.clone(),
            may_read,
            world: World::new(),
            wanted: BTreeMap::new(),
            unwritten: BTreeSet::new(),
            to_write: Vec::new(),
        }
    }

    /// Copies a device with its node, and of those above it what they are: its place, its NUMA node. With those that share
    /// its iommu group; with the whole disk, for a part of one.
    pub fn device(&mut self, device: &DevicePath) {
        if self.wanted.get(device) == Some(&Depth::Whole) {
            return;
        }
        self.want(device, Depth::Whole);
        let mut above = self.node.parent(device);
        while let Some(at) = above {
            let is_block = |device| matches!(self.node.subsystem(device), Ok(Some(of)) if of.name == "block");
            let both = is_block(&at) && is_block(device);
            self.want(&at, if both { Depth::Whole } else { Depth::Place });
            above = self.node.parent(&at);
        }
        self.group_of(device);
        for disk in self.node.nvme_disks(device).unwrap_or_default() {
            self.device(&disk);
        }
    }

    /// Copies a device and everything beneath it.
    ///
    /// # Errors
    /// As [`Node::child_devices`].
    pub fn tree(&mut self, device: &DevicePath) -> Result<(), ReadError> {
        let mut open = vec![device.clone()];
        while let Some(at) = open.pop() {
            self.device(&at);
            match self.node.child_devices(&at) {
                Ok(children) => open.extend(children),
                // It may go at any time.
                Err(ReadError::Gone) if at != *device => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Copies an attribute that is to be written, without what is in it where only root may read that.
    pub fn writable(&mut self, device: &DevicePath, attribute: &str) {
        self.to_write.push((device.clone(), attribute.to_owned()));
    }

    /// Adds a line of the kernel's log; those of one recording in their order. One that cannot be kept is told.
    pub fn line(&mut self, line: &KernelLine) {
        if let Err(why) = self.world.say(line.micros, &line.text) {
            self.leave("dev/kmsg", why);
        }
    }

    /// The copy.
    #[must_use]
    pub fn finish(mut self) -> Recording {
        let loops = self.users();
        for device in loops {
            self.want(&device, Depth::Whole);
        }
        let wanted = std::mem::take(&mut self.wanted);
        let mut all: Vec<_> =
            wanted.iter().filter_map(|(device, depth)| Some((device, self.lines_of(device, *depth)?))).collect();
        // One that cannot stand beside the others spoils the world.
        let outside = self.world.clone();
        while let Some((index, why)) = all.iter().enumerate().find_map(|(index, (device, lines))| {
            let why = device::make(&mut self.world, device, lines).err()?;
            Some((index, why))
        }) {
            let (device, _) = all.remove(index);
            self.leave(device.directory(), why);
            self.world = outside.clone();
        }
        for (device, attribute) in std::mem::take(&mut self.to_write) {
            let Ok(path) = device.join(&attribute) else { continue };
            let is_file = self.node.tree().stat(&path) == Ok(Kind::File);
            if is_file
                && self.world.get(&format!("{}/uevent", device.directory())).is_ok()
                && self.world.get(&path).is_err()
            {
                let entry = Entry::File { content: [].into(), for_all: false };
                if let Err(why) = self.world.put(&path, entry) {
                    self.leave(&path, why);
                } else {
                    self.unwritten.retain(|left| left.path != format!("/{path}"));
                }
            }
        }
        let whole = wanted.values().filter(|depth| **depth == Depth::Whole).count();
        Recording {
            node: self.world.into(),
            devices: (whole, wanted.len() - whole),
            unwritten: self.unwritten.into_iter().collect(),
        }
    }

    fn want(&mut self, device: &DevicePath, depth: Depth) {
        let there = self.wanted.entry(device.clone()).or_insert(depth);
        *there = depth.max(*there);
    }

    /// Tells what is left out.
    fn leave(&mut self, path: &str, why: impl Into<String>) {
        self.unwritten.insert(Unwritten { path: format!("/{path}"), why: why.into() });
    }
}
