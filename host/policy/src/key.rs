//! The keys of the policy's format: one table, from which come the parser's known keys, ranges and hints. What each means and what
//! applies without it is said on the page for people (`docs/policy.md`), which is held against it, and from both comes the JSON
//! Schema for editors.

mod table;

pub(crate) use table::{
    ATTRIBUTE, CAPACITY, COMPONENT, CONTAINERS, CONTROL, DRA, EXEC, FILTER, HEALTH, HOST_NODES, LABEL, LIMITS, MOUNT,
    NODE, PARTITIONS, PLUGIN, POLICY, RENAME, SELECTOR, SIGNATURE,
};

use devgate_types::ByteSize;
use std::time::Duration;

/// One mapping of the format and the keys that it may have.
pub(crate) struct Section {
    /// What tells it apart on the page for people.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests hold the page against it"))]
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [Key],
}

/// One key.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

/// What a key's value may be.
#[derive(Clone, Copy)]
#[cfg_attr(not(test), expect(dead_code, reason = "tests make the schema of all of it, the parser reads the ranges"))]
pub(crate) enum Kind {
    /// This text alone.
    Exactly(&'static str),
    /// Text, of this form where it is given: a regular expression that JSON Schema and people read.
    Text(Option<&'static str>),
    /// One text or several.
    Texts,
    /// One pattern or several.
    Patterns,
    /// One path or pattern of paths, or several.
    Paths,
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Number(u32, u32),
    /// A duration.
    Time(Duration, Duration),
    /// A size.
    Size(ByteSize, ByteSize),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words or several.
    SomeOf(&'static [&'static str]),
    /// One of the words of [`crate::dangerous::words`] or several.
    Dangers,
    /// `rw` and the like.
    Access,
    /// Whatever the vendor means.
    Anything,
    /// A mapping.
    One(&'static Section),
    /// A list of mappings.
    Many(&'static Section),
    /// Names with a mapping each.
    Named(&'static Section),
    /// Names with a text or a mapping each.
    Labels(&'static Section),
    /// Names with one pattern or several each.
    NamedPatterns,
    /// Names with one of these words each.
    NamedWords(&'static [&'static str]),
    /// Names with a rule for values each.
    Rules,
}

const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind }
}

impl Section {
    pub(crate) fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The key of this mapping whose own mapping has the name.
    pub(crate) fn parent_of(&self, name: &str) -> Option<&'static str> {
        let has = |key: &&Key| matches!(key.kind, Kind::One(inner) if inner.find(name).is_some());
        self.keys.iter().find(has).map(|key| key.name)
    }
}

/// The key that was probably meant: of those served the nearest, if it is near.
#[must_use]
pub fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance takes time in proportion to the product of both lengths, and nothing long is a mistyped key.
    if text.len() > 64 {
        return None;
    }
    let typed = text.to_lowercase().replace('_', "-");
    let distance = |key: &str| match key.to_lowercase() {
        // Abbreviated.
        key if typed.len() >= 3 && key.starts_with(&typed) => 0,
        key => strsim::damerau_levenshtein(&typed, &key),
    };
    known
        .into_iter()
        .map(|key| (distance(key), key))
        .filter(|(distance, key)| *distance <= key.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_found_and_nothing_far_away() {
        let near = |text| nearest(text, PLUGIN.keys.iter().map(|key| key.name));
        assert_eq!(near("hardwear"), Some("hardware"));
        assert_eq!(near("host_nodes"), Some("host-nodes"));
        assert_eq!(near("sharesHardware"), Some("shares-hardware"));
        assert_eq!(near("Limits"), Some("limits"));
        assert_eq!(near("res"), Some("resources"));
        assert_eq!(near("privileged"), None);
        assert_eq!(near("r"), None);
        assert_eq!(near(&"hardware".repeat(1_000)), None);
    }
}
