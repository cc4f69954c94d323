//! One step of a scenario: exactly one verb, and what stands beside it.

use super::read::{Fields, Item, Read};
use super::{Expect, patch};
use crate::simulate::text::cut;
use devgate_fake_kubelet::Pod;
use devgate_fake_node::Change;
use devgate_fake_node::errno_of;
use devgate_policy::yaml::{Node, Value};
use devgate_types::escape;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const VERBS: &str = "expect pod start stop set remove-attribute link unplug plug file remove-file node node-gone kernel announce \
                                  later restart crash reload wait";
pub(super) const BESIDE: &str = "note within for never-for at-most expect-refused";
/// The longest step that is written out in full, in characters.
const MAX_SUMMARY: usize = 160;

/// A step.
#[derive(Debug)]
pub(in crate::simulate) struct Step {
    /// From 1.
    pub(in crate::simulate) number: usize,
    pub(in crate::simulate) line: u32,
    pub(in crate::simulate) note: Option<String>,
    /// The verb with its value, in one line.
    pub(in crate::simulate) summary: String,
    /// How long what is expected may take to come.
    pub(in crate::simulate) within: Duration,
    /// How long what is expected must go on to hold.
    pub(in crate::simulate) lasting: Option<Duration>,
    /// How long what is named must not hold at any moment.
    pub(in crate::simulate) never: Option<Duration>,
    /// How long the step may take.
    pub(in crate::simulate) at_most: Option<Duration>,
    /// Part of the reason for which it must be refused.
    pub(in crate::simulate) refused: Option<String>,
    pub(in crate::simulate) verb: Verb,
}

/// What a step does.
#[derive(Debug)]
pub(in crate::simulate) enum Verb {
    Expect(Box<Expect>),
    Pod(Pod),
    /// A pod's containers start again.
    Start(String),
    Stop(String),
    /// Something happens to the node; in the place of a location a device is named as the scenario names it.
    Change(Change),
    /// A device that was unplugged.
    PlugAgain(String),
    /// What a file describes.
    PlugFile(PathBuf),
    /// The kubelet, or the host, which is killed if it crashes.
    Restart {
        kubelet: bool,
        crash: bool,
    },
    /// A policy is to be in force, or the one that is, with a patch over it; by force, whatever pods hold.
    Reload {
        policy: Option<PathBuf>,
        patch: Option<Node>,
        force: bool,
    },
    Wait(Duration),
    /// The node's clock is so much later.
    Later(Duration),
}

/// Reads the step of a number.
pub(super) fn read(
    number: usize,
    step: &Item<'_>,
    within: Duration,
    beside: &dyn Fn(String) -> PathBuf,
) -> Option<Step> {
    let report = step.report;
    let fields = step.fields("a step", &format!("{VERBS} {BESIDE}"))?;
    let mut verbs = fields.items.iter().filter(|item| VERBS.split(' ').any(|verb| verb == item.key));
    let Some(item) = verbs.next() else {
        // Said already, if it is misspelt.
        if !matches!(&step.node.value, Value::Map(map) if map.len() > fields.items.len()) {
            report.error(step.node.at, format!("a step has one of {}", VERBS.replace(' ', ", ")));
        }
        return None;
    };
    if let Some(second) = verbs.next() {
        let message = format!(
            "a step does one thing, and this one has \"{}\" and \"{}\"; make two steps of it",
            item.key, second.key
        );
        report.error(second.at, message);
        return None;
    }
    let verb = verb(item, beside);
    for (key, verbs) in
        [("within", "expect pod"), ("for", "expect"), ("never-for", "expect"), ("expect-refused", "pod start reload")]
    {
        if let Some(found) = fields.item(key)
            && !verbs.split(' ').any(|verb| verb == item.key)
        {
            let verbs = verbs.replace(' ', "\" or \"");
            report.error(found.at, format!("\"{key}\" stands beside \"{verbs}\""));
        }
    }
    if let (Some(never), Some(_)) = (fields.item("never-for"), fields.item("within").or(fields.item("for"))) {
        report.error(never.at, "either \"never-for\", or \"within\" and \"for\"");
    }
    if let (Some(most), "expect" | "wait") = (fields.item("at-most"), item.key) {
        let message = "\"at-most\" is for steps that do something; \"within\" says how long \"expect\" waits";
        report.error(most.at, message);
    }
    Some(Step {
        number,
        line: step.node.at.line,
        note: fields.get("note"),
        summary: cut(&format!("{}: {}", item.key, flow(item.node)), MAX_SUMMARY),
        within: fields.get("within").unwrap_or(within),
        lasting: fields.get("for"),
        never: fields.get("never-for"),
        at_most: fields.get("at-most"),
        refused: fields.get("expect-refused"),
        verb: verb?,
    })
}

fn verb(item: &Item<'_>, beside: &dyn Fn(String) -> PathBuf) -> Option<Verb> {
    let fields = |known: &str| item.fields(&format!("\"{}\"", item.key), known);
    let change = match item.key {
        "expect" => return Some(Verb::Expect(Box::new(Read::read(item)?))),
        "pod" => return Some(Verb::Pod(Read::read(item)?)),
        "start" => return Some(Verb::Start(Read::read(item)?)),
        "stop" => return Some(Verb::Stop(Read::read(item)?)),
        "plug" if !item.is_map() => return Some(Verb::PlugAgain(Read::read(item)?)),
        "restart" | "crash" => {
            let kubelet = match String::read(item)?.as_str() {
                "kubelet" => true,
                "host" => false,
                _ => return item.wrong("\"kubelet\" or \"host\""),
            };
            let crash = item.key == "crash";
            return Some(Verb::Restart { kubelet, crash });
        }
        "reload" if item.is_map() => {
            let fields = fields("policy policy-patch force")?;
            let policy = fields.get("policy").map(beside);
            let (patch, force) = (patch(&fields), fields.get("force").unwrap_or(false));
            return Some(Verb::Reload { policy, patch, force });
        }
        "reload" => {
            let (policy, patch, force) = (Some(beside(Read::read(item)?)), None, false);
            return Some(Verb::Reload { policy, patch, force });
        }
        "later" => return Some(Verb::Later(Read::read(item)?)),
        "wait" => return Some(Verb::Wait(Read::read(item)?)),
        "set" => {
            let fields = fields("device attribute value hex error")?;
            let (location, path) = (fields.need("device"), fields.need("attribute"));
            match fields.item("error") {
                None => {
                    let value = bytes(&fields, "value");
                    Change::SetAttribute { location: location?, path: path?, value: value? }
                }
                Some(error) => {
                    if fields.item("value").or(fields.item("hex")).is_some() {
                        error.report.error(error.at, "either a value or \"error\"");
                    }
                    Change::FailAttribute { location: location?, path: path?, error: errno(error)? }
                }
            }
        }
        "remove-attribute" => {
            let fields = fields("device attribute")?;
            Change::RemoveAttribute { location: fields.need("device")?, path: fields.need("attribute")? }
        }
        "link" => {
            let fields = fields("device path target")?;
            Change::SetLink {
                location: fields.need("device")?,
                path: fields.need("path")?,
                target: fields.need("target")?,
            }
        }
        "plug" => {
            let fields = fields("text file")?;
            match (fields.get("text"), fields.get("file")) {
                (Some(text), None) => Change::AddDevices(text),
                (None, Some(file)) => return Some(Verb::PlugFile(beside(file))),
                _ => {
                    item.report.error(item.at, "\"plug\" has either \"text\" or \"file\"");
                    return None;
                }
            }
        }
        "file" => {
            let fields = fields("path text hex")?;
            Change::SetFile { path: fields.need("path")?, value: bytes(&fields, "text")? }
        }
        "node" => {
            let fields = fields("path number")?;
            Change::AddNode { path: fields.need("path")?, number: fields.need("number")? }
        }
        "announce" if item.is_map() => {
            let fields = fields("device words")?;
            let words: BTreeMap<String, String> = fields.need("words")?;
            let words: Vec<_> = words.iter().map(|(name, value)| format!("{name}={value}")).collect();
            Change::AnnounceWords { location: fields.need("device")?, words: words.join("\n") }
        }
        "unplug" => Change::RemoveDevice(Read::read(item)?),
        "remove-file" => Change::RemoveFile(Read::read(item)?),
        "node-gone" => Change::RemoveNode(Read::read(item)?),
        "announce" => Change::Announce(Read::read(item)?),
        // Said at the moment when it is played.
        _ => Change::Say { micros: 0, text: Read::read(item)? },
    };
    Some(Verb::Change(change))
}

/// Bytes as text, or as hexadecimal digits.
fn bytes(fields: &Fields<'_>, key: &str) -> Option<Vec<u8>> {
    let Some(hex) = fields.item("hex") else {
        return fields.need(key).map(String::into_bytes);
    };
    if let Some(item) = fields.item(key) {
        item.report.error(item.at, format!("either \"{key}\" or \"hex\""));
    }
    let digits: String = String::read(hex)?.split_whitespace().collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let pairs = digits.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = pairs.map(|pair| byte(pair).filter(|_| pair.len() == 2)).collect();
    bytes.or_else(|| hex.wrong("pairs of hexadecimal digits"))
}

/// The name of an error of the kernel.
fn errno(item: &Item<'_>) -> Option<String> {
    let name = String::read(item)?;
    match errno_of(&name) {
        Some(_) => Some(name),
        None => item.wrong("the name of an error of the kernel, such as EBUSY"),
    }
}

/// A value as it is written, in one line.
fn flow(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => escape(text, 60),
        Value::List(list) => format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| format!("{}: {}", escape(&key.text, 60), flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        _ => node.to_json().to_string(),
    }
}
