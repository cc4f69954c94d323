//! One device's paragraph, and what of the kernel's tree it stands for.

use super::subsystem::automatic_subsystem;
use super::{Problem, attribute, pair, put_node, unknown};
use crate::escapes::unhex;
use crate::world::{Entry, World};
use devgate_node::parse_number;
use devgate_node::path::{base, follow, is_name, problem};
use devgate_types::{NodeKind, NodeNumber, escape};

/// Properties that udev adds and the kernel's `uevent` file does not have.
const NOT_IN_UEVENT: [&str; 6] = ["SUBSYSTEM", "DEVPATH", "DEVLINKS", "TAGS", "CURRENT_TAGS", "USEC_INITIALIZED"];

/// The lines of one device, each with its number.
pub(crate) struct Description {
    line: usize,
    /// Below the node's root.
    path: String,
    node: Option<(usize, String)>,
    properties: Vec<(usize, String, String)>,
    entries: Vec<(usize, String, Entry)>,
}

impl Description {
    /// From the value of a `P:` line.
    pub(crate) fn new(line: usize, path: &str) -> Result<Self, String> {
        let location = path.strip_prefix("/devices/").ok_or("path must start with /devices/")?;
        if let Some(problem) = problem(location) {
            return Err(problem.to_owned());
        }
        let path = format!("sys/devices/{location}");
        Ok(Self { line, path, node: None, properties: Vec::new(), entries: Vec::new() })
    }

    /// Takes one more line.
    pub(crate) fn line(&mut self, line: usize, kind: &str, rest: &str) -> Result<(), String> {
        match kind {
            "N" => {
                // What a process would read from the node is for umockdev; it must still be well-formed.
                let (name, content) = rest.split_once('=').unwrap_or((rest, ""));
                unhex(content)?;
                if let Some(problem) = problem(name) {
                    return Err(problem.to_owned());
                }
                if self.node.is_some() {
                    return Err("a device has at most one N: line".to_owned());
                }
                self.node = Some((line, name.to_owned()));
            }
            // Links that udev makes under /dev: nothing that is given away goes through a link.
            "S" => {}
            "E" => {
                let (key, value) = pair(rest)?;
                if self.property(key).is_some() {
                    return Err(format!("{} is given twice", escape(key, 64)));
                }
                self.properties.push((line, key.to_owned(), value.to_owned()));
            }
            "A" | "H" | "R" | "X" => {
                let (path, entry) = attribute(kind, rest)?;
                match path.as_str() {
                    "uevent" => return Err("uevent is made from the E: lines".to_owned()),
                    "subsystem" => return Err("subsystem is a link".to_owned()),
                    _ => {}
                }
                self.entries.push((line, path, entry));
            }
            "L" => {
                let (path, target) = pair(rest)?;
                if let Some(problem) = problem(path) {
                    return Err(problem.to_owned());
                }
                if path == "uevent" {
                    return Err("uevent is made from the E: lines".to_owned());
                }
                if target.is_empty() || target.contains('\0') {
                    return Err("a link must lead somewhere".to_owned());
                }
                self.entries.push((line, path.to_owned(), Entry::Link(target.to_owned())));
            }
            _ => return Err(unknown(kind)),
        }
        Ok(())
    }

    fn property(&self, key: &str) -> Option<&str> {
        self.properties.iter().find(|(_, name, _)| name == key).map(|(_, _, value)| value.as_str())
    }

    /// Makes what the kernel would show of the device.
    pub(crate) fn put(self, world: &mut World) -> Result<(), Problem> {
        let line = self.line;
        let at = |line| move |text| Problem { line, text };
        let path = self.path.clone();
        if world.get(&format!("{path}/uevent")).is_ok() {
            return Err(at(line)("the device is described twice".to_owned()));
        }
        let subsystem = self.subsystem().map_err(at(line))?;
        let number = self.number(&subsystem).map_err(at(line))?;
        let uevent = Entry::file(self.uevent(number).into_bytes());
        world.put(&path, Entry::Directory).map_err(at(line))?;
        world.put(&format!("{path}/uevent"), uevent).map_err(at(line))?;
        world.put(&format!("{path}/subsystem"), self.to_sys(&subsystem)).map_err(at(line))?;
        if let (Some(driver), true) = (self.property("DRIVER").filter(|name| is_name(name)), is_bus_path(&subsystem)) {
            let link = self.to_sys(&format!("{subsystem}/drivers/{driver}"));
            world.put(&format!("{path}/driver"), link).map_err(at(line))?;
        }
        if let Some(number) = number {
            let text = format!("{}:{}\n", number.major, number.minor);
            world.put(&format!("{path}/dev"), Entry::file(text.into_bytes())).map_err(at(line))?;
        }
        self.list(world, &subsystem, number).map_err(at(line))?;
        if let Some((line, name)) = &self.node {
            let number = number.ok_or("has no number; add E: MAJOR= and E: MINOR=, or A: dev=");
            let number = number.map_err(str::to_owned).map_err(at(*line))?;
            put_node(world, &format!("dev/{name}"), number).map_err(at(*line))?;
        }
        // Last: what is written out wins over what was concluded. Twice is no error, as umockdev-record writes some
        // attributes twice, the second time with what they were a moment later.
        for (line, name, entry) in self.entries {
            world.put(&format!("{path}/{name}"), entry).map_err(at(line))?;
        }
        Ok(())
    }

    /// Below the node's root, such as `sys/bus/pci`.
    fn subsystem(&self) -> Result<String, String> {
        let name = self.property("SUBSYSTEM").ok_or("the description has no E: SUBSYSTEM= line")?;
        if !is_name(name) {
            return Err("SUBSYSTEM is not a plain name".to_owned());
        }
        let link = self.entries.iter().rev().find_map(|(_, path, entry)| match entry {
            Entry::Link(target) if path == "subsystem" => Some(target),
            _ => None,
        });
        if let Some(target) = link {
            let path = follow(&self.path, target).unwrap_or_default();
            let is_subsystem = [format!("sys/bus/{name}"), format!("sys/class/{name}")].contains(&path);
            return if is_subsystem { Ok(path) } else { Err("L: subsystem does not lead to SUBSYSTEM".to_owned()) };
        }
        Ok(automatic_subsystem(name, &self.path))
    }

    fn number(&self, subsystem: &str) -> Result<Option<NodeNumber>, String> {
        let written = self.entries.iter().rev().find_map(|(_, path, entry)| match entry {
            Entry::File { content, .. } if path == "dev" => Some(content),
            _ => None,
        });
        let written = match written {
            Some(content) => {
                let number = std::str::from_utf8(content).ok().and_then(|text| parse_number(text.trim()));
                Some(number.ok_or("A: dev must be major:minor")?)
            }
            None => None,
        };
        let said = match (self.property("MAJOR"), self.property("MINOR")) {
            (Some(major), Some(minor)) => {
                Some(parse_number(&format!("{major}:{minor}")).ok_or("MAJOR and MINOR must be numbers")?)
            }
            (None, None) => None,
            _ => return Err("MAJOR and MINOR must be given together".to_owned()),
        };
        if written.is_some() && said.is_some() && written != said {
            return Err("A: dev differs from MAJOR and MINOR".to_owned());
        }
        let kind = if base(subsystem) == "block" { NodeKind::Block } else { NodeKind::Character };
        Ok(written.or(said).map(|(major, minor)| NodeNumber { kind, major, minor }))
    }

    /// The text of the `uevent` file, with the kernel's name for the node: udev's has `/dev/` in front.
    fn uevent(&self, number: Option<NodeNumber>) -> String {
        let mut text = String::new();
        let mut add = |key: &str, value: &str| {
            text.push_str(&format!("{key}={value}\n"));
        };
        if let Some(number) = number {
            add("MAJOR", &number.major.to_string());
            add("MINOR", &number.minor.to_string());
        }
        let name = self.node.as_ref().map(|(_, name)| name.as_str()).or_else(|| self.property("DEVNAME"));
        if let Some(name) = name {
            add("DEVNAME", name.strip_prefix("/dev/").unwrap_or(name));
        }
        for (_, key, value) in &self.properties {
            if !NOT_IN_UEVENT.contains(&key.as_str()) && !["MAJOR", "MINOR", "DEVNAME"].contains(&key.as_str()) {
                add(key, value);
            }
        }
        text
    }

    /// Lists the device where the kernel lists it: in its subsystem, and by its number.
    fn list(&self, world: &mut World, subsystem: &str, number: Option<NodeNumber>) -> Result<(), String> {
        let below_sys = self.path.strip_prefix("sys/").unwrap_or_default();
        let name = base(&self.path);
        let (listed, up) =
            if is_bus_path(subsystem) { (format!("{subsystem}/devices"), 3) } else { (subsystem.to_owned(), 2) };
        let listed = format!("{listed}/{name}");
        if world.get(&listed).is_ok() {
            return Err(format!("{} has a device {} already", base(subsystem), escape(name, 128)));
        }
        world.put(&listed, Entry::Link(format!("{}{below_sys}", "../".repeat(up))))?;
        let Some(number) = number else { return Ok(()) };
        let kind = if number.kind == NodeKind::Block { "block" } else { "char" };
        let by_number = format!("sys/dev/{kind}/{}:{}", number.major, number.minor);
        if world.get(&by_number).is_ok() {
            return Err(format!("another device has the number {number} already"));
        }
        world.put(&by_number, Entry::Link(format!("../../{below_sys}")))
    }

    /// A link from the device's directory to a path below the node's root that starts with `sys/`.
    fn to_sys(&self, path: &str) -> Entry {
        let up = self.path.split('/').count() - 1;
        Entry::Link(format!("{}{}", "../".repeat(up), path.strip_prefix("sys/").unwrap_or(path)))
    }
}

fn is_bus_path(subsystem: &str) -> bool {
    subsystem.starts_with("sys/bus/")
}
