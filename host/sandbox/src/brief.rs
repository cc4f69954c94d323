//! Text of which a component has written a part, or all: never more of it is made than is looked at.
//!
//! What is done *about* a component is done after its call, when no limit of the call holds any more. A name of 351 bytes can stand
//! for terabytes once it is demangled, so whatever formats something that a vendor wrote does so into an end.

use std::fmt::{self, Display, Write};

/// The most bytes of a message, which anybody is shown far less of.
const MESSAGE: usize = 2_048;
/// The most bytes of a function's name, as it is shown.
const NAME: usize = 256;
/// A longer name is shown as it is: no tool could make it short.
const MANGLED: usize = 4_096;

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

/// What `what` says, at most so many bytes of it.
fn brief(what: impl Display, most: usize) -> String {
    let text = String::new();
    let mut brief = Brief { text, most };
    // That it was cut is all that can go wrong.
    let _ = write!(brief, "{what}");
    brief.text
}

/// The message of an error that may quote a component: its beginning.
pub(crate) fn message(error: impl Display) -> String {
    brief(error, MESSAGE)
}

/// What a function is called: its name as its language has it where that is Rust, else as it is in the component; its number where
/// it has none.
///
/// C++'s names are left as they are: what demangles them makes all of the text before it shows any of it, however much that is.
pub(crate) fn function_name(name: Option<&str>, number: u32) -> String {
    let Some(name) = name else {
        return format!("<wasm function {number}>");
    };
    if name.len() <= MANGLED
        && let Ok(rust) = rustc_demangle::try_demangle(name)
    {
        // Without the hash at its end.
        return brief(format_args!("{rust:#}"), NAME);
    }
    cut(name, NAME).to_owned()
}

/// `text`, at most `most` bytes of it, without half a character.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_as_its_language_has_it() {
        let name = |name| function_name(Some(name), 7);
        assert_eq!(name("_ZN4core9panicking9panic_fmt17h0123456789abcdefE"), "core::panicking::panic_fmt");
        assert_eq!(name("_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar");
        assert_eq!(name("_ZN6widget5parseEv"), "_ZN6widget5parseEv");
        assert_eq!(name("widget_parse"), "widget_parse");
        assert_eq!(function_name(None, 7), "<wasm function 7>");
    }

    /// 12 lines of 8 times the line before each; in C++, and as Rust's own scheme can say it.
    #[test]
    fn a_name_that_stands_for_more_than_there_is_memory_is_cut() {
        let mut cpp = "_Z1fSt4pairIiiE".to_owned();
        let mut before = "S0_".to_owned();
        for n in 1..13 {
            cpp += &format!("S_I{}E", before.repeat(8));
            before = format!("S{}_", char::from_digit(n, 36).unwrap().to_ascii_uppercase());
        }
        assert_eq!(function_name(Some(&cpp), 0), cut(&cpp, NAME));
        let mut rust = "_RINvC1a1b".to_owned();
        let mut from = None;
        for _ in 0..20 {
            let at = rust.len() - 2;
            rust += "T";
            rust += &from.map_or_else(|| "hhhhhhhh".to_owned(), |from| format!("B{}_", base_62(from)).repeat(8));
            rust += "E";
            from = Some(at);
        }
        rust += "E";
        let shown = function_name(Some(&rust), 0);
        assert!(shown.starts_with("a::b::<(u8, u8, u8"), "{shown}");
        assert_eq!(shown.len(), NAME);
        assert_eq!(function_name(Some(&"é".repeat(100_000)), 0).len(), NAME);
    }

    /// A position as Rust's names refer back to it: 0 is nothing, and what follows is one less.
    fn base_62(n: usize) -> String {
        let digit = |n: usize| char::from(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 62]);
        match n {
            0 => String::new(),
            n if n <= 62 => digit(n - 1).to_string(),
            n => format!("{}{}", digit((n - 1) / 62), digit(n - 1)),
        }
    }

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
