//! The tables of keys on the page for people.

use super::words::{self, Default};
use crate::key::{Key, Kind, POLICY, Section};
use crate::{dangerous, time};
use serde_json::Value;

/// The page with every table between `<!-- keys: SECTION -->` (or `<!-- dangers -->`) and `<!-- end -->` made anew: all keys in
/// their order and with their types, and of each the words that the page has.
pub(super) fn with_tables(page: &str) -> String {
    let mut page = page.to_owned();
    for section in sections() {
        let fresh = table(&page, section);
        page = replace(&page, &words::begin(section), &fresh);
    }
    let mut dangers = "| key | lets pass |\n|---|---|\n".to_owned();
    let (_, said, _) = words::between(&page, "<!-- dangers -->");
    for key in dangerous::words() {
        let row = said.lines().find(|line| line.starts_with(&format!("| `{key}` | ")));
        let row = row.unwrap_or_else(|| panic!("say on the page what `{key}` lets pass"));
        dangers += &format!("{row}\n");
    }
    replace(&page, "<!-- dangers -->", &dangers)
}

fn replace(page: &str, begin: &str, table: &str) -> String {
    let (before, _, after) = words::between(page, begin);
    format!(
        "{before}{begin}
{table}<!-- end -->{after}"
    )
}

/// Every section, each once.
fn sections() -> Vec<&'static Section> {
    let mut found: Vec<&'static Section> = Vec::new();
    let mut open = vec![&POLICY];
    while let Some(section) = open.pop() {
        if found.iter().any(|known| known.name == section.name) {
            continue;
        }
        found.push(section);
        for key in section.keys {
            if let Kind::One(inner) | Kind::Many(inner) | Kind::Named(inner) | Kind::Labels(inner) = key.kind {
                open.push(inner);
            }
        }
    }
    found
}

fn table(page: &str, section: &Section) -> String {
    let mut out = "| key | type | default | meaning |\n|---|---|---|---|\n".to_owned();
    for key in section.keys {
        let said = words::of(page, section, key);
        let default = match said.default {
            Default::Required => "required".to_owned(),
            Default::Is(text) => format!("`{text}`"),
            Default::Means(words) => words,
        };
        out += &format!("| `{}` | {} | {default} | {} |\n", key.name, kind(key), said.doc);
    }
    out
}

fn kind(key: &Key) -> String {
    match key.kind {
        Kind::Exactly(text) => format!("`{text}`"),
        Kind::Text(_) => "text".to_owned(),
        Kind::Texts => "text(s)".to_owned(),
        Kind::Patterns => "pattern(s)".to_owned(),
        Kind::Paths => "path(s)".to_owned(),
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Number(least, most) => format!("{least} to {most}"),
        Kind::Time(least, most) => format!("duration, {} to {}", time::show(least), time::show(most)),
        Kind::Size(least, most) => format!("size, {least} to {most}"),
        Kind::OneOf(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or "),
        Kind::SomeOf(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" and/or "),
        Kind::Dangers => "word(s)".to_owned(),
        Kind::Access => "`r`, `w` or `rw`, and `m`".to_owned(),
        Kind::Anything => "anything".to_owned(),
        Kind::One(_) => "mapping".to_owned(),
        Kind::Many(_) => "list".to_owned(),
        Kind::Named(_) => "names with a mapping each".to_owned(),
        Kind::Labels(_) => "names with text or a mapping each".to_owned(),
        Kind::NamedWords(words) => format!("names with `{}` each", words.join("`, `")),
        Kind::NamedPatterns => "names with pattern(s) each".to_owned(),
        Kind::Rules => "keys with a rule each".to_owned(),
    }
}

/// The keys that a policy, as JSON, has nowhere, as `section.key`.
pub(super) fn keys_without(policy: &Value) -> Vec<String> {
    let mut seen = Vec::new();
    walk(&POLICY, policy, &mut seen);
    let all = sections()
        .into_iter()
        .flat_map(|section| section.keys.iter().map(|key| format!("{}.{}", section.name, key.name)));
    all.filter(|key| !seen.contains(key)).collect()
}

fn walk(section: &Section, value: &Value, seen: &mut Vec<String>) {
    for key in section.keys {
        let Some(inner) = value.get(key.name) else { continue };
        seen.push(format!("{}.{}", section.name, key.name));
        match key.kind {
            Kind::One(section) => walk(section, inner, seen),
            Kind::Many(section) => inner.as_array().unwrap().iter().for_each(|one| walk(section, one, seen)),
            Kind::Named(section) | Kind::Labels(section) => {
                inner.as_object().unwrap().values().for_each(|one| walk(section, one, seen))
            }
            _ => {}
        }
    }
}
