//! What a component carries besides its code, in custom sections of its outermost level.

use wasmparser::{Parser, Payload};

/// The first section of this name; `None` if it carries none.
pub(crate) fn of<'a>(component: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component).map_while(Result::ok) {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 0 && section.name() == name => return Some(section.data()),
            _ => {}
        }
    }
    None
}

/// The characters of a text that would not be seen where it is shown, if there are any: a terminal's commands, or what orders the text
/// around it anew.
pub(crate) fn hidden(text: &str) -> Option<char> {
    text.chars().find(|c| !is_shown(*c))
}

/// Whether a terminal shows a character, and it orders nothing around it anew.
pub(crate) fn is_shown(c: char) -> bool {
    matches!(c, '\n' | '\t' | '\\' | '"' | '\'') || c.escape_debug().count() == 1
}
