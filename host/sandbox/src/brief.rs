//! Text of which a component has written a part, or all: never more of it is made than is looked at.
//!
//! What is done *about* a component is done after its call, when no limit of the call holds any more, so whatever formats something that
//! a vendor wrote does so into an end.

use std::fmt::{self, Display, Write};

/// The most bytes of a message, which anybody is shown far less of.
const MESSAGE: usize = 2_048;

/// Takes text until it is full, and then ends what writes it.
struct Brief {
    text: String,
    most: usize,
}

impl Write for Brief {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.most.saturating_sub(self.text.len());
        let part = cut(text, room);
        self.text.push_str(part);
        if part.len() < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The message of an error that may quote a component: its beginning.
pub(crate) fn message(error: impl Display) -> String {
    let mut brief = Brief { text: String::new(), most: MESSAGE };
    // That it was cut is all that can go wrong.
    let _ = write!(brief, "{error}");
    brief.text
}

/// `text`, at most `most` bytes of it, without half a character.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writes_for_ever_is_ended() {
        struct Endless;
        impl Display for Endless {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                loop {
                    f.write_str("and ")?;
                }
            }
        }
        assert_eq!(message(Endless).len(), MESSAGE);
    }
}
