//! What a component can do without, which travels in it, as `devgatectl pack --optional` puts it there.

use super::imports;
use super::section;
use anyhow::{Result, bail};
use serde_json::Value;

/// The custom section, as the host knows it.
const SECTION: &str = "devgate:optional";

/// The interfaces that a package's manifest names: `optional` of `[package.metadata.devgate]`.
pub(super) fn named(metadata: &Value) -> Vec<String> {
    let named = metadata.pointer("/devgate/optional").and_then(Value::as_array);
    named.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The component with these, if there are any. Fails where it does not import one of them: no host would take it.
pub(super) fn carried(component: Vec<u8>, interfaces: &[String]) -> Result<Vec<u8>> {
    if interfaces.is_empty() {
        return Ok(component);
    }
    let imports = imports::of(&component)?;
    for interface in interfaces {
        let start = format!("devgate:plugin/{interface}@");
        if !imports.iter().any(|import| import.starts_with(&start)) {
            bail!("its manifest says that it can do without {interface}, which it does not import");
        }
    }
    section::with(component, SECTION, interfaces.join("\n").as_bytes())
}

/// Those that a component carries.
pub(super) fn of(component: &[u8]) -> Vec<String> {
    let mut payloads = wasmparser::Parser::new(0).parse_all(component).map_while(Result::ok);
    let text = payloads.find_map(|payload| match payload {
        wasmparser::Payload::CustomSection(section) if section.name() == SECTION => Some(section.data()),
        _ => None,
    });
    String::from_utf8_lossy(text.unwrap_or_default()).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_them_and_the_component_carries_them() {
        let metadata = serde_json::json!({"devgate": {"optional": ["files", "state"]}});
        assert_eq!(named(&metadata), ["files", "state"]);
        assert!(named(&Value::Null).is_empty());
        let empty = b"\0asm\x0d\0\x01\0".to_vec();
        assert_eq!(carried(empty.clone(), &[]).unwrap(), empty);
        let error = carried(empty.clone(), &named(&metadata)).unwrap_err().to_string();
        assert_eq!(error, "its manifest says that it can do without files, which it does not import");
        assert_eq!(of(&section::with(empty, SECTION, b"files\nstate").unwrap()), ["files", "state"]);
    }
}
