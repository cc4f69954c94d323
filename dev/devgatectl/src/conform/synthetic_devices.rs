//! Many devices made of one: the paragraphs of a recorded node that describe it, again and again under other names.

use std::collections::BTreeMap;

/// The first number of what is made: beyond what any recording has.
const FIRST: usize = 100_000;

/// A device of a recording with what is beneath it, to be made many of.
pub(super) struct Template {
    /// Its paragraphs, its own first.
    paragraphs: Vec<String>,
    /// Lines outside the device tree that name it.
    outside: Vec<String>,
    /// The kernel's names of it and of what is beneath it, those above before those beneath.
    names: Vec<String>,
}

impl Template {
    /// The device at a location; `None` if the text does not describe it.
    pub(super) fn of(recording: &str, location: &str) -> Option<Self> {
        let top = format!("/devices/{location}");
        let name = location.rsplit('/').next()?;
        let path = |paragraph: &str| {
            let mut lines = paragraph.lines();
            lines.find_map(|line| line.strip_prefix("P: ").map(str::to_owned))
        };
        let is_its = |paragraph: &&str| {
            let path = path(paragraph).unwrap_or_default();
            let rest = path.strip_prefix(&top);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let (mut paragraphs, others): (Vec<_>, Vec<_>) = recording.split("\n\n").partition(is_its);
        paragraphs.sort_by_key(|paragraph| path(paragraph));
        let names = paragraphs.iter().filter_map(|paragraph| path(paragraph));
        let names: Vec<_> = names
            .filter_map(|path| path.rsplit('/').next().map(str::to_owned))
            .collect();
        let outside = others.iter().flat_map(|paragraph| paragraph.lines());
        let outside = outside.filter(|line| line.starts_with("F: ") && names_it(line, name));
        (!names.is_empty()).then(|| Self {
            paragraphs: paragraphs.into_iter().map(str::to_owned).collect(),
            outside: outside.map(str::to_owned).collect(),
            names,
        })
    }

    /// The text of so many more, numbered from 0.
    pub(super) fn copies(&self, count: usize) -> String {
        let mut text = String::new();
        for n in 0..count {
            let renamed = self.renamed(n);
            for line in &self.outside {
                text += &unique(&rename(line, &renamed), n);
                text.push('\n');
            }
            for (part, paragraph) in self.paragraphs.iter().enumerate() {
                // 20 bits, as many as the kernel has.
                let minor = FIRST + n * self.paragraphs.len() + part;
                for line in paragraph.lines().filter(|line| !line.starts_with('#')) {
                    text += &line_of(line, &renamed, n, minor);
                    text.push('\n');
                }
                text.push('\n');
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
            let new = after.unwrap_or_else(|| numbered(name, n, part, self.names.len()));
            renamed.insert(name, new);
        }
        renamed
    }
}

/// A name of the same kind.
fn numbered(name: &str, n: usize, part: usize, parts: usize) -> String {
    if is_pci(name) {
        return format!("{:04x}:{:02x}:{:02x}.0", 0x4000 + n / 8_192, (n / 32) % 256, n % 32);
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == name.len() {
        // No number of its own.
        return format!("{name}{}", FIRST + n * parts + part);
    }
    format!("{stem}{}", 1_000 + n * parts + part)
}

fn is_pci(name: &str) -> bool {
    let shape: Vec<_> = name.split([':', '.']).map(str::len).collect();
    shape == [4, 2, 2, 1] && name.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.'))
}

fn names_it(line: &str, name: &str) -> bool {
    let path = line.split_once('=').map_or(line, |(path, _)| path);
    path.split('/').any(|part| part == name)
}

fn line_of(line: &str, renamed: &BTreeMap<&str, String>, n: usize, minor: usize) -> String {
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
    let line = rename(line, renamed);
    match line.starts_with("A: ") || line.starts_with("F: ") {
        true => unique(&line, n),
        false => line,
    }
}

/// Every name that stands by itself as its new one.
fn rename(line: &str, renamed: &BTreeMap<&str, String>) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    let mut before: Option<char> = None;
    while let Some(c) = rest.chars().next() {
        let found = renamed.iter().rev().find_map(|(name, new)| {
            let after = rest.strip_prefix(name)?;
            let alone = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
            (alone(before) && alone(after.chars().next())).then_some((after, new, name))
        });
        match found {
            Some((after, new, name)) => {
                text += new;
                before = name.chars().last();
                rest = after;
            }
            None => {
                text.push(c);
                before = Some(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }
    text
}

/// Serial numbers, UUIDs and addresses must differ: the last six digits of what has at least twelve hexadecimal ones, or of what
/// is called a serial number.
fn unique(line: &str, n: usize) -> String {
    let Some((name, value)) = line.split_once('=') else {
        return line.to_owned();
    };
    let called_so = ["serial", "uuid", "guid", "unique_id", "address", "wwid"]
        .iter()
        .any(|word| name.contains(word));
    let mut text = format!("{name}=");
    for word in value.split_inclusive([' ', '\n', '\t']) {
        text += &unique_word(word, n, called_so);
    }
    text
}

fn unique_word(word: &str, n: usize, called_so: bool) -> String {
    // The escaped end of a line is none of it.
    let (word, end) = word.find('\\').map_or((word, ""), |at| word.split_at(at));
    let digits = word.chars().filter(char::is_ascii_hexdigit).count();
    let plain = word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.' | '_'));
    let most = word.chars().filter(|c| c.is_ascii_alphanumeric()).count();
    let is_number = plain && digits >= 12 && digits + 4 >= most;
    let is_serial = called_so && plain && digits >= 4;
    if !(is_number || is_serial) {
        return format!("{word}{end}");
    }
    let with = format!("{n:06x}");
    let mut with = with.chars().rev();
    let mut changed: Vec<char> = word.chars().collect();
    for c in changed.iter_mut().rev().filter(|c| c.is_ascii_hexdigit()) {
        let Some(digit) = with.next() else { break };
        *c = digit;
    }
    changed.into_iter().chain(end.chars()).collect()
}

#[cfg(test)]
mod tests;
