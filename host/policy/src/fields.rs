//! Reading one mapping strictly: every key known, every value of its kind, every mistake reported and none fatal.

use crate::error::{Problem, Report};
use crate::key::{Key, Kind, Section, nearest};
use crate::pattern::Pattern;
use crate::yaml::{At, Node, Value};
use crate::{Origin, dangerous, time};
use devgate_types::{ByteSize, escape};
use std::fmt::Display;
use std::time::Duration;

/// The longest text that a policy needs anywhere but in `config`.
const MAX_TEXT: usize = 4_096;
/// What to do where YAML sees a number in what should be text.
const QUOTES: &str = "put it in quotes";
const UNIT: &str = "add a unit";

/// One mapping of the policy, its unknown keys already reported.
pub(crate) struct Fields<'a> {
    at: At,
    place: &'a str,
    known: Vec<(&'static Key, At, &'a Node)>,
    report: &'a Report,
}

impl<'a> Fields<'a> {
    /// Opens a mapping; reports and gives nothing where it is something else. `place` says where the keys are, for
    /// messages: `plugin "acme"`.
    pub(crate) fn open(node: &'a Node, place: &'a str, section: &Section, report: &'a Report) -> Option<Self> {
        let Value::Map(entries) = &node.value else {
            report.error(node.at, format!("{place} must be a mapping, not {}", node.value.kind()));
            return None;
        };
        let mut known = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            if let Some(known_key) = section.find(&key.text) {
                known.push((known_key, key.at, value));
                continue;
            }
            let near = || nearest(&key.text, section.keys.iter().map(|key| key.name));
            let hint = match section.parent_of(&key.text) {
                Some(parent) => format!("; it belongs under \"{parent}\""),
                None => near().map_or(String::new(), |name| format!("; did you mean \"{name}\"?")),
            };
            let shown = escape(&key.text, 80);
            report.error(key.at, format!("unknown key \"{shown}\" in {place}{hint}"));
        }
        Some(Self { at: node.at, place, known, report })
    }

    /// Reports this where the mapping is.
    pub(crate) fn error(&self, message: impl Display) {
        self.report.error(self.at, message);
    }

    /// The same mapping without one key.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.known.retain(|(key, ..)| key.name != name);
        self
    }

    /// The value of one key.
    pub(crate) fn get(&self, name: &str) -> Option<Item<'a>> {
        Some(self.find(name)?.0)
    }

    /// The value of one key, and what the table says that it may be.
    fn find(&self, name: &str) -> Option<(Item<'a>, Kind)> {
        let (key, key_at, node) = self.known.iter().find(|(key, ..)| key.name == name)?;
        let item = Item { key: key.name, key_at: *key_at, place: self.place, node, report: self.report };
        Some((item, key.kind))
    }

    /// The value of one key that must be there.
    pub(crate) fn need(&self, name: &str) -> Option<Item<'a>> {
        let item = self.get(name);
        if item.is_none() {
            self.error(format!("{} has no \"{name}\"", self.place));
        }
        item
    }

    /// What is read of a key's value; what stands for nothing where the key is not there.
    pub(crate) fn read<T: Default>(&self, name: &str, read: impl FnOnce(&Item<'a>) -> T) -> T {
        self.get(name).map(|item| read(&item)).unwrap_or_default()
    }

    /// The patterns of one key; none where it is not there.
    pub(crate) fn patterns(&self, name: &str, compile: fn(&str) -> Result<Pattern, Problem>) -> Vec<Pattern> {
        self.read(name, |item| item.patterns(compile))
    }

    /// Reads a duration into `into`, if the key is there; its range is the table's.
    pub(crate) fn duration(&self, name: &str, into: &mut Duration) {
        let Some((item, Kind::Time(least, most))) = self.find(name) else {
            return;
        };
        let Some(text) = item.text_in("a duration such as 500ms, 2s or 5m", UNIT) else {
            return;
        };
        let (between, shown) = ([least, most].map(time::show).join(" and "), escape(text, 40));
        match time::parse(text) {
            Some(value) if (least..=most).contains(&value) => *into = value,
            Some(_) => item.error(format!("must be between {between}, not {shown}")),
            None => item.error(format!("must be a whole number and us, ms, s, m or h, such as 500ms, not \"{shown}\"")),
        }
    }

    /// Reads a size into `into`, if the key is there; its range is the table's.
    pub(crate) fn size(&self, name: &str, into: &mut ByteSize) {
        let Some((item, Kind::Size(least, most))) = self.find(name) else {
            return;
        };
        let Some(text) = item.text_in("a size such as 64KiB or 16MiB", UNIT) else {
            return;
        };
        match text.parse::<ByteSize>() {
            Ok(value) if (least..=most).contains(&value) => *into = value,
            Ok(value) => item.error(format!("must be between {least} and {most}, not {value}")),
            Err(_) => item.error(format!(
                "must be a whole number and B, KiB, MiB or GiB, such as 16MiB, not \"{}\"",
                escape(text, 40)
            )),
        }
    }

    /// Reads a number into `into`, if the key is there; its range is the table's.
    pub(crate) fn number(&self, name: &str, into: &mut u32) {
        let Some((item, Kind::Number(least, most))) = self.find(name) else {
            return;
        };
        let Value::Number(number) = &item.node.value else {
            return item.error(format!("must be a whole number, not {}", item.node.value.kind()));
        };
        let number = number.as_u64().and_then(|n| u32::try_from(n).ok());
        match number.filter(|value| (least..=most).contains(value)) {
            Some(value) => *into = value,
            None => item.error(format!("must be a whole number between {least} and {most}")),
        }
    }

    /// One of the words that the table lists, if the key is there.
    pub(crate) fn word(&self, name: &str) -> Option<&'static str> {
        match self.find(name)? {
            (item, Kind::OneOf(words)) => one_of(&item, item.text()?, words),
            _ => None,
        }
    }

    /// At most so many names with one of the words that the table lists each.
    pub(crate) fn named_words(&self, name: &str, most: usize) -> Vec<(Item<'a>, &'static str)> {
        match self.find(name) {
            Some((item, Kind::NamedWords(words))) => {
                let entries = item.map(most).into_iter();
                entries.filter_map(|entry| Some((entry, one_of(&entry, entry.text()?, words)?))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The words of a list that the table has as well, each once, if the key is there.
    pub(crate) fn words(&self, name: &str) -> Vec<&'static str> {
        let Some((item, kind)) = self.find(name) else {
            return Vec::new();
        };
        let words = match kind {
            Kind::SomeOf(words) => words.to_vec(),
            _ => dangerous::words(),
        };
        let texts = item.texts_once(usize::MAX).into_iter();
        texts.filter_map(|(item, text)| one_of(&item, text, &words)).collect()
    }

    /// Whether a key says `true`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        let Some(item) = self.get(name) else { return false };
        match item.node.value {
            Value::Bool(value) => return value,
            ref other => item.error(format!("must be true or false, not {}", other.kind())),
        }
        false
    }
}

fn one_of(item: &Item<'_>, text: &str, words: &[&'static str]) -> Option<&'static str> {
    let found = words.iter().copied().find(|word| *word == text);
    if found.is_none() {
        let shown = escape(text, 40);
        item.error(match nearest(text, words.iter().copied()) {
            _ if words.len() <= 4 => format!("must be {}, not \"{shown}\"", either(words)),
            Some(word) => format!("has \"{shown}\", which is none of its words; did you mean \"{word}\"?"),
            None => format!("has \"{shown}\", which is none of its words; docs/policy.md lists them"),
        });
    }
    found
}

/// `a, b or c`.
fn either(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// A key's value, or one entry of it where it is a list.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) key: &'a str,
    pub(crate) key_at: At,
    place: &'a str,
    pub(crate) node: &'a Node,
    pub(crate) report: &'a Report,
}

impl<'a> Item<'a> {
    /// Opens the value as a mapping at another `place`.
    pub(crate) fn open<'b>(&self, place: &'b str, section: &Section) -> Option<Fields<'b>>
    where
        'a: 'b,
    {
        Fields::open(self.node, place, section, self.report)
    }

    /// Where the value is.
    pub(crate) fn origin(&self) -> Origin {
        self.report.origin(self.node.at)
    }

    /// Reports `"key" in place <problem>` where the value is.
    pub(crate) fn error(&self, problem: impl Display) {
        let key = escape(self.key, 80);
        self.report.error(self.node.at, format!("\"{key}\" in {} {problem}", self.place));
    }

    /// Reports this where the key is.
    pub(crate) fn error_at_key(&self, message: impl Display) {
        self.report.error(self.key_at, message);
    }

    /// A text that is neither empty nor longer than anybody needs.
    pub(crate) fn text(&self) -> Option<&'a str> {
        self.text_in("text", QUOTES)
    }

    fn text_in(&self, what: &str, hint: &str) -> Option<&'a str> {
        match &self.node.value {
            Value::Text(text) if text.is_empty() => self.error("must not be empty"),
            Value::Text(text) if text.len() > MAX_TEXT => self.error(format!("must have at most {MAX_TEXT} bytes")),
            Value::Text(text) => return Some(text),
            _ => self.wrong_kind_with_hint(what, hint),
        }
        None
    }

    /// What is made of a text; what is wrong with it is reported.
    pub(crate) fn parse<T, E: Display>(&self, make: impl FnOnce(&'a str) -> Result<T, E>) -> Option<T> {
        make(self.text()?).map_err(|problem| self.error(problem)).ok()
    }

    /// One text or a list of at most so many; at least one. Those that are not texts are reported and left out.
    pub(crate) fn texts(&self, most: usize) -> Vec<(Self, &'a str)> {
        let items = match &self.node.value {
            Value::List(_) => self.list(most),
            Value::Text(_) => vec![*self],
            _ => {
                self.wrong_kind("text or a list of texts");
                Vec::new()
            }
        };
        items.into_iter().filter_map(|item| Some((item, item.text()?))).collect()
    }

    /// The same, and those that are there already are reported and left out.
    pub(crate) fn texts_once(&self, most: usize) -> Vec<(Self, &'a str)> {
        let mut out: Vec<(Self, &str)> = Vec::new();
        for (item, text) in self.texts(most) {
            if out.iter().any(|(_, other)| *other == text) {
                item.error(format!("has \"{}\" twice", escape(text, 80)));
            } else {
                out.push((item, text));
            }
        }
        out
    }

    /// What is made of one text or a list of at most so many; what is wrong is reported and left out.
    pub(crate) fn each<T, E: Display>(&self, most: usize, make: impl Fn(&'a str) -> Result<T, E>) -> Vec<T> {
        let texts = self.texts(most).into_iter();
        let made = |(item, text)| make(text).map_err(|problem| Self::error(&item, problem)).ok();
        texts.filter_map(made).collect()
    }

    /// One pattern or a list of them; those that are none are reported and left out.
    pub(crate) fn patterns(&self, compile: fn(&str) -> Result<Pattern, Problem>) -> Vec<Pattern> {
        self.each(usize::MAX, compile)
    }

    /// A list with one entry at least and so many at most; those behind them are left out.
    pub(crate) fn list(&self, most: usize) -> Vec<Self> {
        match &self.node.value {
            Value::List(list) if list.is_empty() => self.error("must not be empty"),
            Value::List(list) => return self.at_most(most, list.iter().map(|node| Self { node, ..*self })),
            other => self.error(format!("must be a list, not {}", other.kind())),
        }
        Vec::new()
    }

    /// A mapping with at most so many keys that are the admin's own; those behind them are left out.
    pub(crate) fn map(&self, most: usize) -> Vec<Self> {
        let Value::Map(entries) = &self.node.value else {
            self.error(format!("must be a mapping, not {}", self.node.value.kind()));
            return Vec::new();
        };
        let entry = |(key, node): &'a (crate::yaml::Key, Node)| Self { key: &key.text, key_at: key.at, node, ..*self };
        self.at_most(most, entries.iter().map(entry))
    }

    fn at_most(&self, most: usize, items: impl ExactSizeIterator<Item = Self>) -> Vec<Self> {
        if items.len() > most {
            self.error(format!("must have at most {most} entries"));
        }
        items.take(most).collect()
    }

    /// Reports that the value is not `what`.
    pub(crate) fn wrong_kind(&self, what: &str) {
        self.wrong_kind_with_hint(what, QUOTES);
    }

    fn wrong_kind_with_hint(&self, what: &str, hint: &str) {
        let value = &self.node.value;
        let hint = match value {
            Value::Number(_) | Value::Bool(_) => format!("; {hint}"),
            _ => String::new(),
        };
        self.error(format!("must be {what}, not {}{hint}", value.kind()));
    }
}
