//! YAML as a tree that knows where each of its parts was written.

use devgate_types::escape;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{
    DuplicateKeyPolicy, Error, Location, MergeKeyPolicy, MessageFormatter, NonFiniteFloatPolicy, Options, Spanned,
    UserMessageFormatter,
};
use std::fmt;

/// The largest file that is read.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;
/// The deepest nesting; the sample policies need seven.
const MAX_DEPTH: usize = 32;
/// The most keys, values, lists and mappings in a file.
const MAX_NODES: usize = 100_000;

/// What has no anchors, and what to do instead; the first words say what kind of file it is.
const NO_ALIASES: &str = "has no anchors (&) and aliases (*), write the entry out or put the text in quotes";

/// A place in a file, both from 1; `0` stands for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct At {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

impl From<Location> for At {
    fn from(location: Location) -> Self {
        let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Self { line: number(location.line()), column: number(location.column()) }
    }
}

/// A value and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it starts.
    pub at: At,
    /// What it is.
    pub value: Value,
}

/// A key and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Where it starts.
    pub at: At,
    /// The key itself, as written.
    pub text: String,
}

/// What YAML can say.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing, or `~`.
    Null,
    /// `true` or `false`, and no other word.
    Bool(bool),
    /// Finite.
    Number(Number),
    /// Anything else that is no list and no mapping.
    Text(String),
    /// In order.
    List(Vec<Node>),
    /// In order; no key is there twice.
    Map(Vec<(Key, Node)>),
}

impl Value {
    /// What it is, with an article: `a list`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

impl Node {
    /// The same as JSON, without the places.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(b) => (*b).into(),
            Value::Number(n) => serde_json::Value::Number(n.clone()),
            Value::Text(text) => text.as_str().into(),
            Value::List(list) => list.iter().map(Self::to_json).collect(),
            Value::Map(map) => map.iter().map(|(k, v)| (k.text.clone(), v.to_json())).collect(),
        }
    }
}

/// Reads a policy's document.
pub(crate) fn read(text: &str) -> Result<Node, (At, String)> {
    read_as("a policy", text)
}

/// Reads one document of at most 1 MiB, with everything refused that hides what a policy grants: duplicate keys, merge keys,
/// anchors and aliases, tags of the writer's own, several documents in one file. `what` says in messages what kind of file it is:
/// `a policy`.
pub fn read_as(what: &str, text: &str) -> Result<Node, (At, String)> {
    let start = At { line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes, more than the {MAX_BYTES} that are read", text.len());
        return Err((start, message));
    }
    match serde_saphyr::from_str_with_options::<Node>(text, options()) {
        Ok(node) if node.value == Value::Null => Err((start, "the file is empty".to_owned())),
        Ok(node) => Ok(node),
        Err(error) => Err(explain(what, text, &error)),
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_documents: 1,
            max_total_scalar_bytes: MAX_BYTES,
            max_total_comment_bytes: MAX_BYTES,
            max_buffered_comment_events: 10_000,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        // Only `true` and `false`: `no`, `off` and `y` are text.
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    }
}

fn explain(what: &str, text: &str, error: &Error) -> (At, String) {
    let no_aliases = || format!("{what} {NO_ALIASES}");
    let at = error.location().map(At::from).unwrap_or_default();
    let message = match error.without_snippet() {
        Error::Eof { .. } => "the file is empty".to_owned(),
        Error::MultipleDocuments { .. } => "the file has several YAML documents, write one per file".to_owned(),
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("the key \"{}\" is here twice", escape(key, 80)),
        Error::DuplicateMappingKey { .. } => "a key is here twice".to_owned(),
        Error::MergeKeyNotAllowed { .. } => format!("{what} has no merge keys (<<), write the entry out"),
        Error::UnknownAnchor { .. } => no_aliases(),
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } | BudgetBreach::AliasAnchorRatio { .. } => {
                no_aliases()
            }
            BudgetBreach::Depth { .. } => format!("the file is nested deeper than {MAX_DEPTH} levels"),
            BudgetBreach::Documents { .. } => "the file has several YAML documents, write one per file".to_owned(),
            _ => format!("the file has more entries than {what} may have ({MAX_NODES})"),
        },
        other => format!("cannot be read as YAML: {}", escape(&UserMessageFormatter.format_message(other), 200)),
    };
    let has_tab = |line: &str| line.len() != line.trim_start_matches([' ', '\t']).len() && indent(line).contains('\t');
    let line = usize::try_from(at.line).unwrap_or(usize::MAX);
    let tab = line.checked_sub(1).and_then(|n| text.lines().nth(n)).is_some_and(has_tab);
    // A pattern that starts with a star and has no quotes; the parser itself speaks of an anchor without a name.
    if message.starts_with("cannot be read") && message.contains("anchor or alias") {
        return (at, no_aliases());
    }
    if tab && message.starts_with("cannot be read") {
        return (at, "cannot be read as YAML: a tab indents this line, use spaces".to_owned());
    }
    (at, message)
}

fn indent(line: &str) -> &str {
    line.strip_suffix(line.trim_start_matches([' ', '\t'])).unwrap_or_default()
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { at: spanned.referenced.into(), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number must be finite"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = seq.next_element::<Node>()? {
            list.push(node);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let at = key.referenced.into();
            entries.push((Key { at, text: key.value }, map.next_value::<Node>()?));
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        let (at, message) = read(text).unwrap_err();
        format!("{}:{}: {message}", at.line, at.column)
    }

    #[test]
    fn values_keep_their_kind_and_their_place() {
        let node = read("a: yes\n\"94\":\n  - 0x10de\n  - true\n  - 1.5\n  - ~\n").unwrap();
        let Value::Map(entries) = &node.value else { panic!("{node:?}") };
        assert_eq!(entries[1].0.at, At { line: 2, column: 1 });
        let Value::List(list) = &entries[1].1.value else { panic!("{node:?}") };
        assert_eq!(list[0].at, At { line: 3, column: 5 });
        assert_eq!(node.to_json(), serde_json::json!({"a": "yes", "94": [0x10de, true, 1.5, null]}));
    }

    #[test]
    fn what_hides_a_grant_is_refused() {
        insta::assert_snapshot!(message("a: 1\nb: 2\na: 3\n"), @r#"3:1: the key "a" is here twice"#);
        insta::assert_snapshot!(message("a: &x [1]\nb: *x\n"), @"1:7: a policy has no anchors (&) and aliases (*), write the entry out or put the text in quotes");
        insta::assert_snapshot!(message("a: [1]\nb: *x\n"), @"2:4: a policy has no anchors (&) and aliases (*), write the entry out or put the text in quotes");
        insta::assert_snapshot!(message("a: *\n"), @"1:4: a policy has no anchors (&) and aliases (*), write the entry out or put the text in quotes");
        insta::assert_snapshot!(message("a: {b: 1}\nc:\n  <<: {d: 1}\n"), @"3:3: a policy has no merge keys (<<), write the entry out");
        insta::assert_snapshot!(message("a: 1\n---\nb: 1\n"), @"2:1: the file has several YAML documents, write one per file");
        insta::assert_snapshot!(message("a: !env HOME\n"), @"1:9: cannot be read as YAML: unsupported tag `!env`");
        insta::assert_snapshot!(message("a: .nan\n"), @"1:4: cannot be read as YAML: value `.nan` is not a finite number");
        insta::assert_snapshot!(message("a:\n\t- b\n"), @"2:2: cannot be read as YAML: a tab indents this line, use spaces");
        insta::assert_snapshot!(message("a: [b\n"), @"1:4: cannot be read as YAML: unclosed bracket '['");
        insta::assert_snapshot!(message("a: {b: c\nd: e\n"), @"2:2: cannot be read as YAML: while parsing a flow mapping, did not find expected ',' or '}'");
        insta::assert_snapshot!(message(""), @"1:1: the file is empty");
        insta::assert_snapshot!(message("# only this\n"), @"1:1: the file is empty");
        insta::assert_snapshot!(message("? [a]\n: b\n"), @"1:3: cannot be read as YAML: expected string scalar");
        insta::assert_snapshot!(message("a: \"\\q\"\n"), @"1:4: cannot be read as YAML: while parsing a quoted scalar, found unknown escape character");
    }

    #[test]
    fn size_and_depth_are_bounded() {
        let nested = |n: usize| format!("a: {}{}\n", "[".repeat(n), "]".repeat(n));
        assert!(read(&nested(MAX_DEPTH - 1)).is_ok());
        insta::assert_snapshot!(message(&nested(MAX_DEPTH + 1)), @"1:35: the file is nested deeper than 32 levels");
        assert!(read(&nested(100_000)).is_err());
        let block = (0..500).map(|n| format!("{}a:\n", " ".repeat(n))).collect::<String>();
        assert!(message(&block).contains("deeper than 32"));
        let long = "#".repeat(MAX_BYTES - 5) + "\na: b";
        assert!(read(&long).is_ok());
        insta::assert_snapshot!(message(&(long + "c")), @"1:1: the file has 1048577 bytes, more than the 1048576 that are read");
        assert!(message(&"- a\n".repeat(MAX_NODES + 1)).contains("more entries than a policy may have"));
    }
}
