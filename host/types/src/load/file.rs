//! What can be said of a file before any of it is understood.

use super::refusal::Refusal;
use crate::Limits;

/// Refuses a file that is too large, that is not the one that the policy pins, or that is of another kind.
pub fn check_file(bytes: &[u8], sha256: [u8; 32], limits: &Limits, pinned: Option<[u8; 32]>) -> Result<(), Refusal> {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size > limits.component_size.0 {
        return Err(Refusal::Limit {
            what: format!("component has {size} bytes"),
            most: limits.component_size.to_string(),
            key: Some("limits.component-size"),
        });
    }
    if let Some(pinned) = pinned.filter(|pinned| *pinned != sha256) {
        return Err(Refusal::Digest { pinned, found: sha256 });
    }
    let problem = match bytes {
        [b'\0', b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => return Ok(()),
        [b'\0', b'a', b's', b'm', _, _, 0, 0, ..] => "is a core module, not a component; run `devgatectl pack` on it",
        [b'\0', b'a', b's', b'm', _, _, 1, 0, ..] => "has a component format that this host does not know",
        [0x7f, b'E', b'L', b'F', ..] => {
            "is native code (precompiled or a program); ship the .wasm that it was made from"
        }
        [] => "is empty",
        _ if bytes.trim_ascii_start().starts_with(b"(") => {
            "is WebAssembly as text; run `wasm-tools parse` on it and ship what comes out"
        }
        [b'\0', rest @ ..] if b"asm\x0d\0\x01".starts_with(rest) => "is cut off",
        _ => "is not a WebAssembly component",
    };
    Err(Refusal::Kind(problem))
}
