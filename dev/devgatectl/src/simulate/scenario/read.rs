//! Reading a scenario's text strictly: every key known, every value of its kind, every mistake told with its place.

use devgate_policy::yaml::{At, Node, Value};
use devgate_policy::{nearest, parse_duration};
use devgate_types::escape;
use std::path::Path;
use std::time::Duration;

/// Longer text in a message is cut.
const SHOWN: usize = 80;

/// What is wrong in one file.
pub(super) struct Report<'a> {
    file: &'a Path,
    wrong: Vec<(At, String)>,
}

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a Path) -> Self {
        Self {
            file,
            wrong: Vec::new(),
        }
    }

    /// Something is wrong at a place.
    pub(super) fn error(&mut self, at: At, message: impl Into<String>) {
        self.wrong.push((at, message.into()));
    }

    /// Everything that is wrong, one line each, in the order of the file; nothing where all is well.
    pub(super) fn text(mut self) -> Option<String> {
        self.wrong.sort_by_key(|(at, _)| (at.line, at.column));
        let file = escape(&self.file.display().to_string(), 256);
        let line = |(at, message): &(At, String)| match at.line {
            0 => format!("{file}: {message}"),
            _ => format!("{file}:{}:{}: {message}", at.line, at.column),
        };
        let lines: Vec<_> = self.wrong.iter().map(line).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// A key's value and where the key stands.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) key: &'a str,
    pub(super) at: At,
    pub(super) node: &'a Node,
}

/// A mapping whose keys are all known.
pub(super) struct Fields<'a> {
    pub(super) at: At,
    what: String,
    items: Vec<Item<'a>>,
}

impl<'a> Fields<'a> {
    /// `what` says in messages what the mapping is, with its article: `a step`.
    pub(super) fn open(node: &'a Node, what: &str, known: &[&str], report: &mut Report<'_>) -> Option<Self> {
        let mut items = Vec::new();
        for item in entries(node, what, report)? {
            if known.contains(&item.key) {
                items.push(item);
                continue;
            }
            let shown = escape(item.key, SHOWN);
            let hint = match nearest(item.key, known.iter().copied()) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("it is one of {}", known.join(", ")),
            };
            report.error(item.at, format!("unknown key \"{shown}\" in {what}; {hint}"));
        }
        Some(Self {
            at: node.at,
            what: what.to_owned(),
            items,
        })
    }

    pub(super) fn get(&self, key: &str) -> Option<Item<'a>> {
        self.items.iter().find(|item| item.key == key).copied()
    }

    /// What must be there.
    pub(super) fn need(&self, key: &str, report: &mut Report<'_>) -> Option<Item<'a>> {
        let item = self.get(key);
        if item.is_none() {
            report.error(self.at, format!("{} has no \"{key}\"", self.what));
        }
        item
    }

    /// Text that must be there.
    pub(super) fn need_text(&self, key: &str, report: &mut Report<'_>) -> Option<String> {
        self.need(key, report)?.text(report).map(str::to_owned)
    }

    pub(super) fn text(&self, key: &str, report: &mut Report<'_>) -> Option<String> {
        self.get(key)?.text(report).map(str::to_owned)
    }

    pub(super) fn duration(&self, key: &str, report: &mut Report<'_>) -> Option<Duration> {
        self.get(key)?.duration(report)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Item<'a>> {
        self.items.iter()
    }
}

/// A mapping whose keys may be any: names of resources, variables, devices.
pub(super) fn entries<'a>(node: &'a Node, what: &str, report: &mut Report<'_>) -> Option<Vec<Item<'a>>> {
    let Value::Map(entries) = &node.value else {
        report.error(node.at, format!("{what} is a mapping, not {}", node.value.kind()));
        return None;
    };
    let item = |(key, node)| {
        let key: &'a devgate_policy::yaml::Key = key;
        Item {
            key: &key.text,
            at: key.at,
            node,
        }
    };
    Some(entries.iter().map(|(key, node)| item((key, node))).collect())
}

impl<'a> Item<'a> {
    pub(super) fn wrong(&self, wanted: &str, report: &mut Report<'_>) {
        let shown = match &self.node.value {
            Value::Text(text) => format!("\"{}\"", escape(text, SHOWN)),
            Value::Number(number) => number.to_string(),
            other => other.kind().to_owned(),
        };
        let key = escape(self.key, SHOWN);
        report.error(self.node.at, format!("\"{key}\" must be {wanted}, not {shown}"));
    }

    /// Text, and nothing that only looks like it.
    pub(super) fn text(&self, report: &mut Report<'_>) -> Option<&'a str> {
        match &self.node.value {
            Value::Text(text) => Some(text),
            Value::Number(_) | Value::Bool(_) => {
                let shown = self.node.to_json();
                let key = escape(self.key, SHOWN);
                report.error(
                    self.node.at,
                    format!("\"{key}\" must be text, not {shown}; put it in quotes"),
                );
                None
            }
            _ => {
                self.wrong("text", report);
                None
            }
        }
    }

    pub(super) fn duration(&self, report: &mut Report<'_>) -> Option<Duration> {
        let parsed = match &self.node.value {
            Value::Text(text) => parse_duration(text),
            _ => None,
        };
        if parsed.is_none() {
            self.wrong("a whole number and us, ms, s, m or h, such as 500ms", report);
        }
        parsed
    }

    pub(super) fn count(&self, report: &mut Report<'_>) -> Option<usize> {
        let parsed = match &self.node.value {
            Value::Number(number) => number.as_u64().and_then(|number| usize::try_from(number).ok()),
            _ => None,
        };
        if parsed.is_none() {
            self.wrong("a whole number", report);
        }
        parsed
    }

    pub(super) fn yes(&self, report: &mut Report<'_>) -> Option<bool> {
        match &self.node.value {
            Value::Bool(yes) => Some(*yes),
            _ => {
                self.wrong("true or false", report);
                None
            }
        }
    }

    pub(super) fn list(&self, report: &mut Report<'_>) -> Option<&'a [Node]> {
        match &self.node.value {
            Value::List(list) => Some(list),
            _ => {
                self.wrong("a list", report);
                None
            }
        }
    }

    /// A list of texts, or one text.
    pub(super) fn texts(&self, report: &mut Report<'_>) -> Option<Vec<String>> {
        if let Value::Text(text) = &self.node.value {
            return Some(vec![text.clone()]);
        }
        let mut texts = Vec::new();
        for node in self.list(report)? {
            texts.push(Item { node, ..*self }.text(report)?.to_owned());
        }
        Some(texts)
    }

    /// The item of the same key with another value: an element of its list.
    pub(super) fn element(&self, node: &'a Node) -> Self {
        Self { node, ..*self }
    }
}
