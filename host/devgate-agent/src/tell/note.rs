//! Texts for people, of a bounded length. The host has escaped them; what acts on a terminal all the same is taken out.

/// The longest that a note may be, in bytes.
pub(super) const LONGEST: usize = 1024;
/// So much of it is left for how many more there are.
const REST: usize = 48;

/// The text, without what acts on a terminal, of at most so many bytes.
pub(super) fn bounded(text: &str, most: usize) -> String {
    let clean = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut out = String::new();
    for c in text.chars().map(clean) {
        if out.len() + c.len_utf8() > most.saturating_sub('…'.len_utf8()) {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out
}

/// The text, and as many of the parts as it may have, with how many more there are.
pub(super) fn listed(begin: &str, parts: &[String]) -> String {
    let mut out = bounded(begin, LONGEST / 2);
    for (at, part) in parts.iter().enumerate() {
        let part = bounded(part, LONGEST / 4);
        if out.len() + part.len() + 2 > LONGEST - REST {
            return format!("{out}, and {} more", parts.len() - at);
        }
        out = format!("{out}{}{part}", if at == 0 { "" } else { ", " });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_never_longer_than_it_may_be() {
        assert_eq!(bounded("a\u{1b}[31m\n", 64), "a\u{fffd}[31m\u{fffd}");
        assert_eq!(bounded("ééééé", 8), "éé…");
        assert_eq!(listed("two: ", &["a".to_owned(), "b".to_owned()]), "two: a, b");
        let parts: Vec<_> = (0..3000).map(|n| format!("device-{n} (\u{1F980} is hot)")).collect();
        let note = listed("3000 devices: ", &parts);
        assert!(note.len() <= LONGEST && note.contains(", and 29") && note.ends_with(" more"), "{note}");
        for long in ["x", "\u{1F980}"].map(|c| c.repeat(5000)) {
            let note = listed(&long, &vec![long.clone(); 9]);
            assert!(note.len() <= LONGEST, "{}", note.len());
            assert!(bounded(&long, LONGEST).len() <= LONGEST);
        }
    }
}
