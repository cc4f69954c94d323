//! Values of the same form, counted up: nothing of what was there can be found out from them.

use super::forms::{digits, written_as};
use std::collections::{BTreeMap, BTreeSet};

/// What was given in whose place.
#[derive(Default)]
pub(super) struct MadeUp {
    /// By text, of hexadecimal digits without anything between them, in lower case.
    known: BTreeMap<String, String>,
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
        if let Some(known) = self.known.get(digits) {
            return Some(known.clone());
        }
        let count = self.next("digits");
        let (head, tail) = digits.split_at_checked(kept)?;
        let mut new = format!("{head}{count:0width$x}", width = tail.len());
        if digits.len() == 32 && kept == 0 {
            // A UUID stays one of its version and variant.
            for at in [12, 16] {
                new.replace_range(at..=at, digits.get(at..=at)?);
            }
        }
        self.known.insert(digits.to_owned(), new.clone());
        Some(new)
    }

    /// For a text of any form: every way to write it, with what comes in its place.
    pub(super) fn of_any_form(&mut self, text: &str, kind: &'static str) -> Vec<(String, String)> {
        if let Some(ways) = self.number(text) {
            return ways;
        }
        if let Some(kept) = kept_of_bytes(text) {
            let old = digits(text);
            let made = self.digits(&old, kept).unwrap_or_else(|| old.clone());
            // Which may stand where an address stands.
            self.public.insert(made.clone());
            return vec![(text.to_owned(), written_as(text, &made)), (old, made)];
        }
        if let Some(known) = self.known.get(text) {
            return vec![(text.to_owned(), known.clone())];
        }
        let count = self.next(kind).to_string();
        let mut digits = count.chars().rev();
        let other = |c: char| match c {
            _ if !c.is_alphanumeric() => c,
            _ => digits.next().unwrap_or(match c {
                '0'..='9' => '0',
                _ if c.is_uppercase() => 'X',
                _ => 'x',
            }),
        };
        let new: Vec<char> = text.chars().rev().map(other).collect();
        let new: String = new.into_iter().rev().collect();
        self.known.insert(text.to_owned(), new.clone());
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
        let twenty = 10_u64.pow(19);
        let least = if number >= twenty { twenty } else { SIXTEEN };
        let old = format!("{number:016x}");
        let new = match self.known.get(&old) {
            Some(known) => u64::from_str_radix(known, 16).ok()?,
            None => least + self.next("digits"),
        };
        let made = format!("{new:016x}");
        self.known.insert(old.clone(), made.clone());
        self.public.insert(made.clone());
        let upper = (old.to_ascii_uppercase(), made.to_ascii_uppercase());
        Some(vec![
            (format!("0x{old}"), format!("0x{made}")),
            upper,
            (old, made),
            (number.to_string(), new.to_string()),
        ])
    }

    fn next(&mut self, kind: &'static str) -> u64 {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        *count
    }
}

/// Of hexadecimal digits, and of bytes with something between them, which others may write without: how many digits are kept, as
/// [`super::Forms`] does where they know it.
fn kept_of_bytes(text: &str) -> Option<usize> {
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    let Some(between) = text.chars().nth(2).filter(|c| matches!(c, ' ' | ':' | '-')) else {
        let hex = text.len() >= 8 && is_hex(text) && text.bytes().any(|b| b.is_ascii_digit());
        return hex.then_some(0);
    };
    let bytes: Vec<_> = text.split(between).collect();
    let all = bytes.len() >= 4 && bytes.iter().all(|byte| byte.len() == 2 && is_hex(byte));
    all.then_some(if bytes.len() == 8 { 6 } else { 0 })
}
