//! A recorded node as text again, which [`super::description`] reads and umockdev takes.
//!
//! A device's paragraph says more than it names: links in the subsystem, by number, to the driver. So the devices are
//! made anew from their paragraphs, what is missing then is written out, and at the end the whole text is read again: what
//! still differs has no words in it, and is told.

mod device;
#[cfg(test)]
mod tests;
mod whole;

use super::description::{self, HIDDEN, MAX_LINE_BYTES};
use super::escapes::escape as escaped;
use super::world::{Entries, Entry, World};
use crate::RecordingError;
use devgate_types::{NodeKind, escape};
use std::collections::BTreeSet;
pub(super) use whole::missing;

/// Where devices are.
const DEVICES: &str = "sys/devices/";

/// What a name may not have where a value follows.
const EQUALS: &str = "has a \"=\" in its name";

/// A recorded node as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The text: ASCII but for what the kernel says of devices in another script.
    pub text: String,
    /// What the node has and the text does not say, sorted by path; of a node that was made from a text only what is at or beneath
    /// something with a "=" in its name.
    pub unwritten: Vec<Unwritten>,
}

impl Written {
    /// The text with comments after all else. A reader refuses what lacks its beginning or its end: for what may be cut on its way.
    #[must_use]
    pub fn with_notes(&self, notes: impl Iterator<Item = String>) -> String {
        whole::with_notes(&self.text, notes)
    }
}

/// Something of a node that the text has no words for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unwritten {
    /// Absolute.
    pub path: String,
    /// Why it cannot be said.
    pub why: String,
}

/// The text of a world, with comments in front.
pub(super) fn write(world: &World, about: &[String]) -> Result<Written, RecordingError> {
    let mut unwritten = Vec::new();
    let (mut paragraphs, made) = device::paragraphs(world, "sys/devices", &mut unwritten);
    let mut lines = elsewhere(world, &made, &mut unwritten);
    lines.retain(|(path, line)| fits(path, line, &mut unwritten));
    comments(&mut paragraphs, about, &lines);
    let text = if paragraphs.is_empty() {
        let about = about.iter().map(|line| format!("# {}\n", plain(line)));
        let lines = lines.iter().map(|(_, line)| format!("{line}\n"));
        about.chain(lines).collect()
    } else {
        paragraphs.join("\n")
    };
    let mut again = World::new();
    description::add(&mut again, "as it was written", &text)?;
    differences(world, &again, &mut unwritten);
    unwritten.sort();
    unwritten.dedup_by(|a, b| a.path == b.path);
    Ok(Written { text, unwritten })
}

/// The paragraphs of the devices at and beneath a directory.
pub(super) fn devices(world: &World, top: &str) -> String {
    let (paragraphs, _) = device::paragraphs(world, top, &mut Vec::new());
    paragraphs.iter().map(|text| format!("{text}\n")).collect()
}

/// Puts comments into the first paragraph, and lines about no device into the last one, as properties that mean nothing to umockdev.
fn comments(paragraphs: &mut [String], about: &[String], lines: &[(String, String)]) {
    if let Some(first) = paragraphs.first_mut()
        && let Some((place, rest)) = first.split_once('\n')
    {
        let about: String = about.iter().map(|line| format!("E: {HIDDEN}# {}\n", plain(line))).collect();
        *first = format!("{place}\n{about}{rest}");
    }
    if let Some(last) = paragraphs.last_mut()
        && !lines.is_empty()
    {
        last.push_str(&format!("E: {HIDDEN}# Outside of the device tree:\n"));
        for (_, line) in lines {
            last.push_str(&format!("E: {HIDDEN}{line}\n"));
        }
    }
}

/// A comment in one line.
fn plain(line: &str) -> String {
    escape(line, 1024)
}

/// Whether a line can stand in the text; told where it cannot.
fn fits(path: &str, line: &str, unwritten: &mut Vec<Unwritten>) -> bool {
    let why = if line.contains('\n') || line.ends_with('\r') {
        "has a line break where none can be written"
    } else if line.len() > MAX_LINE_BYTES - 16 {
        "is too long for a line"
    } else {
        return true;
    };
    unwritten.push(Unwritten::new(path, why));
    false
}

impl Unwritten {
    fn new(path: &str, why: impl Into<String>) -> Self {
        Self { path: format!("/{path}"), why: why.into() }
    }
}

/// Lines for what the devices' paragraphs do not make, each with its path.
fn elsewhere(world: &World, made: &World, unwritten: &mut Vec<Unwritten>) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (directory, entries) in world.all() {
        for (name, entry) in entries {
            let path = join(directory, name);
            if path.starts_with(DEVICES) || made.get(&path) == Ok(entry) {
                continue;
            }
            match line(world, &path, entry) {
                Ok(Some(line)) => lines.push((path, line)),
                Ok(None) => {}
                Err(why) => unwritten.push(Unwritten::new(&path, why)),
            }
        }
    }
    lines.extend(rights(world, ""));
    let said = world.log.iter();
    lines.extend(said.map(|line| ("dev/kmsg".to_owned(), format!("K: {} {}", line.micros, line.text))));
    lines.extend((world.time > 0).then(|| ("proc/uptime".to_owned(), format!("T: {}", world.time))));
    let announced = world.announced.iter();
    lines.extend(announced.filter_map(|(location, words)| {
        let path = format!("{DEVICES}{location}");
        if location.contains('=') {
            unwritten.push(Unwritten::new(&path, EQUALS));
            return None;
        }
        let words = if words.is_empty() { String::new() } else { format!("={}", escaped(words.as_bytes())) };
        Some((path, format!("U: /devices/{location}{words}")))
    }));
    lines
}

/// Lines for owner and mode of what is at and beneath a path, where they are not the usual ones, each with its path.
pub(super) fn rights(world: &World, top: &str) -> Vec<(String, String)> {
    let beneath = format!("{top}/");
    let wanted = |path: &str| top.is_empty() || path == top || path.starts_with(&beneath);
    let there = world.rights().iter().filter(|(path, _)| wanted(path) && world.look(path).is_ok());
    there.map(|(path, (uid, mode))| (path.clone(), format!("O: /{path}={uid} {mode:04o}"))).collect()
}

/// The line that makes one thing outside the device tree; none where others make it along. The error says why there is none.
pub(super) fn line(world: &World, path: &str, entry: &Entry) -> Result<Option<String>, &'static str> {
    if path.contains('=') {
        return Err(EQUALS);
    }
    Ok(Some(match entry {
        Entry::Directory if world.directory(path).is_ok_and(|inside| !inside.is_empty()) => return Ok(None),
        Entry::Directory => format!("I: /{path}=d"),
        Entry::Socket => format!("I: /{path}=s"),
        Entry::Link(target) => format!("I: /{path}=l {target}"),
        Entry::File { .. } if path.starts_with("dev/") => return Err("is a file among the device nodes"),
        Entry::File { content, .. } => format!("F: /{path}={}", escaped(content)),
        Entry::Node(number) if path.starts_with("dev/") => {
            let kind = match number.kind {
                NodeKind::Character => 'c',
                NodeKind::Block => 'b',
            };
            format!("D: /{path}={kind} {}:{}", number.major, number.minor)
        }
        Entry::Node(_) => return Err("is a device node outside of /dev"),
        Entry::Failing(_) => return Err("cannot be read, and is no attribute"),
    }))
}

/// Tells everything in which `again` is not `world`.
fn differences(world: &World, again: &World, unwritten: &mut Vec<Unwritten>) {
    let nothing = Entries::new();
    let directories: BTreeSet<&str> = world.paths().chain(again.paths()).collect();
    for directory in directories {
        let of = |world: &'_ World| world.entries(directory).cloned();
        let (old, new) = (of(world), of(again));
        let (old, new) = (old.as_ref().unwrap_or(&nothing), new.as_ref().unwrap_or(&nothing));
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let why = match (old.get(name), new.get(name)) {
                (old, new) if old == new => continue,
                // What is in it is told already.
                (Some(Entry::Directory), None) if !directory.starts_with("sys/devices") => continue,
                (Some(Entry::Directory), None) => "is a directory with nothing in it that could be said",
                (_, None) => "is part of no device",
                (None, Some(_)) => "is not there although its device is described as if it were",
                (Some(_), Some(_)) => "is not what its device is described to have",
            };
            unwritten.push(Unwritten::new(&join(directory, name), why));
        }
    }
    for (path, rights) in world.rights() {
        if world.look(path).is_ok() && again.rights().get(path) != Some(rights) {
            unwritten.push(Unwritten::new(path, "has another owner or mode"));
        }
    }
    if world.log != again.log {
        unwritten.push(Unwritten::new("dev/kmsg", "has lines that are numbered in another way"));
    }
}

/// A name in a directory.
pub(super) fn join(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        directory => format!("{directory}/{name}"),
    }
}
