//! What happens to a recorded node in a script or a test: what the kernel would show afterwards.

use super::world::{Entry, World};
use super::{description, diff_events};
use crate::RecordingError;
use devgate_node::DeviceAction;
use devgate_node::parse_number;
use devgate_node::path::{base, follow, problem};
use devgate_types::{NodeKind, NodeNumber};

/// One change to a recorded node. Locations are those of [`devgate_node::DevicePath::location`], paths under `/dev` and of
/// files are absolute, paths of attributes are relative to their device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Adds what a text describes. Each device is a paragraph of lines, ended by an empty one:
    ///
    /// - `P: /devices/pci0000:00/0000:00:02.0`: where it is; always first.
    /// - `E: KEY=value`: a property; `SUBSYSTEM` is required, `DRIVER`, `MAJOR` and `MINOR` have the kernel's meaning.
    /// - `N: dri/card0`: its node, below `/dev`; a block device if its subsystem is `block`. Content after `=` is
    ///   ignored.
    /// - `A: path=text`: an attribute, with C escapes; `H: path=0aff`: one in hexadecimal.
    /// - `L: path=../../..`: a link.
    /// - `S:` lines and lines that start with `#` are ignored.
    ///
    /// So far this is umockdev's description (but for `#`), as `umockdev-record` writes it. Further lines say what
    /// that has no word for; all but the first stand anywhere. umockdev refuses a text that has any, but takes any
    /// property: in a device's paragraph, `E: DEVGATE=F: /proc/version=text` is such a line, and `E: DEVGATE=# text` a
    /// comment. Lines of a paragraph that are not about its device count once the device is there.
    ///
    ///
    /// - `R: path=text`: an attribute that only root may read.
    /// - `X: path=EBUSY`: one that the kernel does not let be read, and its error: a name of `errno(3)`, or `E` and its number.
    /// - `F: /proc/driver/acme/version=text`: a file outside the device tree, with C escapes.
    /// - `D: /dev/acme0=c 195:0`: a node that belongs to no device.
    /// - `I: /opt/vendor=d`: a directory outside the device tree; `I: /opt/vendor/lib.so=l lib.so.1`: a link;
    ///   `I: /run/vendor.sock=s`: a socket.
    /// - `K: 5140900 ACME: Fault (PCI:0000:05:00): 79`: a line of the kernel's log, and its time in microseconds since the start.
    /// - `T: 5141`: the clock is at this many milliseconds since the start, or past them. It goes on from there, and from the log's
    ///   last line.
    /// - `O: /opt/vendor=1000 0775`: owner and mode of what an earlier line put there. Files are root's with 0644,
    ///   directories root's with 0755 where no such line says otherwise.
    /// - `U: /devices/pci0000:00/0000:00:02.0=WEDGED=rebind`: what a driver has announced of its device, see [`Self::Announce`], with
    ///   its words, parted by `\n`, or none; of no consequence but for who hears of one more such line.
    AddDevices(String),
    /// Removes a device with all devices beneath it, their nodes, and the links to them.
    RemoveDevice(String),
    /// Adds a node, or makes the one there another.
    AddNode {
        /// Absolute.
        path: String,
        /// What it is.
        number: NodeNumber,
    },
    /// Removes a node.
    RemoveNode(String),
    /// Sets an attribute that everybody may read, or adds one.
    SetAttribute {
        /// The device's location.
        location: String,
        /// The attribute's path.
        path: String,
        /// All of it.
        value: Vec<u8>,
    },
    /// Lets an attribute not be read, or adds one that cannot be, until it is set or written.
    FailAttribute {
        /// The device's location.
        location: String,
        /// The attribute's path.
        path: String,
        /// The kernel's error, as an `X:` line has it.
        error: String,
    },
    /// Removes an attribute, a link, or a directory of either.
    RemoveAttribute {
        /// The device's location.
        location: String,
        /// The attribute's path.
        path: String,
    },
    /// Sets a link of a device, or adds one.
    SetLink {
        /// The device's location.
        location: String,
        /// The link's path.
        path: String,
        /// Where it leads, as the link says it.
        target: String,
    },
    /// Sets a file outside the device tree, or adds one.
    SetFile {
        /// Absolute.
        path: String,
        /// All of it.
        value: Vec<u8>,
    },
    /// Removes a file outside the device tree.
    RemoveFile(String),
    /// Lets a device's driver say that something has changed, as a disk's does about its size, and a GPU's that is wedged.
    /// Nothing else is changed: the kernel says nothing when an attribute has another value.
    Announce(String),
    /// The same in words: what the uevent says besides what each says.
    AnnounceWords {
        /// The device's location.
        location: String,
        /// Such as `WEDGED=rebind`, one a line.
        words: String,
    },
    /// Lets the clock be at least at this many milliseconds since the start.
    Clock(u64),
    /// Adds a line to the kernel's log.
    Say {
        /// When, in microseconds since the start; not before the line before it.
        micros: u64,
        /// Printable ASCII, any other byte and any backslash as `\x0a`.
        text: String,
    },
}

/// Applies a change to a world, which is no good any more after an error.
pub(super) fn apply(world: &mut World, change: Change) -> Result<(), RecordingError> {
    let (what, result) = match change {
        Change::AddDevices(text) => return description::add(world, "of a change", &text),
        Change::RemoveDevice(location) => {
            let result = device(world, &location).map(|path| remove_device(world, &path));
            (location, result)
        }
        Change::AddNode { path, number } => {
            let result = beneath_dev(&path).and_then(|path| world.put(path, Entry::Node(number)));
            (path, result)
        }
        Change::RemoveNode(path) => {
            let result = beneath_dev(&path).and_then(|path| remove(world, path));
            (path, result)
        }
        Change::SetAttribute { location, path, value } => {
            let result = beneath_device(world, &location, &path).and_then(|path| world.put(&path, Entry::file(value)));
            (location, result)
        }
        Change::FailAttribute { location, path, error } => {
            let entry = description::failing(&error);
            let result = beneath_device(world, &location, &path).and_then(|path| world.put(&path, entry?));
            (location, result)
        }
        Change::RemoveAttribute { location, path } => {
            let result = beneath_device(world, &location, &path).and_then(|path| remove(world, &path));
            (location, result)
        }
        Change::SetLink { location, path, target } => {
            let result = beneath_device(world, &location, &path).and_then(|path| world.put(&path, Entry::Link(target)));
            (location, result)
        }
        Change::SetFile { path, value } => {
            let result = outside(&path).and_then(|path| description::put_file(world, path, value));
            (path, result)
        }
        Change::RemoveFile(path) => {
            let result = outside(&path).and_then(|path| remove(world, path));
            (path, result)
        }
        Change::Announce(location) => {
            let result = announce(world, &location, "");
            (location, result)
        }
        Change::AnnounceWords { location, words } => {
            let result = announce(world, &location, &words);
            (location, result)
        }
        Change::Clock(millis) => {
            world.time = world.time.max(millis);
            (String::new(), Ok(()))
        }
        Change::Say { micros, text } => {
            let result = world.say(micros, &text);
            (text, result)
        }
    };
    result.map_err(|problem| RecordingError::Change { what, problem })
}

fn announce(world: &mut World, location: &str, words: &str) -> Result<(), String> {
    let path = device(world, location)?;
    match diff_events::event(world, &path, DeviceAction::Change) {
        Some(_) => world.announce(location, words),
        None => Err("is part of no subsystem".to_owned()),
    }
}

fn remove(world: &mut World, path: &str) -> Result<(), String> {
    if world.remove(path) { Ok(()) } else { Err("is not there".to_owned()) }
}

/// The directory of a device that is there.
pub(super) fn device(world: &World, location: &str) -> Result<String, String> {
    let path = format!("sys/devices/{location}");
    match problem(location) {
        Some(problem) => Err(problem.to_owned()),
        None if world.get(&format!("{path}/uevent")).is_ok() => Ok(path),
        None => Err("no such device".to_owned()),
    }
}

fn beneath_device(world: &World, location: &str, path: &str) -> Result<String, String> {
    let directory = device(world, location)?;
    match problem(path) {
        Some(problem) => Err(problem.to_owned()),
        None => Ok(format!("{directory}/{path}")),
    }
}

fn beneath_dev(path: &str) -> Result<&str, String> {
    let relative = path.strip_prefix('/').filter(|path| path.starts_with("dev/"));
    relative.ok_or_else(|| "path must be absolute and under /dev".to_owned())
}

fn outside(path: &str) -> Result<&str, String> {
    let relative = path.strip_prefix('/').ok_or("path must be absolute")?;
    match problem(relative) {
        Some(problem) => Err(problem.to_owned()),
        None if relative.starts_with("sys/devices/") || relative.starts_with("dev/") => {
            Err("path must be outside of /sys/devices and /dev".to_owned())
        }
        None => Ok(relative),
    }
}

/// What the kernel does when a device goes: its directory, every link to it, and with devtmpfs its node.
fn remove_device(world: &mut World, path: &str) {
    for directory in world.directories_at(path) {
        if let Some((node, number)) = node_of(world, &directory)
            && world.get(&node) == Ok(&Entry::Node(number))
        {
            world.remove(&node);
        }
    }
    world.remove(path);
    world.remove_links_to("sys", path);
}

/// Path and number of the node of the device in a directory.
pub(super) fn node_of(world: &World, directory: &str) -> Option<(String, NodeNumber)> {
    let text = |name: &str| match world.get(&format!("{directory}/{name}")) {
        Ok(Entry::File { content, .. }) => std::str::from_utf8(content).ok(),
        _ => None,
    };
    let (major, minor) = parse_number(text("dev")?.trim())?;
    let name = text("uevent")?.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    let name = name.unwrap_or(base(directory)).replace('!', "/");
    let subsystem = match world.get(&format!("{directory}/subsystem")) {
        Ok(Entry::Link(target)) => follow(directory, target)?,
        _ => return None,
    };
    let kind = if subsystem == "sys/class/block" { NodeKind::Block } else { NodeKind::Character };
    Some((format!("dev/{name}"), NodeNumber { kind, major, minor }))
}
