//! The schema of a component's `config`, which travels in it, as `devgatectl pack --config-schema` puts it there.

use super::section;
use anyhow::{Context, Result};
use std::path::Path;

/// The custom section, as `devgatectl` knows it.
const SECTION: &str = "devgate:config-schema";
/// Beside the folder of its sources.
const FILE: &str = "config.schema.json";

/// The component with the schema that its author wrote, if there is one.
pub(super) fn carried(component: Vec<u8>, source: &Path) -> Result<Vec<u8>> {
    let file = source.parent().and_then(Path::parent).unwrap_or(source).join(FILE);
    if !file.is_file() {
        return Ok(component);
    }
    let text = std::fs::read(&file).with_context(|| format!("read {}", file.display()))?;
    section::with(component, SECTION, &text)
}
