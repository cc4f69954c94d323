//! One device, as its description says it.

use super::runtime_pm::{is_asleep, is_kept};
use super::{Depth, Recorder};
use crate::description::Description;
use crate::errno::errno_in;
use crate::escapes::escape as escaped;
use crate::world::World;
use devgate_node::errno_name;
use devgate_node::tree::Kind;
use devgate_node::{DevicePath, ReadError};
use std::collections::BTreeSet;

/// The largest attribute: the kernel makes them in a page.
const MAX_ATTRIBUTE_BYTES: usize = 4096;
/// How deep a device's own directories go.
const MAX_DEPTH: usize = 8;

/// Kinds and values of lines.
pub(super) type Lines = Vec<(&'static str, String)>;

/// Makes a device from lines that can stand in a description.
pub(super) fn make(world: &mut World, device: &DevicePath, lines: &Lines) -> Result<(), String> {
    let mut description = description(device)?;
    for (kind, rest) in lines {
        description.line(0, kind, rest)?;
    }
    description.put(world).map_err(|problem| problem.text)
}

fn description(device: &DevicePath) -> Result<Description, String> {
    Description::new(0, &format!("/devices/{}", device.location()))
}

impl Recorder<'_> {
    /// The lines of a device that is still there, each of which can stand in a description.
    pub(super) fn lines_of(&mut self, device: &DevicePath, depth: Depth) -> Option<Lines> {
        let directory = device.directory();
        let mut lines = match self.lines(device, depth) {
            Ok(lines) => lines,
            Err(error) => {
                self.leave(directory, error.to_string());
                return None;
            }
        };
        let mut tried = match description(device) {
            Ok(description) => description,
            Err(why) => {
                self.leave(directory, why);
                return None;
            }
        };
        lines.retain(|(kind, rest)| {
            let why = match rest.contains('\n') {
                true => Err("has a line break in its name or target".to_owned()),
                false => tried.line(0, kind, rest),
            };
            let name = rest.split('=').next().unwrap_or_default();
            why.map_err(|why| self.leave(&format!("{directory}/{name}"), why)).is_ok()
        });
        Some(lines)
    }

    fn lines(&mut self, device: &DevicePath, depth: Depth) -> Result<Lines, ReadError> {
        let directory = device.directory();
        let subsystem = self.node.subsystem(device)?.ok_or(ReadError::NotADevice)?;
        let mut lines = vec![("E", format!("SUBSYSTEM={}", subsystem.name))];
        let uevent = self.node.attribute(device, "uevent", 16 << 10)?;
        let uevent = String::from_utf8_lossy(&uevent).into_owned();
        let mut seen = BTreeSet::new();
        for (key, value) in uevent.lines().filter_map(|line| line.split_once('=')) {
            if !seen.insert(key) {
                self.leave(&format!("{directory}/uevent"), format!("says {key} more than once"));
                continue;
            }
            let value = if key == "DEVNAME" { format!("/dev/{value}") } else { value.to_owned() };
            lines.push(("E", format!("{key}={value}")));
        }
        match self.node.own_node(device) {
            Ok(Some(node)) => lines.push(("N", node.path.trim_start_matches("/dev/").to_owned())),
            Ok(None) => {}
            Err(error) => self.leave(&format!("{directory}/dev"), error.to_string()),
        }
        let asleep = is_asleep(&self.node, device);
        if asleep && depth == Depth::Whole {
            self.leave(directory, "sleeps: only what the kernel keeps was read");
        }
        let mut open = vec![(String::new(), 0)];
        while let Some((inside, level)) = open.pop() {
            let path = if inside.is_empty() { directory.to_owned() } else { format!("{directory}/{inside}") };
            let entries = match self.node.tree().list(&path) {
                Ok(entries) => entries,
                Err(error) => {
                    self.leave(&path, error.to_string());
                    continue;
                }
            };
            for (name, kind) in entries {
                let relative = if inside.is_empty() { name } else { format!("{inside}/{name}") };
                match kind {
                    Kind::Directory
                        if depth == Depth::Whole
                            && level < MAX_DEPTH
                            && !self.node.is_device(&format!("{directory}/{relative}")) =>
                    {
                        open.push((relative, level + 1));
                    }
                    Kind::File
                        if relative != "uevent" && (is_kept(&relative) || (depth == Depth::Whole && !asleep)) =>
                    {
                        lines.extend(self.attribute(device, &relative));
                    }
                    Kind::Link
                        if depth == Depth::Whole || ["subsystem", "driver", "iommu_group"].contains(&&*relative) =>
                    {
                        lines.extend(self.link(device, relative));
                    }
                    _ => {}
                }
            }
        }
        Ok(lines)
    }

    fn attribute(&mut self, device: &DevicePath, relative: &str) -> Option<(&'static str, String)> {
        let path = format!("{}/{relative}", device.directory());
        if let Err(why) = (self.may_read)(relative) {
            self.leave(&path, why);
            return None;
        }
        match self.node.attribute(device, relative, MAX_ATTRIBUTE_BYTES) {
            Ok(content) => Some(("A", format!("{relative}={}", escaped(&content)))),
            Err(error) => match errno_in(&error) {
                Some(errno) => Some(("X", format!("{relative}={}", errno_name(errno)))),
                None => {
                    self.leave(&path, error.to_string());
                    None
                }
            },
        }
    }

    fn link(&mut self, device: &DevicePath, relative: String) -> Option<(&'static str, String)> {
        let path = format!("{}/{relative}", device.directory());
        match self.node.tree().link(&path) {
            Ok(target) => Some(("L", format!("{relative}={target}"))),
            Err(error) => {
                self.leave(&path, error.to_string());
                None
            }
        }
    }
}
