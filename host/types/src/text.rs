//! Text from outside: of a component, a policy, a device's firmware.

use std::fmt;

/// `text` with every control, format and private character escaped, cut after `most` characters.
///
/// Nothing that a component, a file or a device says may move a terminal's cursor, start a new log line or fill a disk.
#[must_use]
pub fn escape(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most * 2));
    for (n, c) in text.chars().enumerate() {
        if n == most {
            out.push('…');
            break;
        }
        // Letters of any script are left as they are; what `escape_debug` escapes is what could not be seen or would act.
        match c {
            '"' | '\'' => out.push(c),
            c => out.extend(c.escape_debug()),
        }
    }
    out
}

/// Text made by a component, escaped and cut when it is made: what is logged, shown or returned is always this.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct GuestText(String);

impl GuestText {
    /// The most characters of one component's message that anybody is shown.
    pub const MAX_CHARS: usize = 256;

    /// The most characters of what is shown of a trap: what the component said last, and where it was.
    pub const MAX_OF_TRAP: usize = 2 * Self::MAX_CHARS;

    /// Escapes the text of a trap and cuts it after [`Self::MAX_OF_TRAP`] characters.
    #[must_use]
    pub fn of_trap(text: &str) -> Self {
        Self(escape(text, Self::MAX_OF_TRAP))
    }

    /// Escapes `text` and cuts it after [`Self::MAX_CHARS`] characters.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(escape(text, Self::MAX_CHARS))
    }

    /// Text that was escaped where it was made, by a process that is not believed: what is left to escape is, and it is cut again.
    #[must_use]
    pub fn of_escaped(text: &str) -> Self {
        // What stands for one character has at most ten, and most have one.
        let most = Self::MAX_CHARS * 4;
        let mut shown = String::new();
        for (n, part) in text.split('\\').enumerate() {
            // No more of it is made than is shown, however many parts it has: a character has at most four bytes.
            if shown.len() >= most * 4 {
                break;
            }
            if n != 0 {
                shown.push('\\');
            }
            shown += &escape(part, most);
        }
        if let Some((end, _)) = shown.char_indices().nth(most) {
            shown.truncate(end);
        }
        Self(shown)
    }

    /// The escaped text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GuestText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_text_cannot_act_on_a_terminal_or_a_log() {
        assert_eq!(escape("a\nb\x1b[31m\0", 80), "a\\nb\\u{1b}[31m\\0");
        assert_eq!(escape("safe\u{202e}txt", 80), "safe\\u{202e}txt");
        // All that orders the text around it anew, so that a name reads as another one; and what is no character.
        let odd = "\u{200e}\u{200f}\u{61c}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{fffe}\u{ffff}";
        for c in odd.chars().chain((0..32).chain(127..160).filter_map(char::from_u32)) {
            let shown = escape(&c.to_string(), 80);
            assert!(shown.starts_with('\\') && shown.is_ascii(), "{:x}: {shown}", u32::from(c));
        }
        assert_eq!(escape("grüße 漢", 80), "grüße 漢");
        assert_eq!(escape("\"quoted\"", 80), "\"quoted\"");
    }

    #[test]
    fn what_was_escaped_stays_as_it_is() {
        for text in ["a\nb\\\x1b", &"x\n".repeat(10_000), "", "\"é'"] {
            let once = GuestText::new(text);
            assert_eq!(GuestText::of_escaped(once.as_str()), once);
        }
        assert_eq!(GuestText::of_escaped("a\nb").as_str(), "a\\nb");
        assert!(GuestText::of_escaped(&"\\\n".repeat(10_000)).as_str().len() <= 4 * GuestText::MAX_CHARS);
    }

    #[test]
    fn guest_text_is_cut_by_characters() {
        assert_eq!(escape("ééééé", 3), "ééé…");
        assert_eq!(escape("abc", 3), "abc");
        assert!(GuestText::new(&"x".repeat(10_000)).as_str().chars().count() == GuestText::MAX_CHARS + 1);
    }
}
