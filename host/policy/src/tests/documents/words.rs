//! What the page for people says of each key: what applies without it, and what it means.

use crate::key::{Key, Section};

/// What applies where a key is not written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Default {
    /// It must be written.
    Required,
    /// This, as the policy would write it.
    Is(String),
    /// What these words say.
    Means(String),
}

/// The row of one key.
#[derive(Debug, Clone)]
pub(super) struct Words {
    pub(super) default: Default,
    /// Whole sentences.
    pub(super) doc: String,
}

const END: &str = "<!-- end -->";

/// What stands between a line of the page and the end of its table.
pub(super) fn between<'a>(page: &'a str, begin: &str) -> (&'a str, &'a str, &'a str) {
    let (before, rest) = page.split_once(begin).unwrap_or_else(|| panic!("docs/policy.md has no {begin}"));
    let (table, after) = rest.split_once(END).unwrap();
    (before, table, after)
}

/// The line before a section's table.
pub(super) fn begin(section: &Section) -> String {
    format!("<!-- keys: {} -->", section.name)
}

/// What the page says of a key, whose type it has from the table of keys.
pub(super) fn of(page: &str, section: &Section, key: &Key) -> Words {
    let (_, table, _) = between(page, &begin(section));
    let row = table.lines().find_map(|line| line.strip_prefix(&format!("| `{}` | ", key.name)));
    let row = row.unwrap_or_else(|| {
        let (name, section) = (key.name, section.name);
        panic!("docs/policy.md says nothing of {section}.{name}: add a row `| `{name}` | | default | meaning |` there")
    });
    let mut cells = row.trim_end_matches('|').trim_end().rsplitn(3, " | ");
    let (doc, default) = (cells.next().unwrap(), cells.next().unwrap());
    let literal = default.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    let default = match literal.filter(|text| !text.contains('`')) {
        _ if default == "required" => Default::Required,
        Some(text) => Default::Is(text.to_owned()),
        None => Default::Means(default.to_owned()),
    };
    assert!(doc.ends_with('.') || doc.ends_with('…'), "{}: no sentence: {doc}", key.name);
    Words { default, doc: doc.to_owned() }
}
