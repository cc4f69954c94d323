//! Leaves names of functions and debug information out: hosts read neither, and they are most of a build's bytes.

use anyhow::{Context, ensure};
use wasmparser::BinaryReader;

/// What begins a file: its magic, version and layer.
const PREAMBLE: usize = 8;
/// A component's, whose sections with a module or a component in them are these.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
const MODULE_SECTION: u8 = 1;
const COMPONENT_SECTION: u8 = 4;
pub(super) const CUSTOM_SECTION: u8 = 0;
/// How deep components may stand in components.
const DEEPEST: usize = 32;

/// The same code without them, in modules within it too.
///
/// # Errors
/// Where it is cut off, or nests too deep.
pub(super) fn strip(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    at_depth(bytes, DEEPEST)
}

fn at_depth(bytes: &[u8], depth: usize) -> anyhow::Result<Vec<u8>> {
    ensure!(depth > 0, "has components within components, more than {DEEPEST} deep");
    let is_component = bytes.starts_with(COMPONENT);
    let (preamble, _) = bytes.split_at_checked(PREAMBLE).context("is damaged")?;
    let mut stripped = preamble.to_vec();
    let mut reader = BinaryReader::new(bytes, 0);
    reader.read_bytes(PREAMBLE)?;
    while !reader.eof() {
        let (id, size) = (reader.read_u8()?, reader.read_var_u32()?);
        let contents = reader.read_bytes(usize::try_from(size)?)?;
        match id {
            CUSTOM_SECTION if is_left_out(contents, is_component)? => {}
            MODULE_SECTION | COMPONENT_SECTION if is_component => {
                section(&mut stripped, id, &at_depth(contents, depth - 1)?)?
            }
            _ => section(&mut stripped, id, contents)?,
        }
    }
    ensure!(stripped.len() <= bytes.len() + PREAMBLE, "is damaged");
    Ok(stripped)
}

/// A component's own name is what describes it.
fn is_left_out(custom: &[u8], of_component: bool) -> anyhow::Result<bool> {
    let name = BinaryReader::new(custom, 0).read_string()?;
    Ok(name.starts_with(".debug_") || (name == "name" && !of_component))
}

/// Writes a section.
pub(super) fn section(to: &mut Vec<u8>, id: u8, contents: &[u8]) -> anyhow::Result<()> {
    to.push(id);
    let mut size = u32::try_from(contents.len())?;
    while size > 0x7f {
        to.push(u8::try_from(size & 0x7f)? | 0x80);
        size >>= 7;
    }
    to.push(u8::try_from(size)?);
    to.extend_from_slice(contents);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmparser::{Parser, Payload};

    fn customs(bytes: &[u8]) -> Vec<String> {
        let payloads = Parser::new(0).parse_all(bytes);
        let custom = payloads.filter_map(|payload| match payload.unwrap() {
            Payload::CustomSection(section) => Some(section.name().to_owned()),
            _ => None,
        });
        custom.collect()
    }

    #[test]
    fn names_and_debug_information_are_left_out_and_all_else_stays() {
        let module = r#"(core module $m (func $f nop) (@custom ".debug_line" "x") (@custom "producers" "\00") (@custom "mine" "y"))"#;
        let bytes =
            wat::parse_str(format!("(component $vendor (@custom \"about\" \"z\") {module} (component {module}))"));
        let bytes = bytes.unwrap();
        let stripped = strip(&bytes).unwrap();
        assert!(customs(&bytes).iter().any(|name| name == "name"), "{:?}", customs(&bytes));
        let left = customs(&stripped);
        assert!(left.iter().all(|name| name != "name" && !name.starts_with(".debug")), "{left:?}");
        assert_eq!(left.iter().filter(|name| ["mine", "producers"].contains(&name.as_str())).count(), 4, "{left:?}");
        assert!(
            left.iter().any(|name| name == "about") && left.iter().any(|name| name == "component-name"),
            "{left:?}"
        );
        wasmparser::Validator::new().validate_all(&stripped).unwrap();
        assert_eq!(strip(&stripped).unwrap(), stripped);
        for end in 0..stripped.len() {
            // What is cut anywhere is damaged, or ends with a section.
            let _ = strip(&stripped[..end]);
        }
    }
}
