//! Values of the same form, counted up: nothing of what was there can be found out from them.

use super::forms::{digits, written_as};
use std::collections::{BTreeMap, BTreeSet};

/// What was given in whose place.
#[derive(Default)]
pub(super) struct MadeUp {
    /// By hexadecimal digits without anything between them, in lower case.
    digits: BTreeMap<String, String>,
    texts: BTreeMap<String, String>,
    /// Ids that are public.
    public: BTreeSet<String>,
    counts: BTreeMap<&'static str, u64>,
}

impl MadeUp {
    /// Keeps ids as they are.
    pub(super) fn keep(&mut self, ids: impl IntoIterator<Item = String>) {
        self.public.extend(ids);
    }

    /// For hexadecimal digits, in lower case: others, as many, of which the first `kept` are the same; nothing where there is
    /// nothing to hide.
    pub(super) fn digits(&mut self, digits: &str, kept: usize) -> Option<String> {
        let first = digits.chars().next()?;
        if digits.chars().all(|c| c == first) || self.public.contains(digits) {
            return None;
        }
        if let Some(known) = self.digits.get(digits) {
            return Some(known.clone());
        }
        let count = self.next("digits");
        let (head, tail) = digits.split_at_checked(kept)?;
        let mut new = format!("{head}{count:0width$x}", width = tail.len());
        if digits.len() == 32 && kept == 0 {
            // A UUID stays one of its version and variant.
            let keep = |at: usize| digits.get(at..=at).unwrap_or("0");
            new = format!(
                "{}{}{}{}{}",
                new.get(..12)?,
                keep(12),
                new.get(13..16)?,
                keep(16),
                new.get(17..)?
            );
        }
        self.digits.insert(digits.to_owned(), new.clone());
        Some(new)
    }

    /// For a text of any form: every way to write it, with what comes in its place.
    pub(super) fn of_any_form(&mut self, text: &str, kind: &'static str) -> Vec<(String, String)> {
        if let Some(ways) = self.number(text) {
            return ways;
        }
        let hex =
            text.len() >= 8 && text.bytes().all(|b| b.is_ascii_hexdigit()) && text.bytes().any(|b| b.is_ascii_digit());
        if hex {
            let lower = text.to_ascii_lowercase();
            let new = self.digits(&lower, 0).unwrap_or(lower);
            // Which may stand where an address stands.
            self.public.insert(new.clone());
            let new = if text.bytes().any(|b| b.is_ascii_uppercase()) {
                new.to_ascii_uppercase()
            } else {
                new
            };
            return vec![(text.to_owned(), new)];
        }
        if let Some(ways) = self.apart(text) {
            return ways;
        }
        if let Some(known) = self.texts.get(text) {
            return vec![(text.to_owned(), known.clone())];
        }
        let count = self.next(kind).to_string();
        let mut digits = count.bytes().rev();
        let mut new: Vec<char> = Vec::new();
        for c in text.chars().rev() {
            new.push(match (c.is_alphanumeric(), digits.len()) {
                (false, _) => c,
                (true, 1..) => digits.next().map_or('0', char::from),
                (true, 0) if c.is_ascii_digit() => '0',
                (true, 0) if c.is_uppercase() => 'X',
                (true, 0) => 'x',
            });
        }
        let new: String = new.into_iter().rev().collect();
        self.texts.insert(text.to_owned(), new.clone());
        vec![(text.to_owned(), new)]
    }

    /// A number of 64 bits, which one file has in decimal and another in hexadecimal digits: another one, as long in both.
    fn number(&mut self, text: &str) -> Option<Vec<(String, String)>> {
        const SIXTEEN: u64 = 1 << 60;
        const LONG: usize = 17;
        let hex = text.strip_prefix("0x").unwrap_or(text);
        let number = if text.len() >= LONG && text.bytes().all(|b| b.is_ascii_digit()) {
            text.parse::<u64>().ok()?
        } else if hex.len() == 16 {
            u64::from_str_radix(hex, 16).ok()?
        } else {
            return None;
        };
        if number < SIXTEEN {
            return None;
        }
        let least = if number >= 10_u64.pow(19) {
            10_u64.pow(19)
        } else {
            SIXTEEN
        };
        let old = format!("{number:016x}");
        let new = match self.digits.get(&old) {
            Some(known) => u64::from_str_radix(known, 16).ok()?,
            None => least + self.next("digits"),
        };
        let made = format!("{new:016x}");
        self.digits.insert(old.clone(), made.clone());
        self.public.insert(made.clone());
        let upper = (old.to_ascii_uppercase(), made.to_ascii_uppercase());
        Some(vec![
            (format!("0x{old}"), format!("0x{made}")),
            upper,
            (old, made),
            (number.to_string(), new.to_string()),
        ])
    }

    /// Bytes with something between them, which others may write without.
    fn apart(&mut self, text: &str) -> Option<Vec<(String, String)>> {
        let between = text.chars().nth(2).filter(|c| matches!(c, ' ' | ':' | '-'))?;
        let is_byte = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
        let count = text.split(between).count();
        if count < 4 || !text.split(between).all(is_byte) {
            return None;
        }
        let old = digits(text);
        // As [`super::Forms`] does, where they know it.
        let made = self.digits(&old, if count == 8 { 6 } else { 0 })?;
        self.public.insert(made.clone());
        Some(vec![(text.to_owned(), written_as(text, &made)), (old, made)])
    }

    fn next(&mut self, kind: &'static str) -> u64 {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        *count
    }
}
