//! Serial numbers, addresses and ids of one very machine, replaced by made-up ones of the same form.
//!
//! First everything is looked through for them, and then what was learnt is replaced wherever it stands (by itself, where it is
//! short), in any case of letters. Equal values have equal replacements, and of two that overlap nothing is left of either.

mod identifiers;
mod pseudonyms;
#[cfg(test)]
mod tests;

use aho_corasick::AhoCorasick;
use anyhow::Context;
use devgate_fake_node::{Instead, RecordedNode, Text, Unwritten};
use devgate_node::Node;
use identifiers::Identifiers;
use pseudonyms::{pseudonym, squashed, ways};
use regex::{Captures, Regex};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Files that are no text and have nothing in them of one very device.
const PUBLIC_BINARY: [&str; 2] = ["descriptors", "report_descriptor"];
/// The shortest text that is looked for wherever it may stand.
const SHORTEST: usize = 4;
/// The shortest text that is looked for within longer words, too: some write model and serial number as one.
const LONG: usize = 8;
/// Names that are no machine's own.
const ANY_HOST: &str = "localhost debian ubuntu fedora linux host node (none)";
/// The kind of a computer's name, which others may begin with.
const HOST_NAMES: &str = "host names";

/// Replaces what must not be known.
pub(super) struct Redactor {
    identifiers: Identifiers,
    more: Vec<Regex>,
    /// The number of each value, by its letters and digits.
    numbers: BTreeMap<String, usize>,
    /// What was learnt to be of this machine alone, in lower case: its number and kind.
    learnt: BTreeMap<String, (usize, &'static str)>,
    /// The numbers of what was replaced, by kind.
    pub(super) replaced: BTreeMap<&'static str, BTreeSet<usize>>,
    /// What was not kept, because it cannot be told what is in it.
    pub(super) left: Vec<Unwritten>,
}

impl Redactor {
    /// With further patterns to replace.
    pub(super) fn new(more: &[String]) -> anyhow::Result<Self> {
        let compile = |text: &String| Regex::new(text).with_context(|| format!("--redact {text:?}"));
        Ok(Self {
            identifiers: Identifiers::new()?,
            more: more.iter().map(compile).collect::<anyhow::Result<_>>()?,
            numbers: BTreeMap::new(),
            learnt: BTreeMap::new(),
            replaced: BTreeMap::new(),
            left: Vec::new(),
        })
    }

    /// Learns the name of the computer that the node is, which others say without its domain.
    pub(super) fn know_host(&mut self, node: &Node) {
        let name = node.file("/proc/sys/kernel/hostname", 256).unwrap_or_default();
        let name = String::from_utf8_lossy(&name).trim().to_owned();
        for name in [name.as_str(), name.split('.').next().unwrap_or_default()] {
            if name.len() >= SHORTEST && ANY_HOST.split(' ').all(|any| !name.eq_ignore_ascii_case(any)) {
                self.learn(name, HOST_NAMES);
            }
        }
    }

    /// The node without what is its own.
    pub(super) fn redact(&mut self, node: &RecordedNode) -> anyhow::Result<RecordedNode> {
        let mut public = BTreeSet::new();
        node.rewritten(&mut |text| {
            if let Some((path, text)) = readable(text) {
                public.extend(self.identifiers.public(path, text));
                for (own, kind) in self.identifiers.own(path, text) {
                    self.learn(own, kind);
                }
            }
            Instead::Same
        })?;
        self.learnt.retain(|from, _| !public.contains(&squashed(from)));
        let mut search = AhoCorasick::builder();
        let search = search.ascii_case_insensitive(true).build(self.learnt.keys());
        let search = search.context("what was learnt of the node cannot be looked for")?;
        let learnt: Vec<_> = std::mem::take(&mut self.learnt).into_iter().collect();
        let redacted = node.rewritten(&mut |text| match (readable(text), text) {
            (Some((_, old)), _) => match self.without(&search, &learnt, old) {
                new if new == old => Instead::Same,
                new => Instead::Bytes(new.into_bytes()),
            },
            (None, Text::Content { path, .. }) => self.binary(path),
            (None, _) => Instead::Same,
        });
        Ok(redacted?)
    }

    fn binary(&mut self, path: &str) -> Instead {
        if PUBLIC_BINARY.contains(&path.rsplit('/').next().unwrap_or_default()) {
            return Instead::Same;
        }
        self.left.push(Unwritten {
            path: format!("/{path}"),
            why: "is no text, and may have a serial number in it (--no-redact keeps it)".to_owned(),
        });
        Instead::Nothing
    }

    fn learn(&mut self, text: &str, kind: &'static str) {
        let number = self.number(text);
        for way in ways(text) {
            self.learnt.entry(way).or_insert((number, kind));
        }
    }

    fn number(&mut self, text: &str) -> usize {
        let next = self.numbers.len() + 1;
        *self.numbers.entry(squashed(text)).or_insert(next)
    }

    /// A text with others in the place of what was learnt, and of what was asked for.
    fn without(&mut self, search: &AhoCorasick, learnt: &[(String, (usize, &'static str))], text: &str) -> String {
        let mut new = text.to_owned();
        let mut found: Vec<_> = search.find_overlapping_iter(text).collect();
        // Where two overlap, it is the longer one's that stands there.
        found.sort_by_key(|found| found.len());
        for (place, which) in found.into_iter().map(|found| (found.range(), found.pattern().as_usize())) {
            let (Some((from, (number, kind))), Some(old)) = (learnt.get(which), text.get(place.clone())) else {
                continue;
            };
            let is_within = *kind != HOST_NAMES && from.len() >= LONG;
            if is_within || stands_alone(text, &place) {
                new.replace_range(place, &pseudonym(old, *number));
                self.replaced.entry(kind).or_default().insert(*number);
            }
        }
        for pattern in self.more.clone() {
            new = pattern.replace_all(&new, |found: &Captures<'_>| self.asked(found)).into_owned();
        }
        new
    }

    /// What `--redact` found, with another text in the place of its group, or of all of it.
    fn asked(&mut self, found: &Captures<'_>) -> String {
        let whole = found.get_match();
        let part = found.get(1).unwrap_or(whole);
        let number = self.number(part.as_str());
        self.replaced.entry("values of --redact").or_default().insert(number);
        let mut new = whole.as_str().to_owned();
        let place = part.start() - whole.start()..part.end() - whole.start();
        new.replace_range(place, &pseudonym(part.as_str(), number));
        new
    }
}

/// Whether what stands there is not a part of a longer word.
fn stands_alone(text: &str, place: &Range<usize>) -> bool {
    let before = text.get(..place.start).and_then(|text| text.chars().next_back());
    let after = text.get(place.end..).and_then(|text| text.chars().next());
    !before.into_iter().chain(after).any(|c| c.is_ascii_alphanumeric())
}

/// Text that a person could read, and the path of the file that it is in; `None` for anything else.
fn readable(text: Text<'_>) -> Option<(&str, &str)> {
    let (path, bytes) = match text {
        Text::Name(text) | Text::Target(text) | Text::Line(text) => return Some(("", text)),
        Text::Content { path, bytes } => (path, bytes),
        _ => return None,
    };
    let text = std::str::from_utf8(bytes).ok()?;
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    // Some drivers end their text with a NUL.
    (!text.trim_end_matches('\0').contains(control)).then_some((path, text))
}
