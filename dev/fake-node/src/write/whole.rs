//! A recording that goes through hands which may cut it, such as a container's log: its beginning and its end say that they are there.

use super::plain;
use crate::description::HIDDEN;

const BEGINS: &str = "The last line of the whole text is the comment \"End.\"";
const ENDS: &str = "End.";

/// The text with comments after all else, and what a reader misses who gets less of it.
pub(super) fn with_notes(text: &str, notes: impl Iterator<Item = String>) -> String {
    let (first, rest) = match text.split_once('\n') {
        Some((place, rest)) if place.starts_with("P: ") => (format!("{place}\n"), rest),
        _ => (String::new(), text),
    };
    let mark = if first.is_empty() { "# ".to_owned() } else { format!("E: {HIDDEN}# ") };
    let notes: String = notes.map(|note| format!("{mark}{}\n", plain(&note))).collect();
    format!("{first}{mark}{BEGINS}\n{rest}{notes}{mark}{ENDS}\n")
}

/// Which end of a text is missing, if one is.
pub(crate) fn missing(text: &str) -> Option<&'static str> {
    let comment = |line: &str, says: &str| {
        let line = line.strip_prefix("E: ").and_then(|line| line.strip_prefix(HIDDEN)).unwrap_or(line);
        line.strip_prefix("# ").is_some_and(|line| line == says)
    };
    let begins = text.lines().take(8).any(|line| comment(line, BEGINS));
    let ends = text.lines().next_back().is_some_and(|line| comment(line, ENDS));
    match (begins, ends) {
        (true, false) => Some("end"),
        (false, true) => Some("beginning"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedNode;

    const DISK: &str = "P: /devices/virtual/block/disk0\nE: SUBSYSTEM=block\n";

    #[test]
    fn a_text_that_lacks_an_end_is_refused_and_the_whole_is_the_same_node() {
        for text in [DISK, "F: /proc/swaps=none\n"] {
            let whole = with_notes(text, ["left out:".to_owned(), "  1: denied".to_owned()].into_iter());
            let node = RecordedNode::parse("whole", &whole).unwrap();
            assert_eq!(node.text().unwrap(), RecordedNode::parse("as it was", text).unwrap().text().unwrap());
            let lines: Vec<_> = whole.split_inclusive('\n').collect();
            // Up to the comment that says how it ends, which a device's place stands before.
            let begins = 1 + usize::from(text == DISK);
            for cut in begins..lines.len() {
                let (start, end) = lines.split_at(cut);
                let error = RecordedNode::parse("cut", &start.concat()).err().unwrap().to_string();
                assert!(error.contains("its end is missing"), "{error}");
                let error = RecordedNode::parse("cut", &end.concat()).err().unwrap().to_string();
                assert!(error.contains("its beginning is missing"), "{error}");
            }
        }
    }
}
