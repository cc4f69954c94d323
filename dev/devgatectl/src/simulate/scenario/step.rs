//! One step of a scenario: exactly one verb, and what stands beside it.

use super::read::{Fields, Item, Report};
use super::{Expect, PodSpec};
use devgate_policy::yaml::{At, Node, Value};
use devgate_types::escape;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const VERBS: [&str; 19] = [
    "expect",
    "pod",
    "start",
    "stop",
    "set",
    "remove-attribute",
    "link",
    "unplug",
    "plug",
    "file",
    "remove-file",
    "node",
    "node-gone",
    "kernel",
    "announce",
    "restart",
    "crash",
    "reload",
    "wait",
];
pub(super) const BESIDE: [&str; 6] = ["note", "within", "for", "never-for", "at-most", "expect-refused"];
/// The longest step that is written out in full, in characters.
const MOST_SUMMARY: usize = 160;

/// A step.
#[derive(Debug, Clone)]
pub(in crate::simulate) struct Step {
    /// From 1.
    pub(in crate::simulate) number: usize,
    pub(in crate::simulate) at: At,
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
#[derive(Debug, Clone)]
pub(in crate::simulate) enum Verb {
    Expect(Box<Expect>),
    Pod(PodSpec),
    /// A pod's containers start again.
    Start(String),
    Stop(String),
    Set {
        device: String,
        attribute: String,
        value: Vec<u8>,
    },
    RemoveAttribute {
        device: String,
        attribute: String,
    },
    Link {
        device: String,
        path: String,
        target: String,
    },
    Unplug(String),
    /// A device that was unplugged.
    PlugAgain(String),
    /// What a text describes.
    Plug(String),
    PlugFile(PathBuf),
    File {
        path: String,
        text: Vec<u8>,
    },
    RemoveFile(String),
    Node {
        path: String,
        number: String,
    },
    NodeGone(String),
    Kernel(String),
    Announce(String),
    RestartKubelet,
    RestartHost,
    CrashKubelet,
    CrashHost,
    Reload(Reload),
    Wait(Duration),
}

/// What is to be in force.
#[derive(Debug, Clone, Default)]
pub(in crate::simulate) struct Reload {
    /// The scenario's own, if nothing else is said.
    pub(in crate::simulate) policy: Option<PathBuf>,
    pub(in crate::simulate) patch: Option<Node>,
    /// Whatever pods hold.
    pub(in crate::simulate) force: bool,
}

/// Reads the step of a number.
pub(super) fn read(
    number: usize,
    node: &Node,
    within: Duration,
    beside: &impl Fn(String) -> PathBuf,
    report: &mut Report<'_>,
) -> Option<Step> {
    let known: Vec<&str> = VERBS.iter().chain(&BESIDE).copied().collect();
    let fields = Fields::open(node, "a step", &known, report)?;
    let verbs: Vec<&Item<'_>> = fields.iter().filter(|item| VERBS.contains(&item.key)).collect();
    let item = match verbs.as_slice() {
        [item] => **item,
        // Said already, if it is misspelt.
        [] if matches!(&node.value, Value::Map(map) if map.iter().any(|(key, _)| !known.contains(&key.text.as_str()))) =>
        {
            return None;
        }
        [] => {
            report.error(node.at, format!("a step has one of {}", VERBS.join(", ")));
            return None;
        }
        [first, second, ..] => {
            let message = format!(
                "a step does one thing, and this one has \"{}\" and \"{}\"; make two steps of it",
                first.key, second.key
            );
            report.error(second.at, message);
            return None;
        }
    };
    let verb = verb(&item, beside, report);
    for (key, verbs) in [
        ("within", ["expect", "pod"].as_slice()),
        ("for", &["expect"]),
        ("never-for", &["expect"]),
        ("expect-refused", &["pod", "start", "reload"]),
    ] {
        if let Some(found) = fields.get(key)
            && !verbs.contains(&item.key)
        {
            let verbs = verbs.iter().map(|verb| format!("\"{verb}\"")).collect::<Vec<_>>();
            report.error(found.at, format!("\"{key}\" stands beside {}", verbs.join(" or ")));
        }
    }
    if let (Some(never), true) = (
        fields.get("never-for"),
        fields.get("within").or(fields.get("for")).is_some(),
    ) {
        report.error(never.at, "either \"never-for\", or \"within\" and \"for\"");
    }
    if let (Some(most), "expect" | "wait") = (fields.get("at-most"), item.key) {
        report.error(
            most.at,
            "\"at-most\" is for steps that do something; \"within\" says how long \"expect\" waits",
        );
    }
    let refused = fields.get("expect-refused");
    Some(Step {
        number,
        at: node.at,
        note: fields.text("note", report),
        summary: summary(&item),
        within: fields.duration("within", report).unwrap_or(within),
        lasting: fields.duration("for", report),
        never: fields.duration("never-for", report),
        at_most: fields.duration("at-most", report),
        refused: refused.and_then(|item| item.text(report)).map(str::to_owned),
        verb: verb?,
    })
}

fn verb(item: &Item<'_>, beside: &impl Fn(String) -> PathBuf, report: &mut Report<'_>) -> Option<Verb> {
    let text = |report: &mut Report<'_>| item.text(report).map(str::to_owned);
    let fields =
        |known: &[&str], report: &mut Report<'_>| Fields::open(item.node, &format!("\"{}\"", item.key), known, report);
    Some(match item.key {
        "expect" => Verb::Expect(Box::new(Expect::read(item, report)?)),
        "pod" => Verb::Pod(PodSpec::read(item, report)?),
        "start" => Verb::Start(text(report)?),
        "stop" => Verb::Stop(text(report)?),
        "set" => {
            let fields = fields(&["device", "attribute", "value", "hex"], report)?;
            Verb::Set {
                device: fields.need_text("device", report)?,
                attribute: fields.need_text("attribute", report)?,
                value: bytes(&fields, "value", report)?,
            }
        }
        "remove-attribute" => {
            let fields = fields(&["device", "attribute"], report)?;
            Verb::RemoveAttribute {
                device: fields.need_text("device", report)?,
                attribute: fields.need_text("attribute", report)?,
            }
        }
        "link" => {
            let fields = fields(&["device", "path", "target"], report)?;
            Verb::Link {
                device: fields.need_text("device", report)?,
                path: fields.need_text("path", report)?,
                target: fields.need_text("target", report)?,
            }
        }
        "unplug" => Verb::Unplug(text(report)?),
        "plug" => match &item.node.value {
            Value::Map(_) => {
                let fields = fields(&["text", "file"], report)?;
                match (fields.text("text", report), fields.text("file", report)) {
                    (Some(text), None) => Verb::Plug(text),
                    (None, Some(file)) => Verb::PlugFile(beside(file)),
                    _ => {
                        report.error(item.at, "\"plug\" has either \"text\" or \"file\"");
                        return None;
                    }
                }
            }
            _ => Verb::PlugAgain(text(report)?),
        },
        "file" => {
            let fields = fields(&["path", "text", "hex"], report)?;
            Verb::File {
                path: fields.need_text("path", report)?,
                text: bytes(&fields, "text", report)?,
            }
        }
        "remove-file" => Verb::RemoveFile(text(report)?),
        "node" => {
            let fields = fields(&["path", "number"], report)?;
            Verb::Node {
                path: fields.need_text("path", report)?,
                number: fields.need_text("number", report)?,
            }
        }
        "node-gone" => Verb::NodeGone(text(report)?),
        "kernel" => Verb::Kernel(text(report)?),
        "announce" => Verb::Announce(text(report)?),
        "restart" | "crash" => match (item.key, item.text(report)?) {
            ("restart", "kubelet") => Verb::RestartKubelet,
            ("restart", "host") => Verb::RestartHost,
            (_, "kubelet") => Verb::CrashKubelet,
            (_, "host") => Verb::CrashHost,
            _ => {
                item.wrong("\"kubelet\" or \"host\"", report);
                return None;
            }
        },
        "reload" => match &item.node.value {
            Value::Map(_) => {
                let fields = fields(&["policy", "policy-patch", "force"], report)?;
                Verb::Reload(Reload {
                    policy: fields.text("policy", report).map(beside),
                    patch: fields.get("policy-patch").map(|item| item.node.clone()),
                    force: fields.get("force").and_then(|item| item.yes(report)).unwrap_or(false),
                })
            }
            _ => Verb::Reload(Reload {
                policy: Some(beside(text(report)?)),
                ..Reload::default()
            }),
        },
        _ => Verb::Wait(item.duration(report)?),
    })
}

/// Bytes as text, or as hexadecimal digits.
fn bytes(fields: &Fields<'_>, key: &str, report: &mut Report<'_>) -> Option<Vec<u8>> {
    let Some(hex) = fields.get("hex") else {
        return Some(fields.need_text(key, report)?.into_bytes());
    };
    if let Some(item) = fields.get(key) {
        report.error(item.at, format!("either \"{key}\" or \"hex\""));
    }
    let digits: String = hex.text(report)?.split_whitespace().collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let pairs = digits.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = pairs.map(|pair| byte(pair).filter(|_| pair.len() == 2)).collect();
    if bytes.is_none() {
        hex.wrong("pairs of hexadecimal digits", report);
    }
    bytes
}

/// The step as it is written, in one line.
fn summary(item: &Item<'_>) -> String {
    let text = format!("{}: {}", item.key, flow(item.node));
    match text.char_indices().nth(MOST_SUMMARY) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

fn flow(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => escape(text, 60),
        Value::List(list) => format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let entry = |(key, value): &(devgate_policy::yaml::Key, Node)| {
                format!("{}: {}", escape(&key.text, 60), flow(value))
            };
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}
