//! The text of a recorded node: umockdev's device description, line by line.
//!
//! The format is that of umockdev's `umockdev_testbed_add_from_string`; what a line means is said at
//! [`crate::Change::AddDevices`].

mod device;
mod subsystem;

use super::escapes::{unescape, unhex};
use super::world::{Entry, World};
use super::write::missing;
use crate::RecordingError;
use crate::errno::errno_of;
use devgate_node::parse_number;
use devgate_node::path::problem;
use devgate_types::{NodeKind, NodeNumber, escape};
pub(super) use device::Description;
pub(crate) use subsystem::automatic_subsystem;

/// The largest recording, in bytes.
pub(crate) const MAX_RECORDING_BYTES: usize = 64 << 20;
/// The longest line, in bytes.
pub(super) const MAX_LINE_BYTES: usize = 1 << 20;

/// The property whose values are lines of ours: umockdev refuses lines that it does not know, and takes any property.
pub(super) const HIDDEN: &str = "DEVGATE=";

/// What is wrong with a line, for people; the line's number is added on the way out.
pub(super) struct Problem {
    line: usize,
    pub(super) text: String,
}

/// Adds what `text` describes to a world, which is no good any more after an error.
pub(crate) fn add(world: &mut World, name: &str, text: &str) -> Result<(), RecordingError> {
    let name = escape(name, 256);
    if text.len() > MAX_RECORDING_BYTES {
        return Err(RecordingError::TooLarge { name, most: MAX_RECORDING_BYTES });
    }
    parse(world, text).map_err(|Problem { line, text }| RecordingError::Malformed { name, line, problem: text })
}

fn parse(world: &mut World, text: &str) -> Result<(), Problem> {
    if let Some(end) = missing(text) {
        let text = format!("the text is cut, its {end} is missing: record it again, or less of it");
        return Err(Problem { line: if end == "end" { text.lines().count() } else { 1 }, text });
    }
    let mut open: Option<Description> = None;
    // What stands in a device's paragraph and is not about the device: only once that is there, it can be spoken of.
    let mut later: Vec<(usize, &str, &str)> = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let number = index + 1;
        let at = |text: String| Problem { line: number, text };
        if line.len() > MAX_LINE_BYTES {
            return Err(at(format!("longer than {MAX_LINE_BYTES} bytes")));
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            if let Some(description) = open.take() {
                description.put(world)?;
                all_elsewhere(world, later.drain(..))?;
            }
            continue;
        }
        if line.starts_with('#') {
            continue;
        }
        let Some((kind, rest)) = line.split_once(": ") else {
            return Err(at(format!("\"{}\" is not a letter, a colon, a space and a value", escape(line, 64))));
        };
        match (kind, &mut open) {
            ("F" | "D" | "I" | "O" | "K" | "T" | "U", _) => elsewhere(world, kind, rest).map_err(at)?,
            ("E", Some(description)) if rest.starts_with(HIDDEN) => {
                let line = rest.strip_prefix(HIDDEN).unwrap_or_default();
                if line.starts_with('#') {
                    continue;
                }
                match line.split_once(": ") {
                    Some((kind @ ("F" | "D" | "I" | "O" | "K" | "T" | "U"), rest)) => later.push((number, kind, rest)),
                    Some((kind, rest)) => description.line(number, kind, rest).map_err(at)?,
                    None => return Err(at(unknown(line))),
                }
            }
            ("P", None) => open = Some(Description::new(number, rest).map_err(at)?),
            ("P", Some(_)) => {
                return Err(at("a description must end with an empty line before the next P:".to_owned()));
            }
            ("N" | "S" | "E" | "A" | "H" | "L" | "R" | "X", None) => {
                return Err(at("a description must start with a P: line".to_owned()));
            }
            (_, Some(description)) => description.line(number, kind, rest).map_err(at)?,
            (_, None) => return Err(at(unknown(kind))),
        }
    }
    open.map_or(Ok(()), |description| description.put(world))?;
    all_elsewhere(world, later.into_iter())
}

/// Lines that are about no device, each with its number.
fn all_elsewhere<'l>(
    world: &mut World,
    mut lines: impl Iterator<Item = (usize, &'l str, &'l str)>,
) -> Result<(), Problem> {
    lines.try_for_each(|(line, kind, rest)| elsewhere(world, kind, rest).map_err(|text| Problem { line, text }))
}

/// A line that is about no device.
pub(super) fn elsewhere(world: &mut World, kind: &str, rest: &str) -> Result<(), String> {
    match kind {
        "F" => file(world, rest),
        "D" => node(world, rest),
        "I" => other(world, rest),
        "O" => rights(world, rest),
        "K" => said(world, rest),
        "T" => time(world, rest),
        "U" => announced(world, rest),
        other => Err(unknown(other)),
    }
}

fn unknown(kind: &str) -> String {
    format!("\"{}:\" is not one of P, N, S, E, A, H, L, R, X, F, D, I, O, K, T, U", escape(kind, 16))
}

/// `key=value`, with a key.
fn pair(rest: &str) -> Result<(&str, &str), String> {
    match rest.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key, value)),
        _ => Err("must be a name, \"=\" and a value".to_owned()),
    }
}

/// `F: /proc/driver/acme/version=text`: a file outside the device tree.
fn file(world: &mut World, rest: &str) -> Result<(), String> {
    let (path, value) = pair(rest)?;
    let relative = path.strip_prefix('/').ok_or("path must be absolute")?;
    if relative.starts_with("dev/") || relative.starts_with("sys/devices/") {
        return Err("what is under /dev is a D: line, what is under /sys/devices part of a device".to_owned());
    }
    put_file(world, relative, unescape(value)?)
}

/// Puts a file where none is, or in the place of one: never of a link that the devices made.
pub(crate) fn put_file(world: &mut World, path: &str, content: Vec<u8>) -> Result<(), String> {
    match world.get(path) {
        Ok(Entry::File { .. }) | Err(_) => world.put(path, Entry::file(content)),
        Ok(_) => Err(format!("/{} is there already as something else", escape(path, 128))),
    }
}

/// `D: /dev/acme0=c 195:0`: a node that no described device has.
fn node(world: &mut World, rest: &str) -> Result<(), String> {
    let (path, value) = pair(rest)?;
    let relative = path.strip_prefix('/').filter(|path| path.starts_with("dev/")).ok_or("path must be under /dev")?;
    let (kind, number) = value.split_once(' ').unwrap_or_default();
    let kind = match kind {
        "c" => NodeKind::Character,
        "b" => NodeKind::Block,
        _ => return Err("must be c or b, a space, and major:minor".to_owned()),
    };
    let (major, minor) = parse_number(number).ok_or("must be c or b, a space, and major:minor")?;
    put_node(world, relative, NodeNumber { kind, major, minor })
}

/// `I: /opt/vendor=d`, `I: /opt/lib.so=l lib.so.1`, `I: /run/vendor.sock=s`: a directory, a link, a socket outside the
/// device tree.
fn other(world: &mut World, rest: &str) -> Result<(), String> {
    let (path, value) = pair(rest)?;
    let relative = path.strip_prefix('/').ok_or("path must be absolute")?;
    if relative.starts_with("sys/devices/") {
        return Err("what is under /sys/devices is part of a device".to_owned());
    }
    let (kind, target) = value.split_once(' ').unwrap_or((value, ""));
    let entry = match (kind, target) {
        ("d", "") => Entry::Directory,
        ("s", "") => Entry::Socket,
        ("l", target) if !target.is_empty() && !target.contains('\0') => Entry::Link(target.to_owned()),
        _ => return Err("must be d, s, or l, a space, and where the link leads".to_owned()),
    };
    match world.get(relative) {
        Ok(there) if *there == entry => Ok(()),
        Ok(_) => Err(format!("{} is there already as something else", escape(path, 128))),
        Err(_) => world.put(relative, entry),
    }
}

/// `O: /opt/vendor=1000 0775`: owner and mode of what is there already. Only `/` itself may end in a slash.
fn rights(world: &mut World, rest: &str) -> Result<(), String> {
    const FORM: &str = "must be the owner's number, a space, and the mode as octal digits";
    let (path, value) = pair(rest)?;
    let relative = path.strip_prefix('/').ok_or("path must be absolute")?;
    let (uid, mode) = value.split_once(' ').ok_or(FORM)?;
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let uid = uid.parse().ok().filter(|_| plain(uid)).ok_or(FORM)?;
    let mode = u32::from_str_radix(mode, 8).ok().filter(|_| plain(mode));
    let mode = mode.filter(|mode| *mode <= 0o7777).ok_or(FORM)?;
    world.set_rights(relative, uid, mode)
}

/// `K: 5140900 ACME: Fault ...`: what the kernel said, and when: microseconds since the start.
fn said(world: &mut World, rest: &str) -> Result<(), String> {
    const FORM: &str = "must be microseconds since the start, a space, and the line";
    let (micros, text) = rest.split_once(' ').ok_or(FORM)?;
    let plain = micros.bytes().all(|byte| byte.is_ascii_digit());
    world.say(micros.parse().ok().filter(|_| plain).ok_or(FORM)?, text)
}

/// `T: 351400000`: what the clock is at, in milliseconds since the start.
fn time(world: &mut World, rest: &str) -> Result<(), String> {
    let plain = rest.bytes().all(|byte| byte.is_ascii_digit());
    world.time = rest.parse().ok().filter(|_| plain).ok_or("must be milliseconds since the start")?;
    Ok(())
}

/// `U: /devices/pci0000:00/0000:00:02.0=WEDGED=rebind`: what a driver has announced, and in which words. The device may have gone since.
fn announced(world: &mut World, rest: &str) -> Result<(), String> {
    let location = rest.strip_prefix("/devices/").ok_or("path must start with /devices/")?;
    let (location, words) = location.split_once('=').unwrap_or((location, ""));
    let words = String::from_utf8(unescape(words)?).map_err(|_| "words must be UTF-8")?;
    match problem(location) {
        Some(problem) => Err(problem.to_owned()),
        None => world.announce(location, &words),
    }
}

/// Puts a node where none is, or the same.
pub(crate) fn put_node(world: &mut World, path: &str, number: NodeNumber) -> Result<(), String> {
    match world.get(path) {
        Ok(Entry::Node(there)) if *there == number => Ok(()),
        Ok(_) => Err(format!("/{} is there already as something else", escape(path, 128))),
        Err(_) => world.put(path, Entry::Node(number)),
    }
}

/// The value of an attribute's line: its path and bytes.
fn attribute(kind: &str, rest: &str) -> Result<(String, Entry), String> {
    let (path, value) = pair(rest)?;
    if let Some(problem) = problem(path) {
        return Err(problem.to_owned());
    }
    let entry = match kind {
        "X" => failing(value)?,
        "H" => Entry::file(unhex(value)?),
        _ => Entry::File { content: unescape(value)?.into(), for_all: kind != "R" },
    };
    Ok((path.to_owned(), entry))
}

/// An attribute that cannot be read, by the name of the kernel's error.
pub(crate) fn failing(error: &str) -> Result<Entry, String> {
    let errno =
        errno_of(error).ok_or("must be the name of an error of the kernel, such as EBUSY, or E and its number")?;
    Ok(Entry::Failing(errno))
}
