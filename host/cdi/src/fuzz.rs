//! What is read of a file: what `tests/fuzz` calls, and nothing else.

use crate::{check, files};
use std::path::Path;

/// The file as this host would write it.
///
/// # Errors
/// Why readers take it for none, unescaped.
pub fn rewrite(file: &Path) -> Result<Vec<u8>, String> {
    check::read(file).map(|spec| files::text(&spec))
}
