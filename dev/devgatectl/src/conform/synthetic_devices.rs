//! Many devices made of one: the paragraphs of a recorded node that describe it, again and again under other names.

use regex::{Captures, Regex};
use std::collections::BTreeMap;

/// The first number of what is made: beyond what any recording has.
const FIRST: usize = 100_000;
/// Attributes whose values must differ, however short they are.
const UNIQUE: [&str; 6] = ["serial", "uuid", "guid", "unique_id", "address", "wwid"];

/// A device of a recording with what is beneath it, to be made many of.
pub(super) struct Template {
    /// The lines outside the device tree that name it, and its paragraphs, its own first.
    paragraphs: Vec<String>,
    /// The kernel's names of it and of what is beneath it, those above before those beneath.
    names: Vec<String>,
    /// One of these, standing by itself.
    name: Regex,
    word: Regex,
    pci: Regex,
}

impl Template {
    /// The device at a location; `None` if the text does not describe it.
    pub(super) fn of(recording: &str, location: &str) -> Option<Self> {
        let top = format!("/devices/{location}");
        let path = |paragraph: &str| paragraph.lines().find_map(|line| line.strip_prefix("P: ").map(str::to_owned));
        let is_its = |paragraph: &&str| {
            let rest = path(paragraph).and_then(|path| path.strip_prefix(&top).map(str::to_owned));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let (mut its, others): (Vec<_>, Vec<_>) = recording.split("\n\n").partition(is_its);
        its.sort_by_key(|paragraph| path(paragraph));
        let last = |path: String| path.rsplit('/').next().map(str::to_owned);
        let names: Vec<_> = its.iter().filter_map(|paragraph| last(path(paragraph)?)).collect();
        let own = names.first()?;
        let names_it = |line: &&str| {
            let path = line.strip_prefix("F: ").and_then(|line| line.split('=').next());
            path.is_some_and(|path| path.split('/').any(|part| part == own))
        };
        let outside: Vec<_> = others.iter().flat_map(|text| text.lines()).filter(names_it).collect();
        // Where two begin alike, the longer one is meant.
        let mut alternatives: Vec<_> = names.iter().map(|name| regex::escape(name)).collect();
        alternatives.sort_by_key(|name| std::cmp::Reverse(name.len()));
        Some(Self {
            paragraphs: [outside.join("\n")].into_iter().chain(its.into_iter().map(str::to_owned)).collect(),
            name: Regex::new(&format!(r"\b(?:{})\b", alternatives.join("|"))).ok()?,
            word: Regex::new("[0-9A-Za-z:._-]+").ok()?,
            pci: Regex::new(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$").ok()?,
            names,
        })
    }

    /// The text of so many more, numbered from 0.
    pub(super) fn copies(&self, count: usize) -> String {
        let mut text = String::new();
        for n in 0..count {
            let renamed = self.renamed(n);
            for (part, paragraph) in self.paragraphs.iter().enumerate() {
                // 20 bits, as many as the kernel has.
                let minor = FIRST + n * self.names.len() + part - usize::from(part > 0);
                for line in paragraph.lines().filter(|line| !line.starts_with('#')) {
                    text += &self.line(line, &renamed, n, minor);
                    text.push('\n');
                }
                // Files belong to no paragraph.
                text += if part > 0 { "\n" } else { "" };
            }
        }
        text
    }

    /// The new name of each.
    fn renamed(&self, n: usize) -> BTreeMap<&str, String> {
        let mut renamed: BTreeMap<&str, String> = BTreeMap::new();
        for (part, name) in self.names.iter().enumerate() {
            // A part that is called after what it is a part of.
            let after = renamed.iter().find_map(|(above, new)| {
                let rest = name.strip_prefix(above)?;
                let goes_on = !rest.is_empty() && !rest.starts_with(|c: char| c.is_ascii_digit());
                goes_on.then(|| format!("{new}{rest}"))
            });
            renamed.insert(name, after.unwrap_or_else(|| self.numbered(name, n, part)));
        }
        renamed
    }

    /// A name of the same kind.
    fn numbered(&self, name: &str, n: usize, part: usize) -> String {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = n * self.names.len() + part;
        match () {
            () if self.pci.is_match(name) => {
                format!("{:04x}:{:02x}:{:02x}.0", 0x4000 + n / 8_192, (n / 32) % 256, n % 32)
            }
            // No number of its own.
            () if stem == name => format!("{name}{}", FIRST + number),
            () => format!("{stem}{}", 1_000 + number),
        }
    }

    fn line(&self, line: &str, renamed: &BTreeMap<&str, String>, n: usize, minor: usize) -> String {
        if line.starts_with("E: MINOR=") {
            return format!("E: MINOR={minor}");
        }
        if let Some(number) = line.strip_prefix("A: dev=") {
            let major = number.split(':').next().unwrap_or_default();
            return format!("A: dev={major}:{minor}\\n");
        }
        if let Some((link, group)) = line.split_once("iommu_groups/") {
            return format!("{link}iommu_groups/{}{group}", FIRST + n);
        }
        let renamed = |found: &Captures<'_>| renamed.get(found.get_match().as_str()).cloned().unwrap_or_default();
        let line = self.name.replace_all(line, renamed).into_owned();
        match line.split_once('=') {
            Some((name, value)) if line.starts_with("A: ") || line.starts_with("F: ") => {
                let is_unique = UNIQUE.iter().any(|word| name.contains(word));
                let other = |found: &Captures<'_>| unique(found.get_match().as_str(), n, is_unique);
                format!("{name}={}", self.word.replace_all(value, other))
            }
            _ => line,
        }
    }
}

/// Serial numbers, UUIDs and addresses must differ: the last six digits of what has at least twelve hexadecimal ones, or four where
/// it is called so.
fn unique(word: &str, n: usize, is_unique: bool) -> String {
    let digits = word.chars().filter(char::is_ascii_hexdigit).count();
    let letters = word.chars().filter(char::is_ascii_alphanumeric).count();
    let is_number = digits >= 12 && digits + 4 >= letters;
    let must_differ = is_number || (is_unique && digits >= 4);
    if !must_differ {
        return word.to_owned();
    }
    let with = format!("{n:06x}");
    let mut with = with.chars().rev();
    let other = |c: char| {
        if c.is_ascii_hexdigit() { with.next().unwrap_or(c) } else { c }
    };
    let changed: Vec<_> = word.chars().rev().map(other).collect();
    changed.into_iter().rev().collect()
}

#[cfg(test)]
mod tests;
