//! Reading a scenario's text strictly: every key known, every value of its kind, every mistake told with its place.

use devgate_node::parse_number;
use devgate_policy::yaml::{At, Node, Value};
use devgate_policy::{nearest, parse_duration};
use devgate_types::{NodeKind, NodeNumber, escape};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// Longer text in a message is cut.
const SHOWN: usize = 80;

/// What is wrong in one file.
#[derive(Default)]
pub(super) struct Report(RefCell<Vec<(At, String)>>);

impl Report {
    /// Something is wrong at a place.
    pub(super) fn error(&self, at: At, message: impl Into<String>) {
        self.0.borrow_mut().push((at, message.into()));
    }

    /// Everything that is wrong, one line each, in the order of the file; empty where all is well.
    pub(super) fn text(self, file: &Path) -> String {
        let mut wrong = self.0.into_inner();
        wrong.sort_by_key(|(at, _)| (at.line, at.column));
        let file = escape(&file.display().to_string(), 256);
        let line = |(at, message): &(At, String)| match at.line {
            0 => format!("{file}: {message}"),
            _ => format!("{file}:{}:{}: {message}", at.line, at.column),
        };
        wrong.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// What a scenario says somewhere.
pub(super) trait Read: Sized {
    /// `None` if it is wrong, which is in the report then.
    fn read(item: &Item<'_>) -> Option<Self>;
}

/// A key's value and where the key stands; an element of a list has the list's key.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) key: &'a str,
    pub(super) at: At,
    pub(super) node: &'a Node,
    pub(super) report: &'a Report,
}

/// A mapping whose keys are all known.
pub(super) struct Fields<'a> {
    of: Item<'a>,
    what: String,
    pub(super) items: Vec<Item<'a>>,
}

impl<'a> Item<'a> {
    /// `None`, and the report says what there must be.
    pub(super) fn wrong<T>(&self, wanted: &str) -> Option<T> {
        let shown = match &self.node.value {
            Value::Text(text) => format!("\"{}\"", escape(text, SHOWN)),
            Value::Number(number) => number.to_string(),
            other => other.kind().to_owned(),
        };
        let key = escape(self.key, SHOWN);
        let message = format!("\"{key}\" must be {wanted}, not {shown}");
        self.report.error(self.node.at, message);
        None
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(self.node.value, Value::Map(_))
    }

    /// A mapping of these keys, which are parted by spaces. `what` says in messages what it is, with its article: `a step`.
    pub(super) fn fields(&self, what: &str, known: &str) -> Option<Fields<'a>> {
        let mut items = self.entries(what)?;
        items.retain(|item| {
            let hint = match nearest(item.key, known.split(' ')) {
                _ if known.split(' ').any(|key| key == item.key) => return true,
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("it is one of {}", known.replace(' ', ", ")),
            };
            let message = format!("unknown key \"{}\" in {what}; {hint}", escape(item.key, SHOWN));
            self.report.error(item.at, message);
            false
        });
        let what = what.to_owned();
        Some(Fields { of: *self, what, items })
    }

    /// A mapping whose keys may be any.
    pub(super) fn entries(&self, what: &str) -> Option<Vec<Self>> {
        let Value::Map(entries) = &self.node.value else {
            let message = format!("{what} is a mapping, not {}", self.node.value.kind());
            self.report.error(self.node.at, message);
            return None;
        };
        let item = |(key, node): &'a (devgate_policy::yaml::Key, Node)| Self {
            key: &key.text,
            at: key.at,
            node,
            report: self.report,
        };
        Some(entries.iter().map(item).collect())
    }

    pub(super) fn list(&self) -> Option<Vec<Self>> {
        match &self.node.value {
            Value::List(list) => Some(list.iter().map(|node| Self { node, ..*self }).collect()),
            _ => self.wrong("a list"),
        }
    }
}

impl<'a> Fields<'a> {
    pub(super) fn item(&self, key: &str) -> Option<&Item<'a>> {
        self.items.iter().find(|item| item.key == key)
    }

    /// `None` if it is wrong or not there.
    pub(super) fn get<T: Read>(&self, key: &str) -> Option<T> {
        self.item(key).and_then(T::read)
    }

    /// What must be there.
    pub(super) fn need<T: Read>(&self, key: &str) -> Option<T> {
        T::read(self.need_item(key)?)
    }

    pub(super) fn need_item(&self, key: &str) -> Option<&Item<'a>> {
        let item = self.item(key);
        if item.is_none() {
            let message = format!("{} has no \"{key}\"", self.what);
            self.of.report.error(self.of.node.at, message);
        }
        item
    }
}

/// Text, and nothing that only looks like it.
impl Read for String {
    fn read(item: &Item<'_>) -> Option<Self> {
        match &item.node.value {
            Value::Text(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => {
                let (key, shown) = (escape(item.key, SHOWN), item.node.to_json());
                let message = format!("\"{key}\" must be text, not {shown}; put it in quotes");
                item.report.error(item.node.at, message);
                None
            }
            _ => item.wrong("text"),
        }
    }
}

impl Read for Duration {
    fn read(item: &Item<'_>) -> Option<Self> {
        let parsed = match &item.node.value {
            Value::Text(text) => parse_duration(text),
            _ => None,
        };
        parsed.or_else(|| item.wrong("a whole number and us, ms, s, m or h, such as 500ms"))
    }
}

impl Read for usize {
    fn read(item: &Item<'_>) -> Option<Self> {
        let parsed = match &item.node.value {
            Value::Number(number) => number.as_u64().and_then(|number| Self::try_from(number).ok()),
            _ => None,
        };
        parsed.or_else(|| item.wrong("a whole number"))
    }
}

impl Read for bool {
    fn read(item: &Item<'_>) -> Option<Self> {
        match &item.node.value {
            Value::Bool(yes) => Some(*yes),
            _ => item.wrong("true or false"),
        }
    }
}

/// `c 195:0`
impl Read for NodeNumber {
    fn read(item: &Item<'_>) -> Option<Self> {
        let text = String::read(item)?;
        let parsed = text.split_once(' ').and_then(|(kind, number)| {
            let (major, minor) = parse_number(number)?;
            let kind = match kind {
                "c" => NodeKind::Character,
                "b" => NodeKind::Block,
                _ => return None,
            };
            Some(Self { kind, major, minor })
        });
        parsed.or_else(|| item.wrong("c or b, a space, and major:minor, such as \"c 195:0\""))
    }
}

impl Read for Node {
    fn read(item: &Item<'_>) -> Option<Self> {
        Some(item.node.clone())
    }
}

/// `null` says that it is not there.
impl<T: Read> Read for Option<T> {
    fn read(item: &Item<'_>) -> Option<Self> {
        match &item.node.value {
            Value::Null => Some(None),
            _ => T::read(item).map(Some),
        }
    }
}

/// A list, or the one that would be in it.
impl<T: Read> Read for Vec<T> {
    fn read(item: &Item<'_>) -> Option<Self> {
        match &item.node.value {
            Value::List(_) => item.list()?.iter().map(T::read).collect(),
            _ => T::read(item).map(|one| vec![one]),
        }
    }
}

impl Read for BTreeSet<i64> {
    fn read(item: &Item<'_>) -> Option<Self> {
        let numbers = Vec::<usize>::read(item)?.into_iter();
        numbers.map(|number| i64::try_from(number).ok()).collect()
    }
}

impl<T: Read> Read for BTreeMap<String, T> {
    fn read(item: &Item<'_>) -> Option<Self> {
        let entries = item.entries(&format!("\"{}\"", escape(item.key, SHOWN)))?;
        let read = |item: &Item<'_>| Some((item.key.to_owned(), T::read(item)?));
        entries.iter().map(read).collect()
    }
}
