//! What people read.

use super::Packed;
use std::fmt::Write;

pub(super) fn of(packed: &Packed) -> String {
    let mut text = format!("{}, from the {} {}\n", packed.component.file(), packed.kind, packed.from);
    for note in &packed.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text += &crate::inspect::facts(&packed.component);
    text += "\nThis host can run it, once the policy grants what it imports (devgatectl inspect --output policy).\n";
    text
}
