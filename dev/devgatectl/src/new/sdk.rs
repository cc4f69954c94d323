//! The SDK for Rust, which this program has in it.

use anyhow::Context as _;
use std::io::Read as _;

/// What `build.rs` packed: path, NUL, text, NUL, and so on.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sdk"));

/// Where it is in a project.
pub(super) const FOLDER: &str = "devgate/";

/// Its files: paths in the project and what is there.
///
/// # Errors
/// When what was packed cannot be unpacked, which a program that is whole does not know.
pub(super) fn files() -> anyhow::Result<Vec<(String, String)>> {
    let mut text = String::new();
    flate2::read::ZlibDecoder::new(PACKED)
        .read_to_string(&mut text)
        .context("unpack the SDK that is in this program")?;
    let mut parts = text.split_terminator('\0');
    let mut files = Vec::new();
    while let (Some(path), Some(text)) = (parts.next(), parts.next()) {
        files.push((format!("{FOLDER}{path}"), text.to_owned()));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn by_path() -> BTreeMap<String, String> {
        files().unwrap().into_iter().collect()
    }

    #[test]
    fn what_a_component_is_built_of_is_there_as_it_is_in_the_repository() {
        let files = by_path();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for path in ["guests/sdk/src/bindings.rs", "guests/testing/src/lib.rs", "wit/world.wit", "LICENSE"] {
            let own = std::fs::read_to_string(root.join(path)).unwrap();
            assert!(files[&format!("{FOLDER}{path}")] == own, "{path}");
        }
    }

    #[test]
    fn no_test_and_no_dependency_of_one_is_there() {
        for (path, text) in by_path() {
            assert!(!path.contains("test") || path.starts_with("devgate/guests/testing/"), "{path}");
            assert!(!text.contains("#[test]"), "{path}");
            let of_tests = ["dev-dependencies", "insta", "proptest", "wasmtime", "github.com"];
            let found = of_tests.iter().find(|word| path.ends_with("Cargo.toml") && text.contains(**word));
            assert_eq!(found, None, "{path}:\n{text}");
        }
    }
}
