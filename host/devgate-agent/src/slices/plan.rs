//! What to do next, so that a scheduler never takes a mixture of two states of a pool for a whole one.
//!
//! A pool is whole where as many slices of its highest generation are there as each of them says. One slice of a whole pool is changed in
//! place. For more, the generation is counted on: with the first slice of the new one the pool is not whole until the last is there. While
//! it is not, whatever is written is not looked at; so what changes meanwhile needs no further generation.

use super::{Digest, Seen, Wanted};
use std::collections::{BTreeMap, BTreeSet};

/// A driver's pool: as it shall be, and as it is.
#[derive(Debug)]
pub(crate) struct Pool<'a> {
    pub(crate) wanted: &'a [Wanted],
    /// Slices of the driver on this node.
    pub(crate) seen: Vec<&'a Seen>,
    /// The pool's name.
    pub(crate) name: &'a str,
    /// The uid of the node, where it is known.
    pub(crate) owner: Option<&'a str>,
    /// The highest generation that is remembered.
    pub(crate) generation: i64,
    /// What the API server made of what it was sent, by the slice's name, where that is something else.
    pub(crate) accepted: &'a BTreeMap<String, (Digest, Digest)>,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// Nothing: all of this generation is there.
    Done(i64),
    /// A slice that should not be there goes.
    Delete(&'a str),
    /// A slice is made or replaced, in this generation.
    Write(&'a Wanted, i64),
}

impl<'a> Pool<'a> {
    pub(crate) fn next(&self) -> Next<'a> {
        let names: BTreeSet<&str> = self.wanted.iter().map(|wanted| wanted.name.as_str()).collect();
        let obsolete = |seen: &&&Seen| !names.contains(seen.name.as_str()) || seen.pool != self.name;
        if let Some(obsolete) = self.seen.iter().find(obsolete) {
            return Next::Delete(&obsolete.name);
        }
        let seen: BTreeMap<&str, &Seen> = self.seen.iter().map(|seen| (seen.name.as_str(), *seen)).collect();
        let highest = self.seen.iter().map(|seen| seen.generation).max().unwrap_or_default();
        let generation = highest.max(self.generation).max(1);
        let there = |wanted: &Wanted| seen.get(wanted.name.as_str()).filter(|seen| seen.generation == generation);
        let mut missing = self.wanted.iter().filter(|wanted| there(wanted).is_none());
        let mut wrong = self
            .wanted
            .iter()
            .filter_map(|wanted| Some((wanted, *there(wanted)?)))
            .filter(|(wanted, seen)| !self.is_right(wanted, seen));
        let present: Vec<_> = self.wanted.iter().filter_map(there).collect();
        let is_open = present.iter().all(|seen| i64::try_from(present.len()).is_ok_and(|len| len < seen.count));
        match (wrong.next(), missing.next()) {
            (None, None) => Next::Done(generation),
            (None, Some(wanted)) if is_open => Next::Write(wanted, generation),
            (Some((wanted, _)), Some(_)) if is_open => Next::Write(wanted, generation),
            (Some((wanted, seen)), None) if wrong.next().is_none() && seen.count == wanted.count => {
                Next::Write(wanted, generation)
            }
            _ => self
                .wanted
                .first()
                .map_or(Next::Done(generation), |first| Next::Write(first, generation.saturating_add(1))),
        }
    }

    fn is_right(&self, wanted: &Wanted, seen: &Seen) -> bool {
        let as_accepted = || self.accepted.get(&wanted.name) == Some(&(wanted.digest, seen.digest));
        seen.is_owned(self.owner) && (seen.digest == wanted.digest || as_accepted())
    }
}
