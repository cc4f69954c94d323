//! Values of the same form, counted up: nothing of what was there can be found out from them.

/// As many bytes as a text has, with the n-th number in the place of its last letters and digits, and nothing of the others.
pub(super) fn pseudonym(text: &str, n: usize) -> String {
    let alone = squashed(text);
    let is_hex = alone.len() >= 8 && alone.bytes().all(|b| b.is_ascii_hexdigit()) && alone.contains(char::is_numeric);
    let has_letters = alone.contains(char::is_alphabetic);
    let number = if is_hex && has_letters { format!("{n:x}") } else { n.to_string() };
    let mut number = number.bytes().rev();
    let other = |b: u8| match b {
        b if b.is_ascii() && !b.is_ascii_alphanumeric() => b,
        b => number.next().unwrap_or(if is_hex || b.is_ascii_digit() { b'0' } else { b'x' }),
    };
    let mut new: Vec<_> = text.bytes().rev().map(other).collect();
    new.reverse();
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        new.make_ascii_uppercase();
    }
    String::from_utf8_lossy(&new).into_owned()
}

/// Letters and digits alone, in lower case.
pub(super) fn squashed(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

/// The ways to write a text, in lower case: also without what stands between letters and digits; and a number of 64 bits, which one file has
/// in hexadecimal digits, in decimal.
pub(super) fn ways(text: &str) -> Vec<String> {
    let alone = squashed(text);
    let number = match alone.len() {
        16 => u64::from_str_radix(&alone, 16).ok(),
        17..=20 => alone.parse().ok(),
        _ => None,
    };
    let numbers = number.into_iter().flat_map(|number| [format!("{number:016x}"), number.to_string()]);
    let others = numbers.chain([alone]).filter(|way| way.len() >= super::LONG);
    others.chain([text.to_ascii_lowercase()]).collect()
}
