//! Serial numbers, addresses and ids of one very machine, replaced by made-up ones of the same form.
//!
//! First everything is looked through for what stands where a serial number stands, and for what is public: an id in a
//! `modalias` says the kind of a device. Then everything is looked through again and replaced: what was learnt wherever it stands
//! (by itself, where it is short), and what has the form of an address or id. Equal values have equal replacements, however they are written.

mod forms;
mod keys;
mod made_up;
mod own;
#[cfg(test)]
mod tests;

use anyhow::Context;
use devgate_fake_node::{Instead, RecordedNode, Text, Unwritten};
use devgate_node::Node;
use forms::Forms;
use keys::Keys;
use made_up::MadeUp;
use own::{Learnt, Search};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// Files that are no text and have nothing in them of one very device.
const PUBLIC_BINARY: [&str; 2] = ["descriptors", "report_descriptor"];
/// The shortest text that is looked for wherever it may stand.
const SHORTEST: usize = 4;
/// Names that are no machine's own.
const ANY_HOST: &str = "localhost debian ubuntu fedora linux host node (none)";
/// The shortest text that is looked for within longer words, too.
const LONG: usize = 8;

/// The kind of a computer's name, which others may begin with.
const HOST_NAMES: &str = "host names";

/// What was replaced, by kind: which values, in how many places.
#[derive(Default)]
struct Counts(BTreeMap<&'static str, (BTreeSet<String>, usize)>);

impl Counts {
    fn add(&mut self, kind: &'static str, value: &str) {
        let (values, places) = self.0.entry(kind).or_default();
        values.insert(value.to_ascii_lowercase());
        *places += 1;
    }
}

/// Replaces what must not be known.
pub(super) struct Redactor {
    forms: Forms,
    keys: Keys,
    more: Vec<Regex>,
    made_up: MadeUp,
    /// What was learnt to be of this machine alone, by itself in lower case.
    own: BTreeMap<String, Learnt>,
    counts: Counts,
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
            own: BTreeMap::new(),
            counts: Counts::default(),
            left: Vec::new(),
        })
    }

    /// Learns the name of the computer that the node is.
    pub(super) fn know_host(&mut self, node: &Node) {
        let name = node.file("/proc/sys/kernel/hostname", 256).unwrap_or_default();
        let name = String::from_utf8_lossy(&name).trim().to_owned();
        if name.len() >= SHORTEST && ANY_HOST.split(' ').all(|any| !name.eq_ignore_ascii_case(any)) {
            self.learn(&name, HOST_NAMES);
        }
    }

    /// The node without what is its own.
    pub(super) fn redact(&mut self, node: &RecordedNode) -> anyhow::Result<RecordedNode> {
        node.rewritten(&mut |text| {
            if let Text::Content { path, bytes } = text
                && let Some(content) = readable(bytes)
            {
                self.study(path, content);
            }
            Instead::Same
        })?;
        let own = std::mem::take(&mut self.own).into_values();
        let own = Search::new(own.filter(|learnt| learnt.from.len() >= SHORTEST).collect());
        let own = own.context("what was learnt of the node cannot be looked for")?;
        let redacted = node.rewritten(&mut |text| match text {
            Text::Name(text) | Text::Target(text) | Text::Line(text) => self.instead(&own, text),
            Text::Content { path, bytes } => match readable(bytes) {
                Some(content) => self.instead(&own, content),
                None => self.binary(path),
            },
            _ => Instead::Same,
        });
        Ok(redacted?)
    }

    /// What was replaced: kind, number of values, number of places.
    pub(super) fn counts(&self) -> Vec<(&'static str, usize, usize)> {
        let counts = self.counts.0.iter();
        counts
            .map(|(kind, (values, places))| (*kind, values.len(), *places))
            .collect()
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
        for (value, kind) in self.keys.own(path, content) {
            self.learn(&value, kind);
        }
    }

    /// Learns that a text is somebody's own.
    fn learn(&mut self, text: &str, kind: &'static str) {
        // What is an address and no more is found by its form, and keeps who made it.
        if self.forms.cover(text) || self.own.contains_key(&text.to_lowercase()) {
            return;
        }
        for (from, to) in self.made_up.of_any_form(text, kind) {
            // Others may begin with a computer's name.
            let within = kind != HOST_NAMES && from.len() >= LONG;
            let learnt = Learnt { from, to, kind, within };
            self.own.entry(learnt.from.to_lowercase()).or_insert(learnt);
        }
    }

    fn instead(&mut self, own: &Search, text: &str) -> Instead {
        const ASKED: &str = "values of --redact";
        let Self {
            more, made_up, counts, ..
        } = self;
        let mut new = own.replaced(text, counts);
        for pattern in more {
            new = forms::replace(pattern, &new, |found| {
                let (_, to) = made_up.of_any_form(found, ASKED).into_iter().next()?;
                counts.add(ASKED, found);
                Some(to)
            });
        }
        new = self.forms.replaced(&new, made_up, counts);
        match new == text {
            true => Instead::Same,
            false => Instead::Bytes(new.into_bytes()),
        }
    }
}

/// Text that a person could read; nothing for anything else.
fn readable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    // Some drivers end their text with a NUL.
    (!text.trim_end_matches('\0').contains(control)).then_some(text)
}
