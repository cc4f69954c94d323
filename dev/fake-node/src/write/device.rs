//! The paragraphs of the devices.

use super::{DEVICES, EQUALS, Unwritten, fits, join};
use crate::change::node_of;
use crate::description::{Description, HIDDEN, automatic_subsystem};
use crate::escapes::{escape as escaped, hex};
use crate::world::{Entry, World};
use devgate_node::errno_name;
use devgate_node::path::{above, base, follow, is_name};
use std::collections::BTreeSet;

/// A paragraph for each device at or beneath a directory, and the world that they make together.
pub(super) fn paragraphs(world: &World, top: &str, unwritten: &mut Vec<Unwritten>) -> (Vec<String>, World) {
    let devices = devices(world);
    let beneath = format!("{top}/");
    let wanted = |path: &&&str| **path == top || path.starts_with(&beneath);
    let mut all: Vec<(&str, Vec<String>)> = devices
        .iter()
        .filter(wanted)
        .filter_map(|path| Some((*path, lines(world, &devices, path, unwritten)?)))
        .collect();
    loop {
        let mut made = World::new();
        let bad = all.iter().enumerate().find_map(|(index, (_, lines))| {
            let why = make(&mut made, lines).err()?;
            Some((index, why))
        });
        let Some((index, why)) = bad else {
            let text = |(_, lines): &(&str, Vec<String>)| lines.iter().map(|line| format!("{line}\n")).collect();
            return (all.iter().map(text).collect(), made);
        };
        // One that cannot stand beside the others; the world is no good any more.
        let (path, _) = all.remove(index);
        unwritten.push(Unwritten::new(path, why));
    }
}

/// The directories of all devices that their subsystem lists.
fn devices(world: &World) -> BTreeSet<&str> {
    let beneath = world.paths().filter(|path| path.starts_with(DEVICES));
    beneath.filter(|path| is_listed(world, path)).collect()
}

fn is_listed(world: &World, path: &str) -> bool {
    let Some(subsystem) = subsystem(world, path) else {
        return false;
    };
    let listed = if subsystem.starts_with("sys/bus/") { format!("{subsystem}/devices") } else { subsystem };
    let uevent = world.get(&format!("{path}/uevent"));
    let link = world.get(&format!("{listed}/{}", base(path)));
    let leads_here = |target: &str| follow(&listed, target).as_deref() == Some(path);
    matches!(uevent, Ok(Entry::File { .. })) && matches!(link, Ok(Entry::Link(target)) if leads_here(target))
}

/// The directory of the bus or class that a device says it is of.
fn subsystem(world: &World, path: &str) -> Option<String> {
    let Ok(Entry::Link(target)) = world.get(&format!("{path}/subsystem")) else {
        return None;
    };
    let subsystem = follow(path, target)?;
    let name = subsystem.strip_prefix("sys/bus/").or_else(|| subsystem.strip_prefix("sys/class/"))?;
    (!name.contains('/')).then_some(subsystem)
}

/// A device's lines, without those that cannot be written.
fn lines(world: &World, devices: &BTreeSet<&str>, path: &str, unwritten: &mut Vec<Unwritten>) -> Option<Vec<String>> {
    let place = format!("P: /{}", path.strip_prefix("sys/")?);
    if !fits(path, &place, unwritten) {
        return None;
    }
    let subsystem = subsystem(world, path)?;
    let mut lines = vec![place];
    let uevent = match world.get(&format!("{path}/uevent")) {
        Ok(Entry::File { content, .. }) => String::from_utf8_lossy(content).into_owned(),
        _ => String::new(),
    };
    let said: Vec<(&str, &str)> = uevent.lines().filter_map(|line| line.split_once('=')).collect();
    let named = said.iter().find(|(key, _)| *key == "DEVNAME").map(|(_, name)| *name);
    if let (Some(name), Some((at, number))) = (named, node_of(world, path))
        && at == format!("dev/{name}")
        && !name.contains('=')
        && world.get(&at) == Ok(&Entry::Node(number))
    {
        add(&at, format!("N: {name}"), &mut lines, unwritten);
    }
    let is_bound = world.get(&format!("{path}/driver")).is_ok();
    let uevent_at = format!("{path}/uevent");
    add(&uevent_at, format!("E: SUBSYSTEM={}", base(&subsystem)), &mut lines, unwritten);
    let mut seen = BTreeSet::new();
    for (key, value) in said {
        // The kernel says the driver of a bound device only.
        let unbound = key == "DRIVER" && is_name(value) && subsystem.starts_with("sys/bus/") && !is_bound;
        if unbound || !seen.insert(key) {
            continue;
        }
        let value = if key == "DEVNAME" { format!("/dev/{value}") } else { value.to_owned() };
        add(&uevent_at, format!("E: {key}={value}"), &mut lines, unwritten);
    }
    for (at, relative, entry) in own(world, devices, path) {
        if relative.contains('=') {
            unwritten.push(Unwritten::new(&at, EQUALS));
        } else if let Some(line) = entry_line(path, &subsystem, &relative, entry) {
            add(&at, line, &mut lines, unwritten);
        }
    }
    Some(lines)
}

fn add(at: &str, line: String, lines: &mut Vec<String>, unwritten: &mut Vec<Unwritten>) {
    if fits(at, &line, unwritten) {
        lines.push(line);
    }
}

/// What is in a device's directory and in those beneath it that are no other device's: path, path beneath the device, entry.
fn own<'w>(world: &'w World, devices: &BTreeSet<&str>, path: &str) -> Vec<(String, String, &'w Entry)> {
    let mut found = Vec::new();
    for directory in world.directories_at(path) {
        let mut at = directory.as_str();
        while at != path && !devices.contains(at) {
            at = above(at).unwrap_or(path);
        }
        if at != path {
            continue;
        }
        for (name, entry) in world.entries(&directory).into_iter().flatten() {
            let full = join(&directory, name);
            let relative = full.get(path.len() + 1..).unwrap_or_default().to_owned();
            found.push((full, relative, entry));
        }
    }
    found.sort_by(|a, b| a.1.cmp(&b.1));
    found
}

/// The line of one attribute or link; none for what is said otherwise, or cannot be said.
fn entry_line(path: &str, subsystem: &str, relative: &str, entry: &Entry) -> Option<String> {
    if relative == "uevent" {
        return None;
    }
    match entry {
        Entry::File { content, for_all: false } => Some(format!("E: {HIDDEN}R: {relative}={}", escaped(content))),
        Entry::Failing(errno) => Some(format!("E: {HIDDEN}X: {relative}={}", errno_name(*errno))),
        Entry::File { content, .. } if is_text(content) => Some(format!("A: {relative}={}", escaped(content))),
        Entry::File { content, .. } => Some(format!("H: {relative}={}", hex(content))),
        // umockdev makes this link itself, and does not bear a second one.
        Entry::Link(target) if relative == "subsystem" => {
            let automatic = automatic_subsystem(base(subsystem), path);
            let up = path.split('/').count() - 1;
            let usual = format!("{}{}", "../".repeat(up), automatic.strip_prefix("sys/").unwrap_or_default());
            (*target != usual).then(|| format!("E: {HIDDEN}L: subsystem={target}"))
        }
        Entry::Link(target) => Some(format!("L: {relative}={target}")),
        Entry::Directory | Entry::Node(_) | Entry::Socket => None,
    }
}

/// Whether people can read it as text.
fn is_text(content: &[u8]) -> bool {
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    std::str::from_utf8(content).is_ok_and(|text| !text.contains(control))
}

/// Makes a device from its lines, as reading the text will.
fn make(world: &mut World, lines: &[String]) -> Result<(), String> {
    let mut lines = lines.iter().map(|line| line.split_once(": ").unwrap_or_default());
    let (_, place) = lines.next().unwrap_or_default();
    let mut description = Description::new(0, place)?;
    for (kind, rest) in lines {
        let hidden = rest.strip_prefix(HIDDEN).filter(|_| kind == "E");
        let (kind, rest) = hidden.and_then(|line| line.split_once(": ")).unwrap_or((kind, rest));
        description.line(0, kind, rest)?;
    }
    description.put(world).map_err(|problem| problem.text)
}
