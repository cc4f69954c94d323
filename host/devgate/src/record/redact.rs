//! Serial numbers, addresses and ids of one very machine, replaced by made-up ones of the same form.
//!
//! First everything is looked through for what stands where a serial number stands, and for what is public: an id in a
//! `modalias` says the kind of a device. Then everything is looked through again and replaced: what was learnt wherever it stands
//! by itself, and what has the form of an address or id. Equal values have equal replacements, however they are written.

mod forms;
mod keys;
mod made_up;
#[cfg(test)]
mod tests;

use anyhow::Context;
use devgate_node::{Instead, Node, NodeError, Text, Unwritten};
use forms::Forms;
use keys::Keys;
use made_up::MadeUp;
use regex::Regex;
use std::collections::BTreeMap;

/// Files that are no text and have nothing in them of one very device.
const PUBLIC_BINARY: [&str; 2] = ["descriptors", "report_descriptor"];
/// The shortest text that is looked for wherever it may stand.
const SHORTEST: usize = 4;
/// Names that are no machine's own.
const ANY_HOST: [&str; 8] = [
    "localhost",
    "debian",
    "ubuntu",
    "fedora",
    "linux",
    "host",
    "node",
    "(none)",
];

/// Replaces what must not be known.
pub(super) struct Redactor {
    forms: Forms,
    keys: Keys,
    more: Vec<Regex>,
    made_up: MadeUp,
    /// What was learnt to be somebody's own: what it is, and what comes in its place; the longest first.
    own: Vec<(String, String, &'static str)>,
    /// By kind: how many values, in how many places.
    counts: BTreeMap<&'static str, (BTreeMap<String, ()>, usize)>,
    left: Vec<Unwritten>,
}

impl Redactor {
    /// With further patterns to replace.
    pub(super) fn new(more: &[String]) -> anyhow::Result<Self> {
        let compiled = more
            .iter()
            .map(|text| Regex::new(text).with_context(|| format!("--redact {text:?}")));
        Ok(Self {
            forms: Forms::new()?,
            keys: Keys::new()?,
            more: compiled.collect::<anyhow::Result<_>>()?,
            made_up: MadeUp::default(),
            own: Vec::new(),
            counts: BTreeMap::new(),
            left: Vec::new(),
        })
    }

    /// Learns the name of the computer that the node is.
    pub(super) fn know_host(&mut self, node: &Node) {
        let name = node.file("/proc/sys/kernel/hostname", 256).unwrap_or_default();
        let name = String::from_utf8_lossy(&name).trim().to_owned();
        if name.len() >= SHORTEST && !ANY_HOST.contains(&&*name.to_ascii_lowercase()) {
            self.learn(&name, "host names");
        }
    }

    /// The node without what is its own.
    pub(super) fn redact(&mut self, node: &Node) -> Result<Node, NodeError> {
        node.rewritten(&mut |text| {
            if let Text::Content { path, bytes } = text
                && let Some(content) = readable(bytes)
            {
                self.study(path, content);
            }
            Instead::Same
        })?;
        self.own.sort_by_key(|(text, ..)| std::cmp::Reverse(text.len()));
        node.rewritten(&mut |text| match text {
            Text::Name(text) | Text::Target(text) | Text::Line(text) => self.instead(text),
            Text::Content { path, bytes } => match readable(bytes) {
                Some(content) => self.instead(content),
                None => self.binary(path),
            },
            _ => Instead::Same,
        })
    }

    /// What was replaced: kind, number of values, number of places.
    pub(super) fn counts(&self) -> Vec<(&'static str, usize, usize)> {
        let one =
            |(kind, (values, places)): (&&'static str, &(BTreeMap<String, ()>, usize))| (*kind, values.len(), *places);
        self.counts.iter().map(one).collect()
    }

    /// What was not kept, because nobody can tell what is in it.
    pub(super) fn left(&self) -> &[Unwritten] {
        &self.left
    }

    fn binary(&mut self, path: &str) -> Instead {
        let name = path.rsplit('/').next().unwrap_or_default();
        if PUBLIC_BINARY.contains(&name) {
            return Instead::Same;
        }
        self.left.push(Unwritten {
            path: format!("/{path}"),
            why: "is no text, and may have a serial number in it (--no-redact keeps it)".to_owned(),
        });
        Instead::Nothing
    }

    /// Learns from one file.
    fn study(&mut self, path: &str, content: &str) {
        let name = path.rsplit('/').next().unwrap_or_default();
        if name == "modalias" {
            self.made_up.keep(self.forms.ids(content));
            return;
        }
        for line in content.lines().filter(|line| line.starts_with("MODALIAS=")) {
            self.made_up.keep(self.forms.ids(line));
        }
        for (value, kind) in self.keys.own(name, content) {
            self.learn(&value, kind);
        }
    }

    /// Learns that a text is somebody's own.
    fn learn(&mut self, text: &str, kind: &'static str) {
        // What has the form of an address is found by that, wherever it stands.
        if self.forms.are_in(text) || self.own.iter().any(|(own, ..)| own == text) {
            return;
        }
        for (from, to) in self.made_up.of_any_form(text, kind) {
            self.own.push((from, to, kind));
        }
    }

    fn instead(&mut self, text: &str) -> Instead {
        let mut new = text.to_owned();
        for (from, to, kind) in &self.own {
            if from.len() >= SHORTEST && new.contains(from.as_str()) {
                let (replaced, times) = by_itself(&new, from, to);
                new = replaced;
                count(&mut self.counts, kind, from, times);
            }
        }
        for pattern in &self.more {
            let made_up = &mut self.made_up;
            let counts = &mut self.counts;
            new = forms::replace(pattern, &new, |found| {
                let (_, to) = made_up.of_any_form(found, "values of --redact").into_iter().next()?;
                count(counts, "values of --redact", found, 1);
                Some(to)
            });
        }
        let (made_up, counts) = (&mut self.made_up, &mut self.counts);
        new = self
            .forms
            .replaced(&new, made_up, &mut |kind, value| count(counts, kind, value, 1));
        if new == text {
            Instead::Same
        } else {
            Instead::Bytes(new.into_bytes())
        }
    }
}

fn count(
    counts: &mut BTreeMap<&'static str, (BTreeMap<String, ()>, usize)>,
    kind: &'static str,
    value: &str,
    times: usize,
) {
    if times > 0 {
        let (values, places) = counts.entry(kind).or_default();
        values.insert(value.to_ascii_lowercase(), ());
        *places += times;
    }
}

/// Text that a person could read; nothing for anything else.
fn readable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    // Some drivers end their text with a NUL.
    (!text.trim_end_matches('\0').contains(control)).then_some(text)
}

/// Replaces a text where it is not a part of a longer word; how often.
fn by_itself(text: &str, from: &str, to: &str) -> (String, usize) {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let (mut new, mut rest, mut times) = (String::with_capacity(text.len()), text, 0);
    let mut before = None;
    while let Some((head, tail)) = rest.split_once(from) {
        let last = head.chars().next_back().or(before);
        let alone = !word(last) && !word(tail.chars().next());
        new.push_str(head);
        new.push_str(if alone { to } else { from });
        times += usize::from(alone);
        before = from.chars().next_back();
        rest = tail;
    }
    new.push_str(rest);
    (new, times)
}
