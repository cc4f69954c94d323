//! What a component imports.

use anyhow::{Result, bail};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

/// The names that a component imports, in its own order. Fails when the bytes are not a valid component of the
/// component model's first version.
pub(crate) fn of(bytes: &[u8]) -> Result<Vec<String>> {
    if !Parser::is_component(bytes) {
        bail!("not a component; is wasm-component-ld the linker?");
    }
    Validator::new_with_features(WasmFeatures::default()).validate_all(bytes)?;
    let mut names = Vec::new();
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    names.push(import?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(component (import "wasi:io/poll@0.2.0" (instance)))`, as bytes.
    fn component() -> Vec<u8> {
        let name = b"wasi:io/poll@0.2.0";
        let length = u8::try_from(name.len()).unwrap();
        let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
        // A section of types: one, an instance without declarations.
        bytes.extend([7, 3, 1, 0x42, 0]);
        // A section of imports: one, a name of the plain form, of the instance type 0.
        bytes.extend([10, length + 5, 1, 0, length]);
        bytes.extend(name);
        bytes.extend([5, 0]);
        bytes
    }

    #[test]
    fn imports_are_read_from_the_outermost_component() {
        assert_eq!(of(&component()).unwrap(), ["wasi:io/poll@0.2.0"]);
    }

    #[test]
    fn what_is_no_component_is_an_error() {
        for bytes in [&b""[..], b"\0asm\x01\0\0\0", b"ELF"] {
            assert!(of(bytes).unwrap_err().to_string().starts_with("not a component"));
        }
        let mut broken = component();
        broken.truncate(20);
        assert!(of(&broken).is_err());
    }
}
