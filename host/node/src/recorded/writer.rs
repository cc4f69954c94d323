//! A recorded node as text again: what [`super::description`] reads.

use super::change::node_of;
use super::description::{self, automatic_subsystem};
use super::escapes::escape;
use super::world::{Entries, Entry, World};
use crate::path::{above, base, follow};
use devgate_model::NodeKind;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const DEVICES: &str = "sys/devices/";
/// What is made of other lines.
const MADE: [&str; 3] = ["uevent", "subsystem", "driver"];

/// All of a node: its devices, then what is outside of them, then the log.
pub(super) fn text(world: &World) -> String {
    let mut text = devices(world, "sys/devices");
    let mut concluded = World::new();
    // What was made of descriptions can be described; what could not would be written out as links and nodes below.
    let _ = description::add(&mut concluded, "", &text);
    let outside = |directory: &&String| !directory.starts_with(DEVICES);
    for directory in world.all().keys().filter(outside) {
        others(&mut text, world, directory, |path, entry| {
            concluded.get(path).ok() != Some(entry)
        });
    }
    rights(&mut text, world, "");
    for line in &world.log {
        let _ = writeln!(text, "K: {} {}", line.micros, line.text);
    }
    text
}

/// The descriptions of the devices at and beneath a directory.
pub(super) fn devices(world: &World, top: &str) -> String {
    let is_device = |directory: &str| {
        let entries = world.all().get(directory);
        entries.is_some_and(|entries| {
            matches!(entries.get("uevent"), Some(Entry::File { .. }))
                && matches!(entries.get("subsystem"), Some(Entry::Link(_)))
        })
    };
    // Each directory belongs to the device whose directory it is or is in.
    let mut owned: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for directory in world.directories_at(top) {
        let mut owner = directory.as_str();
        while !is_device(owner) {
            match above(owner) {
                Some(parent) if owner != top => owner = parent,
                _ => break,
            }
        }
        if is_device(owner) {
            owned.entry(owner.to_owned()).or_default().push(directory);
        }
    }
    let mut text = String::new();
    for (device, directories) in owned {
        describe(&mut text, world, &device, &directories);
        text.push('\n');
    }
    text
}

fn describe(text: &mut String, world: &World, device: &str, directories: &[String]) {
    let entries = |directory: &str| world.all().get(directory).into_iter().flatten();
    let own: BTreeMap<&String, &Entry> = entries(device).collect();
    let own = |name: &str| own.get(&name.to_owned()).copied();
    let leads = |name: &str| match own(name) {
        Some(Entry::Link(target)) => follow(device, target),
        _ => None,
    };
    let subsystem = leads("subsystem").unwrap_or_default();
    let automatic = automatic_subsystem(base(&subsystem));
    let mut add = |kind: &str, line: &str| {
        let _ = writeln!(text, "{kind}: {line}");
    };
    add("P", &format!("/{}", device.strip_prefix("sys/").unwrap_or(device)));
    let uevent = match own("uevent") {
        Some(Entry::File { content, .. }) => String::from_utf8_lossy(content).into_owned(),
        _ => String::new(),
    };
    let says = |key: &str| uevent.lines().any(|line| line.starts_with(key));
    let node = node_of(world, device)
        .filter(|(path, number)| says("DEVNAME=") && world.get(path) == Ok(&Entry::Node(*number)));
    if let Some((path, _)) = &node {
        add("N", path.strip_prefix("dev/").unwrap_or(path));
    }
    add("E", &format!("SUBSYSTEM={}", base(&subsystem)));
    let driver = leads("driver");
    let on_bus = subsystem.starts_with("sys/bus/");
    let mut bound_to = None;
    for line in uevent.lines() {
        match line.split_once('=') {
            Some(("DEVNAME", _)) if node.is_some() => {}
            Some(("DEVNAME", name)) => add("E", &format!("DEVNAME=/dev/{name}")),
            // The kernel says it of a bound device only.
            Some(("DRIVER", _)) if on_bus && driver.is_none() => {}
            Some(("DRIVER", name)) => {
                bound_to = on_bus.then(|| format!("{subsystem}/drivers/{name}"));
                add("E", line);
            }
            _ => add("E", line),
        }
    }
    let link = |name: &str| match own(name) {
        Some(Entry::Link(target)) => Some(format!("{name}={target}")),
        _ => None,
    };
    if subsystem != automatic {
        link("subsystem").iter().for_each(|line| add("L", line));
    }
    if driver != bound_to {
        link("driver").iter().for_each(|line| add("L", line));
    }
    for directory in directories {
        let prefix = directory
            .strip_prefix(device)
            .unwrap_or_default()
            .trim_start_matches('/');
        for (name, entry) in entries(directory) {
            let path = if prefix.is_empty() {
                name.clone()
            } else {
                format!("{prefix}/{name}")
            };
            match entry {
                // What the number says.
                Entry::File { .. } if path == "dev" && says("MAJOR=") => {}
                Entry::File { content, for_all } if !MADE.contains(&path.as_str()) => {
                    add(if *for_all { "A" } else { "R" }, &format!("{path}={}", escape(content)));
                }
                Entry::Link(target) if !MADE.contains(&path.as_str()) => add("L", &format!("{path}={target}")),
                _ => {}
            }
        }
    }
}

/// What is in a directory outside the device tree and `wanted`.
pub(super) fn others(text: &mut String, world: &World, directory: &str, wanted: impl Fn(&str, &Entry) -> bool) {
    for (name, entry) in world.all().get(directory).into_iter().flatten() {
        let path = if directory.is_empty() {
            name.clone()
        } else {
            format!("{directory}/{name}")
        };
        if !wanted(&path, entry) {
            continue;
        }
        let _ = match entry {
            Entry::File { content, .. } => writeln!(text, "F: /{path}={}", escape(content)),
            Entry::Node(number) => {
                let kind = if number.kind == NodeKind::Block { "b" } else { "c" };
                writeln!(text, "D: /{path}={kind} {}:{}", number.major, number.minor)
            }
            Entry::Link(target) => writeln!(text, "I: /{path}=l {target}"),
            Entry::Socket => writeln!(text, "I: /{path}=s"),
            // One with something in it is made on the way.
            Entry::Directory if world.all().get(&path).is_some_and(Entries::is_empty) => writeln!(text, "I: /{path}=d"),
            Entry::Directory => Ok(()),
        };
    }
}

/// Owner and mode of what is at and beneath a path, where they are not the usual ones.
pub(super) fn rights(text: &mut String, world: &World, top: &str) {
    let beneath = format!("{top}/");
    let wanted = |path: &&String| top.is_empty() || *path == top || path.starts_with(&beneath);
    let paths: BTreeSet<&String> = world.rights().keys().filter(wanted).collect();
    for path in paths {
        if let Some((uid, mode)) = world.rights().get(path) {
            let _ = writeln!(text, "O: /{path}={uid} {mode:04o}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Change;
    use crate::recorded::undo;

    const SMALL: &str = "P: /devices/pci0000:00/0000:00:02.0
E: SUBSYSTEM=pci
E: DRIVER=acme
E: PCI_ID=1234:5678
A: vendor=0x1234\\n
H: config=00ff0a
R: serial=secret\\\\n
A: power/control=on
L: iommu_group=../../../kernel/iommu_groups/7

P: /devices/pci0000:00/0000:00:02.0/acme/acme0
N: acme/0
E: SUBSYSTEM=acme
E: MAJOR=240
E: MINOR=0
A: state=ok

P: /devices/pci0000:00/0000:00:03.0
E: SUBSYSTEM=pci
L: peer=../0000:00:02.0

P: /devices/soft/nvme-subsys0
E: SUBSYSTEM=nvme
L: subsystem=../../../class/nvme

P: /devices/virtual/block/disk0
E: SUBSYSTEM=block
E: DEVNAME=/dev/disk0
E: MAJOR=259
E: MINOR=1

F: /proc/driver/acme/version=1.2\\n\\303\\244
F: /proc/swaps=none
D: /dev/acmectl=c 195:255
D: /dev/disk0=b 259:1
I: /opt/acme/lib.so=l lib.so.1
I: /opt/acme/empty=d
I: /run/acme.sock=s
I: /sys/kernel/iommu_groups/7/devices/0000:00:02.0=l ../../../../devices/pci0000:00/0000:00:02.0
O: /opt/acme=1000 0775
K: 5140900 acme: hello
";

    fn read(text: &str) -> World {
        let mut world = World::new();
        description::add(&mut world, "test", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        world
    }

    #[track_caller]
    fn same(one: &World, other: &World) {
        assert_eq!(one.all(), other.all());
        assert_eq!(one.rights(), other.rights());
        assert_eq!(one.log, other.log);
    }

    #[test]
    fn what_is_written_is_read_as_the_same_node() {
        let hgx = include_str!("../../../../tests/nodes/hgx-h100.umockdev");
        for recording in [SMALL, hgx] {
            let world = read(recording);
            let written = text(&world);
            same(&world, &read(&written));
            assert_eq!(text(&read(&written)), written);
        }
    }

    #[test]
    fn changes_are_written_too() {
        let mut world = read(SMALL);
        let location = || "pci0000:00/0000:00:02.0".to_owned();
        let changes = [
            Change::SetAttribute {
                location: location(),
                path: "state".to_owned(),
                value: b"a\n\xff".to_vec(),
            },
            Change::RemoveAttribute {
                location: location(),
                path: "power".to_owned(),
            },
            Change::RemoveAttribute {
                location: location(),
                path: "driver".to_owned(),
            },
            Change::RemoveNode("/dev/acme/0".to_owned()),
            Change::SetLink {
                location: location(),
                path: "twin".to_owned(),
                target: "../0000:00:03.0".to_owned(),
            },
            Change::RemoveFile("/proc/driver/acme/version".to_owned()),
            Change::Say {
                micros: 5_140_901,
                text: "acme: bye".to_owned(),
            },
        ];
        for change in changes {
            crate::recorded::change::apply(&mut world, change).unwrap();
        }
        let again = read(&text(&world));
        for path in ["state", "serial", "twin", "driver", "power", "acme/acme0/dev"] {
            let path = format!("sys/devices/pci0000:00/0000:00:02.0/{path}");
            assert_eq!(again.get(&path), world.get(&path), "{path}");
        }
        assert_eq!(again.get("dev/acme/0").ok(), None);
        assert_eq!(again.get("proc/driver/acme/version").ok(), None);
        assert_eq!(again.log, world.log);
    }

    #[test]
    fn what_is_removed_comes_back_as_it_was() {
        let hgx = include_str!("../../../../tests/nodes/hgx-h100.umockdev");
        for (recording, location) in [
            (SMALL, "pci0000:00/0000:00:02.0"),
            (SMALL, "virtual/block/disk0"),
            (hgx, "pci0000:15/0000:15:01.0"),
        ] {
            let before = read(recording);
            let mut world = before.clone();
            let undo = undo::removal(&world, location).unwrap();
            crate::recorded::change::apply(&mut world, Change::RemoveDevice(location.to_owned())).unwrap();
            assert!(world.get(&format!("sys/devices/{location}")).is_err());
            for change in undo {
                crate::recorded::change::apply(&mut world, change).unwrap();
            }
            same(&world, &before);
        }
    }
}
