//! Texts that were learnt to be of one very device, and what comes in their place wherever they stand, in whichever case.

use super::Counts;
use aho_corasick::{AhoCorasick, BuildError};
use std::cmp::Reverse;

/// A text, and what comes in its place.
pub(super) struct Learnt {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) kind: &'static str,
    /// Whether it is looked for within longer words, too: some write model and serial number as one.
    pub(super) within: bool,
}

/// All that was learnt, to be looked for in one go.
pub(super) struct Search {
    automaton: AhoCorasick,
    learnt: Vec<Learnt>,
}

impl Search {
    pub(super) fn new(learnt: Vec<Learnt>) -> Result<Self, BuildError> {
        let mut builder = AhoCorasick::builder();
        let builder = builder.ascii_case_insensitive(true);
        let automaton = builder.build(learnt.iter().map(|learnt| &learnt.from))?;
        Ok(Self { automaton, learnt })
    }

    /// The text with others in their place, from the left; of two that overlap nothing is left of either.
    pub(super) fn replaced(&self, text: &str, counts: &mut Counts) -> String {
        let found = self.automaton.find_overlapping_iter(text).filter_map(|found| {
            let learnt = self.learnt.get(found.pattern().as_usize())?;
            (learnt.within || stands_alone(text, found.start(), found.end())).then(|| (found.range(), learnt))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
        let (mut new, mut end) = (String::with_capacity(text.len()), 0);
        for (range, learnt) in found.into_iter().filter(|(range, _)| !range.is_empty()) {
            if range.end <= end {
                continue;
            }
            let to = in_case(learnt, text.get(range.clone()).unwrap_or_default());
            new.push_str(text.get(end..range.start).unwrap_or_default());
            new.push_str(to.get(end.saturating_sub(range.start)..).unwrap_or(&to));
            counts.add(learnt.kind, &learnt.from);
            end = range.end;
        }
        new.push_str(text.get(end..).unwrap_or_default());
        new
    }
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
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let before = text.get(..start).and_then(|text| text.chars().next_back());
    let after = text.get(end..).and_then(|text| text.chars().next());
    !word(before) && !word(after)
}
