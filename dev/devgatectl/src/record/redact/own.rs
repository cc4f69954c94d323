//! Texts that were learnt to be of one very device, and what comes in their place wherever they stand, in whichever case.

use super::SHORTEST;
use aho_corasick::{AhoCorasick, BuildError, MatchKind};
use std::collections::BTreeMap;

/// The shortest text that is looked for within longer words, too: some write model and serial number as one.
const LONG: usize = 8;

/// What was learnt.
#[derive(Default)]
pub(super) struct Own {
    /// By itself in lower case.
    all: BTreeMap<String, Learnt>,
}

struct Learnt {
    from: String,
    to: String,
    kind: &'static str,
    /// Whether it is looked for within words.
    within: bool,
}

/// All of them, to be looked for in one go.
pub(super) struct Search {
    within: (AhoCorasick, Vec<Learnt>),
    alone: (AhoCorasick, Vec<Learnt>),
}

impl Own {
    pub(super) fn knows(&self, text: &str) -> bool {
        self.all.contains_key(&text.to_lowercase())
    }

    /// Learns a text and what comes in its place; `whole` if it is a word that others may begin with.
    pub(super) fn learn(&mut self, from: String, to: String, kind: &'static str, whole: bool) {
        let within = !whole && from.len() >= LONG;
        let learnt = Learnt { from, to, kind, within };
        self.all.entry(learnt.from.to_lowercase()).or_insert(learnt);
    }

    /// All that was learnt, to be looked for.
    pub(super) fn search(self) -> Result<Search, BuildError> {
        let all = self.all.into_values().filter(|learnt| learnt.from.len() >= SHORTEST);
        let (within, alone) = all.partition::<Vec<_>, _>(|learnt| learnt.within);
        let build = |all: Vec<Learnt>, kind| {
            let mut builder = AhoCorasick::builder();
            let builder = builder.ascii_case_insensitive(true).match_kind(kind);
            let found = builder.build(all.iter().map(|learnt| &learnt.from))?;
            Ok((found, all))
        };
        Ok(Search {
            within: build(within, MatchKind::LeftmostLongest)?,
            alone: build(alone, MatchKind::Standard)?,
        })
    }
}

impl Search {
    /// The text with others in their place; tells kind and value of each.
    pub(super) fn replaced(&self, text: &str, tell: &mut dyn FnMut(&'static str, &str)) -> String {
        let (search, learnt) = &self.within;
        let found = search.find_iter(text).map(|found| (found.range(), found.pattern()));
        let found = found.filter_map(|(range, at)| Some((range, learnt.get(at.as_usize())?)));
        let text = put(text, found.collect(), tell);
        let (search, learnt) = &self.alone;
        // One that does not stand alone must not hide one that does.
        let found = search
            .find_overlapping_iter(&text)
            .map(|found| (found.range(), found.pattern()));
        let found = found.filter(|(range, _)| stands_alone(&text, range));
        let found = found.filter_map(|(range, at)| Some((range, learnt.get(at.as_usize())?)));
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        put(&text, found, tell)
    }
}

type Range = std::ops::Range<usize>;

/// The text with all that was found replaced, from the left; what begins within another one stays with that.
fn put(text: &str, found: Vec<(Range, &Learnt)>, tell: &mut dyn FnMut(&'static str, &str)) -> String {
    let (mut new, mut end) = (String::with_capacity(text.len()), 0);
    for (range, learnt) in found {
        let (Some(before), Some(part)) = (text.get(end..range.start), text.get(range.clone())) else {
            continue;
        };
        new.push_str(before);
        new.push_str(&in_case(learnt, part));
        tell(learnt.kind, &learnt.from);
        end = range.end;
    }
    new.push_str(text.get(end..).unwrap_or_default());
    new
}

/// What comes in the place of a text, in the case that it is written in here.
fn in_case(learnt: &Learnt, part: &str) -> String {
    if part == learnt.from {
        learnt.to.clone()
    } else if part.bytes().any(|b| b.is_ascii_uppercase()) {
        learnt.to.to_ascii_uppercase()
    } else {
        learnt.to.to_ascii_lowercase()
    }
}

/// Whether what stands there is not a part of a longer word.
fn stands_alone(text: &str, range: &Range) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let before = text.get(..range.start).and_then(|text| text.chars().next_back());
    let after = text.get(range.end..).and_then(|text| text.chars().next());
    !word(before) && !word(after)
}
