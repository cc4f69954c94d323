//! Names: of slices, and what the API server takes as one.

use super::Digest;

/// The longest name of an object.
const LONGEST: usize = 253;

/// A slice's name: the same after every start. Schedulers take slices in the order of their names, so the index is first.
pub(crate) fn of_slice(index: usize, driver: &str, node: &str) -> String {
    let name = format!("{index:05x}-{driver}-{node}");
    if name.len() <= LONGEST {
        return name;
    }
    let hash = Digest::of(name.as_bytes()).short();
    let mut cut: String = name.chars().take(LONGEST - 1 - hash.len()).collect();
    cut.truncate(cut.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len());
    format!("{cut}-{hash}")
}

/// Whether it is a DNS label of at most 63 characters.
pub(crate) fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_part(text)
}

/// Whether it is a DNS name of at most so many characters.
pub(crate) fn is_subdomain(text: &str, most: usize) -> bool {
    text.len() <= most && text.split('.').all(is_part)
}

fn is_part(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(inside) && text.ends_with(inside) && text.chars().all(|c| inside(c) || c == '-')
}

/// Whether it is what the last part of a label's key may be.
pub(crate) fn is_word(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric();
    (1..=63).contains(&text.len())
        && text.starts_with(inside)
        && text.ends_with(inside)
        && text.chars().all(|c| inside(c) || matches!(c, '-' | '_' | '.'))
}

/// Whether it is an identifier of C of at most 32 characters.
pub(crate) fn is_identifier(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
