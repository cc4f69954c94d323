//! What was removed, for people.

use super::Cleaned;
use crate::output::columns;
use devgate_core::leftovers::{Fate, Leftover};
use devgate_types::escape;

/// A line for each thing that was found.
pub(super) fn of(cleaned: &Cleaned) -> String {
    if cleaned.refused.is_some() {
        return String::new();
    }
    if cleaned.found.is_empty() {
        return "nothing of devgate's is here\n".to_owned();
    }
    columns(0, &cleaned.found.iter().map(row).collect::<Vec<_>>())
}

fn row(found: &Leftover) -> [String; 3] {
    let fate = match found.fate {
        Fate::Removed => "removed",
        Fate::WouldRemove => "would remove",
        Fate::Left => "left",
        Fate::Failed => "not removed",
    };
    let path = escape(&found.path.display().to_string(), 512);
    let why = found.why.as_ref().map(|why| format!(": {}", escape(why, 512)));
    [
        fate.to_owned(),
        found.what.to_owned(),
        path + why.as_deref().unwrap_or_default(),
    ]
}
