//! What is outside of the device tree.

use super::{Depth, Recorder};
use crate::world::Entry;
use devgate_node::Users;
use devgate_node::path::{above, base, problem};
use devgate_node::tree::Kind;
use devgate_node::{DevicePath, ReadError};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The largest file, in bytes: four times as many fit into a line.
const MAX_FILE_BYTES: usize = 250 << 10;

impl Recorder<'_> {
    /// Copies a file outside the device tree that everybody may read, with the links that lead to it.
    pub fn file(&mut self, path: &str) {
        let result = self.node.resolve(path).and_then(|resolved| {
            self.links_on(path);
            let content = self.node.file(&resolved, MAX_FILE_BYTES)?;
            Ok((resolved, content))
        });
        match result {
            Ok((resolved, content)) if resolved.starts_with("/sys/devices/") => {
                // It is there as an attribute if its device is.
                drop(content);
                self.leave(resolved.trim_start_matches('/'), "is part of the device tree: name its device");
            }
            Ok((resolved, content)) => self.put(resolved.trim_start_matches('/'), Entry::file(content)),
            Err(error) => self.leave(path.trim_start_matches('/'), error.to_string()),
        }
    }

    /// Copies a node by its path under `/dev`, with the device that it belongs to.
    pub fn node_at(&mut self, path: &str) {
        match self.node.node_at(path) {
            Ok(node) => {
                if let Some(owner) = self.node.owner_of(node.number) {
                    self.device(&owner);
                }
                self.put(path.trim_start_matches('/'), Entry::Node(node.number));
            }
            Err(error) => self.leave(path.trim_start_matches('/'), error.to_string()),
        }
    }

    /// Copies what [`devgate_node::Node::mount_source`] looks at: what is on the path, whose it is and who may write to it, and
    /// which sockets are in it. Nothing that is in a file.
    pub fn mount_source(&mut self, path: &str) {
        let relative = path.trim_start_matches('/').to_owned();
        if problem(&relative).is_some() {
            return;
        }
        let ends = relative.match_indices('/').map(|(end, _)| end).chain([relative.len()]);
        for end in ends {
            let at = relative.get(..end).unwrap_or_default().to_owned();
            if !self.place(&at) {
                return;
            }
        }
        for (name, kind) in self.node.tree().list(&relative).unwrap_or_default() {
            if kind == Kind::Socket {
                self.put(&format!("{relative}/{name}"), Entry::Socket);
            }
        }
    }

    /// One part of such a path. Whether the next one is looked at.
    fn place(&mut self, at: &str) -> bool {
        let tree = self.node.tree();
        let look = match tree.look(at) {
            Ok(look) => look,
            // As it is in the copy.
            Err(ReadError::NotFound) => return false,
            Err(error) => {
                self.leave(at, error.to_string());
                return false;
            }
        };
        let entry = match look.kind {
            Kind::Directory => Entry::Directory,
            Kind::File => Entry::file([]),
            Kind::Link => match tree.link(at) {
                Ok(target) => Entry::Link(target),
                Err(_) => return false,
            },
            Kind::Node(number) => Entry::Node(number),
            Kind::Socket => Entry::Socket,
            Kind::Other => {
                self.leave(at, "is neither a file, directory, link, node nor socket");
                return false;
            }
        };
        if self.world.get(at).is_err() {
            self.put(at, entry);
        }
        let usual = self.world.look(at).is_ok_and(|copied| (copied.uid, copied.mode) == (look.uid, look.mode));
        // Of files and directories it matters who could have put them there.
        if !usual && look.kind != Kind::Link && (look.uid != 0 || look.others_write()) {
            let _ = self.world.set_rights(at, look.uid, look.mode);
        }
        look.kind == Kind::Directory
    }

    /// The links that lead on from a path, each itself.
    fn links_on(&mut self, path: &str) {
        let mut open = vec![path.trim_start_matches('/').to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(path) = open.pop().filter(|_| seen.len() < 64) {
            let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            for end in ends {
                let at = path.get(..end).unwrap_or_default();
                let Ok(target) = self.node.tree().link(at) else {
                    continue;
                };
                if !seen.insert(at.to_owned()) {
                    break;
                }
                if self.world.get(at).is_err() {
                    self.put(at, Entry::Link(target.clone()));
                }
                let rest = path.get(end..).unwrap_or_default();
                let to = match target.strip_prefix('/') {
                    Some(absolute) => Some(absolute.to_owned()),
                    None => devgate_node::path::follow(above(at).unwrap_or_default(), &target),
                };
                open.extend(to.map(|to| format!("{to}{rest}")));
                break;
            }
        }
    }

    fn put(&mut self, path: &str, entry: Entry) {
        match self.world.get(path) {
            Ok(there) if *there == entry => return,
            Ok(Entry::File { .. }) | Err(_) => {}
            Ok(_) => return self.leave(path, "is there already as something else"),
        }
        if let Err(why) = self.world.put(path, entry) {
            self.leave(path, why);
        }
    }

    /// Those that share a device's iommu group, and the kernel's list of them.
    pub(super) fn group_of(&mut self, device: &DevicePath) {
        let Ok(Some((group, members))) = self.node.iommu_group(device) else {
            return;
        };
        for member in members {
            self.want(&member, Depth::Place);
            let mut above = self.node.parent(&member);
            while let Some(at) = above {
                self.want(&at, Depth::Place);
                above = self.node.parent(&at);
            }
            let link = format!("sys/kernel/iommu_groups/{group}/devices/{}", member.name());
            self.put(&link, Entry::Link(format!("../../../../devices/{}", member.location())));
        }
    }

    /// Who uses the wanted disks: mounts, swap and file systems, in the least that says so. The loop devices among them.
    pub(super) fn users(&mut self) -> Vec<DevicePath> {
        let number_of = |device: &DevicePath| self.node.number_of(device).ok().flatten();
        let is_block = |device: &&DevicePath| matches!(self.node.subsystem(device), Ok(Some(of)) if of.name == "block");
        let disks: BTreeMap<_, _> = self
            .wanted
            .keys()
            .filter(is_block)
            .filter_map(|device| Some((number_of(device)?, device.name().to_owned())))
            .collect();
        if disks.is_empty() {
            return Vec::new();
        }
        let users = match Users::of(&self.node) {
            Ok(users) => users,
            Err(error) => {
                self.leave("proc/1/mountinfo", error.to_string());
                return Vec::new();
            }
        };
        let (mut mounts, mut swaps) = (String::new(), "Filename Type Size Used Priority\n".to_owned());
        let mounted: BTreeSet<_> = users.mounted.iter().filter(|(number, _)| disks.contains_key(number)).collect();
        for (number, point) in mounted {
            let point = octal(point);
            let _ = writeln!(mounts, "1 1 {}:{} / {point} rw - none none rw", number.major, number.minor);
        }
        for number in &users.swap {
            if let Some(name) = disks.get(number) {
                let _ = writeln!(swaps, "/dev/{} partition 0 0 0", name.replace('!', "/"));
            }
        }
        if !mounts.is_empty() {
            self.put("proc/1/mountinfo", Entry::file(mounts.into_bytes()));
        }
        if users.swap.iter().any(|number| disks.contains_key(number)) {
            self.put("proc/swaps", Entry::file(swaps.into_bytes()));
        }
        for (file_system, name) in &users.file_systems {
            if disks.values().any(|disk| disk == name) && file_system != "btrfs" {
                self.put(&format!("sys/fs/{file_system}/{}", base(name)), Entry::Directory);
            }
        }
        let looped = users.looped.iter().filter(|(behind, _)| disks.contains_key(behind));
        looped.filter_map(|(_, user)| self.node.device("block", user).ok()).collect()
    }
}

/// A mount's place as `mountinfo` writes it.
fn octal(point: &str) -> String {
    let one = |c: char| match c {
        ' ' | '\t' | '\n' | '\\' => format!("\\{:03o}", u32::from(c)),
        c => c.to_string(),
    };
    point.chars().map(one).collect()
}
