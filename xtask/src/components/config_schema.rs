//! The schema of a component's `config`, which travels in it, as `devgatectl pack --config-schema` puts it there.

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
    with(component, &text)
}

fn with(mut component: Vec<u8>, text: &[u8]) -> Result<Vec<u8>> {
    let mut size = u32::try_from(1 + SECTION.len() + text.len())?;
    component.push(0);
    while size > 0x7f {
        component.push(u8::try_from(size & 0x7f)? | 0x80);
        size >>= 7;
    }
    component.push(u8::try_from(size)?);
    component.push(u8::try_from(SECTION.len())?);
    component.extend_from_slice(SECTION.as_bytes());
    component.extend_from_slice(text);
    Ok(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_section_of_its_own_behind_all_others() {
        let made = with(b"\0asm\x0d\0\x01\0".to_vec(), &[b'x'; 200]).unwrap();
        let (head, section) = made.split_at(8);
        assert_eq!(head, b"\0asm\x0d\0\x01\0");
        // 222 bytes: one for the name's length, 21 for the name, 200.
        assert_eq!(section.get(..4), Some(&[0, 0xde, 1, 21][..]));
        assert_eq!(section.len(), 3 + 222);
    }
}
