//! Reading one mapping strictly: every key known, every value of its kind, every mistake reported and none fatal.

use crate::dangerous;
use crate::error::Report;
use crate::key::{Key, Kind, Section, nearest};
use crate::pattern::{InvalidPattern, Pattern};
use crate::time;
use crate::yaml::{At, Node, Value};
use devgate_types::{ByteSize, escape};
use std::fmt;
use std::time::Duration;

/// The longest text that a policy needs anywhere but in `config`.
const MOST_TEXT: usize = 4_096;
/// What to do where YAML sees a number in what should be text.
const QUOTES: &str = "put it in quotes";

/// One mapping of the policy, its unknown keys already reported.
pub(crate) struct Fields<'a> {
    at: At,
    place: &'a str,
    known: Vec<(&'static Key, At, &'a Node)>,
}

impl<'a> Fields<'a> {
    /// Opens a mapping; reports and gives nothing where it is something else. `place` says where the keys are, for
    /// messages: `plugin "acme"`.
    pub(crate) fn open(node: &'a Node, place: &'a str, section: &Section, report: &mut Report) -> Option<Self> {
        let Value::Map(entries) = &node.value else {
            report.error(node.at, format!("{place} must be a mapping, not {}", node.value.kind()));
            return None;
        };
        let mut known = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let shown = escape(&key.text, 80);
            if let Some(known_key) = section.find(&key.text) {
                known.push((known_key, key.at, value));
                continue;
            }
            let message = format!("unknown key \"{shown}\" in {place}");
            let hint = match (
                nearest(&key.text, section.served().map(|key| key.name)),
                section.parent_of(&key.text),
            ) {
                (_, Some(parent)) => format!("it belongs under \"{parent}\""),
                (Some(name), None) => format!("did you mean \"{name}\"?"),
                (None, None) => {
                    report.error(key.at, message);
                    continue;
                }
            };
            report.error_with_hint(key.at, message, hint);
        }
        Some(Self {
            at: node.at,
            place,
            known,
        })
    }

    /// Where the mapping is.
    pub(crate) fn at(&self) -> At {
        self.at
    }

    /// The same mapping without one key.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.known.retain(|(key, ..)| key.name != name);
        self
    }

    /// The value of one key.
    pub(crate) fn get(&self, name: &'static str) -> Option<Item<'a>> {
        let (key, key_at, node) = self.known.iter().find(|(key, ..)| key.name == name)?;
        Some(Item {
            key: key.name,
            key_at: *key_at,
            place: self.place,
            node,
        })
    }

    /// The value of one key that must be there.
    pub(crate) fn need(&self, name: &'static str, report: &mut Report) -> Option<Item<'a>> {
        let item = self.get(name);
        if item.is_none() {
            report.error(self.at, format!("{} has no \"{name}\"", self.place));
        }
        item
    }

    /// What the table says that a key's value may be, where the key is there.
    fn kind(&self, name: &str) -> Option<Kind> {
        let (key, ..) = self.known.iter().find(|(key, ..)| key.name == name)?;
        Some(key.kind)
    }

    /// Reads a duration into `into`, if the key is there; its range is the table's.
    pub(crate) fn duration(&self, name: &'static str, into: &mut Duration, report: &mut Report) {
        let (Some(item), Some(Kind::Time(least, most))) = (self.get(name), self.kind(name)) else {
            return;
        };
        let Some(text) = item.text_in("a duration such as 500ms, 2s or 5m", "add a unit", report) else {
            return;
        };
        match time::parse(text) {
            Some(value) if (least..=most).contains(&value) => *into = value,
            Some(_) => {
                let (least, most) = (time::show(least), time::show(most));
                item.error(
                    report,
                    format!("must be between {least} and {most}, not {}", escape(text, 40)),
                );
            }
            None => {
                let shown = escape(text, 40);
                item.error(
                    report,
                    format!("must be a whole number and us, ms, s, m or h, such as 500ms, not \"{shown}\""),
                );
            }
        }
    }

    /// Reads a size into `into`, if the key is there; its range is the table's.
    pub(crate) fn size(&self, name: &'static str, into: &mut ByteSize, report: &mut Report) {
        let (Some(item), Some(Kind::Size(least, most))) = (self.get(name), self.kind(name)) else {
            return;
        };
        let Some(text) = item.text_in("a size such as 64KiB or 16MiB", "add a unit", report) else {
            return;
        };
        match text.parse::<ByteSize>() {
            Ok(value) if (least..=most).contains(&value) => *into = value,
            Ok(value) => item.error(report, format!("must be between {least} and {most}, not {value}")),
            Err(_) => {
                let shown = escape(text, 40);
                item.error(
                    report,
                    format!("must be a whole number and B, KiB, MiB or GiB, such as 16MiB, not \"{shown}\""),
                );
            }
        }
    }

    /// Reads a number into `into`, if the key is there; its range is the table's.
    pub(crate) fn number(&self, name: &'static str, into: &mut u32, report: &mut Report) {
        let (Some(item), Some(Kind::Number(least, most))) = (self.get(name), self.kind(name)) else {
            return;
        };
        let value = match &item.node.value {
            Value::Number(number) => number.as_u64().and_then(|n| u32::try_from(n).ok()),
            other => {
                item.error(report, format!("must be a whole number, not {}", other.kind()));
                return;
            }
        };
        match value.filter(|value| (least..=most).contains(value)) {
            Some(value) => *into = value,
            None => item.error(report, format!("must be a whole number between {least} and {most}")),
        }
    }

    /// One of the words that the table lists, if the key is there.
    pub(crate) fn word(&self, name: &'static str, report: &mut Report) -> Option<&'static str> {
        let (item, Some(Kind::OneOf(words))) = (self.get(name)?, self.kind(name)) else {
            return None;
        };
        one_of(&item, item.text(report)?, words, report)
    }

    /// The words of a list that the table has as well, if the key is there.
    pub(crate) fn words(&self, name: &'static str, report: &mut Report) -> Vec<&'static str> {
        let words = match self.kind(name) {
            Some(Kind::SomeOf(words)) => words.to_vec(),
            Some(Kind::Dangers) => dangerous::KINDS.iter().map(|(word, _)| *word).collect(),
            _ => return Vec::new(),
        };
        let mut out = Vec::new();
        for (item, text) in self.get(name).map(|item| item.texts(report)).unwrap_or_default() {
            match one_of(&item, text, &words, report) {
                Some(word) if out.contains(&word) => item.error(report, format!("has \"{word}\" twice")),
                Some(word) => out.push(word),
                None => {}
            }
        }
        out
    }

    /// Reads `true` or `false` into `into`, if the key is there.
    pub(crate) fn flag(&self, name: &'static str, into: &mut bool, report: &mut Report) {
        let Some(item) = self.get(name) else { return };
        match item.node.value {
            Value::Bool(value) => *into = value,
            ref other => item.error(report, format!("must be true or false, not {}", other.kind())),
        }
    }
}

fn one_of(item: &Item<'_>, text: &str, words: &[&'static str], report: &mut Report) -> Option<&'static str> {
    let found = words.iter().copied().find(|word| *word == text);
    if found.is_none() {
        let shown = escape(text, 40);
        if words.len() <= 4 {
            item.error(report, format!("must be {}, not \"{shown}\"", either(words)));
            return None;
        }
        let problem = format!("has \"{shown}\", which is none of its words");
        match nearest(text, words.iter().copied()) {
            Some(word) => item.error_with_hint(report, problem, format!("did you mean \"{word}\"?")),
            None => item.error_with_hint(report, problem, "docs/policy.md lists them"),
        }
    }
    found
}

/// `a, b or c`.
fn either(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// A key's value, or one entry of it where it is a list.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) key: &'a str,
    pub(crate) key_at: At,
    place: &'a str,
    pub(crate) node: &'a Node,
}

impl<'a> Item<'a> {
    /// Reports `"key" in place <problem>` where the value is.
    pub(crate) fn error(&self, report: &mut Report, problem: impl fmt::Display) {
        report.error(self.node.at, self.message(problem));
    }

    /// The same with a hint.
    pub(crate) fn error_with_hint(&self, report: &mut Report, problem: impl fmt::Display, hint: impl Into<String>) {
        report.error_with_hint(self.node.at, self.message(problem), hint);
    }

    fn message(&self, problem: impl fmt::Display) -> String {
        format!("\"{}\" in {} {problem}", escape(self.key, 80), self.place)
    }

    /// A text that is neither empty nor longer than anybody needs.
    pub(crate) fn text(&self, report: &mut Report) -> Option<&'a str> {
        self.text_in("text", QUOTES, report)
    }

    fn text_in(&self, what: &str, hint: &str, report: &mut Report) -> Option<&'a str> {
        match &self.node.value {
            Value::Text(text) if text.is_empty() => self.error(report, "must not be empty"),
            Value::Text(text) if text.len() > MOST_TEXT => {
                self.error(report, format!("must have at most {MOST_TEXT} bytes"));
            }
            Value::Text(text) => return Some(text),
            _ => self.wrong_kind_with_hint(what, hint, report),
        }
        None
    }

    /// One text or a list of them; at least one. Those that are not texts are reported and left out.
    pub(crate) fn texts(&self, report: &mut Report) -> Vec<(Self, &'a str)> {
        match &self.node.value {
            Value::List(_) => self
                .list(report)
                .into_iter()
                .filter_map(|item| Some((item, item.text(report)?)))
                .collect(),
            Value::Text(_) => self.text(report).map(|text| (*self, text)).into_iter().collect(),
            _ => {
                self.wrong_kind("text or a list of texts", report);
                Vec::new()
            }
        }
    }

    /// One pattern or a list of them; those that are none are reported and left out.
    pub(crate) fn patterns(
        &self,
        compile: fn(&str) -> Result<Pattern, InvalidPattern>,
        report: &mut Report,
    ) -> Vec<Pattern> {
        let mut out = Vec::new();
        for (item, text) in self.texts(report) {
            match compile(text) {
                Ok(pattern) => out.push(pattern),
                Err(problem) => item.error(report, problem),
            }
        }
        out
    }

    /// A list with at least one entry.
    pub(crate) fn list(&self, report: &mut Report) -> Vec<Self> {
        match &self.node.value {
            Value::List(list) if list.is_empty() => self.error(report, "must not be empty"),
            Value::List(list) => return list.iter().map(|node| Self { node, ..*self }).collect(),
            other => self.error(report, format!("must be a list, not {}", other.kind())),
        }
        Vec::new()
    }

    /// A mapping with keys that are the admin's own.
    pub(crate) fn map(&self, report: &mut Report) -> Vec<Item<'a>> {
        match &self.node.value {
            Value::Map(entries) => entries
                .iter()
                .map(|(key, node)| Item {
                    key: &key.text,
                    key_at: key.at,
                    place: self.place,
                    node,
                })
                .collect(),
            other => {
                self.error(report, format!("must be a mapping, not {}", other.kind()));
                Vec::new()
            }
        }
    }

    /// Reports that the value is not `what`.
    pub(crate) fn wrong_kind(&self, what: &str, report: &mut Report) {
        self.wrong_kind_with_hint(what, QUOTES, report);
    }

    fn wrong_kind_with_hint(&self, what: &str, hint: &str, report: &mut Report) {
        let value = &self.node.value;
        let problem = format!("must be {what}, not {}", value.kind());
        match value {
            Value::Number(_) | Value::Bool(_) => self.error_with_hint(report, problem, hint),
            _ => self.error(report, problem),
        }
    }
}
