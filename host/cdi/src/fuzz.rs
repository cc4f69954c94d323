//! What is read of a file: what `tests/fuzz` calls, and nothing else.

pub use crate::spec::NoSpec;
use crate::{check, files};
use std::path::Path;

/// The file as this host would write it. The error says why readers take it for none, unescaped.
pub fn rewrite(file: &Path) -> Result<Vec<u8>, NoSpec> {
    check::read(file).map(|spec| files::text(&spec))
}
