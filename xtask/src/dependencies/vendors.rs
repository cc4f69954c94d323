//! The host knows no vendor: none of their names stands under `host/`, in code, comments or tests. What a test needs is made up
//! there (`example.com/gpu`, `/dev/acme0`).
//!
//! Names of the kernel's own that vendors gave stay where a general rule lists what the kernel has: its buses (`intel_th`), and
//! classes of nodes that act on the whole machine (`mei`).

use crate::workspace::files_in;
use anyhow::{Context, Result};
use std::path::Path;

/// What a word may not start with: vendors' names, and those of their drivers. In lower case.
const STARTS: &[&str] = &[
    "amdgpu",
    "habana",
    "mellanox",
    "mlx4",
    "mlx5",
    "nvgrace",
    "nvidia",
    "nvrm",
    "radeon",
    "solarflare",
    "tenstorrent",
    "xilinx",
];

/// What a word may not be: names with which others start that are no vendor's (`amd64`, `intel_th`, `intelligent`).
const WORDS: &[&str] = &["amd", "intel"];

/// Each line under a folder that names a vendor, as `host/x.rs:12: nvidia`. Fails where a file cannot be read.
pub(super) fn problems(root: &Path, folder: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in files_in(&root.join(folder))? {
        let shown = Path::new(folder).join(file).display().to_string();
        let bytes = std::fs::read(root.join(&shown)).with_context(|| format!("read {shown}"))?;
        let text = String::from_utf8_lossy(&bytes);
        let hits = text.lines().zip(1..).filter_map(|(line, number)| {
            let word = named(line)?;
            Some(format!("{shown}:{number}: names a vendor ({word}); the host knows none, take a made-up name"))
        });
        found.extend(hits);
    }
    Ok(found)
}

/// The first word of a line that is a vendor's name or starts with one.
fn named(line: &str) -> Option<&str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').find(|word| {
        let lower = word.to_ascii_lowercase();
        WORDS.contains(&lower.as_str()) || STARTS.iter().any(|start| lower.starts_with(start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn vendors_are_found_wherever_a_word_starts_with_their_name() {
        for (line, word) in [
            ("/dev/nvidia0", "nvidia0"),
            ("env: NVIDIA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"),
            ("// Intel's cards", "Intel"),
            ("gpu.intel.com/x", "intel"),
            ("amd.com/gpu", "amd"),
            ("E: DRIVER=mlx5_core", "mlx5_core"),
        ] {
            assert_eq!(named(line), Some(word), "{line}");
        }
        for line in ["", "example.com/gpu", "amd64", "\"intel_th\"", "intelligent", "unvidia", "0x10de", "mei"] {
            assert_eq!(named(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_is_shown_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("host/src")).unwrap();
        std::fs::write(folder.path().join("host/src/a.rs"), "fn a() {}\n// for Habana's\n").unwrap();
        std::fs::write(folder.path().join("host/b.bin"), b"\xff\xfe\n").unwrap();
        assert_eq!(
            problems(folder.path(), "host").unwrap(),
            ["host/src/a.rs:2: names a vendor (Habana); the host knows none, take a made-up name"]
        );
        assert!(problems(folder.path(), "nowhere").is_err());
    }

    /// Names end up in the list as they are compared: a name in capitals would never be found.
    #[test]
    fn names_are_in_lower_case_and_sorted() {
        for list in [STARTS, WORDS] {
            assert!(list.iter().all(|name| name.chars().all(|c| !c.is_ascii_uppercase())));
            assert!(list.is_sorted());
        }
    }

    #[test]
    fn components_of_vendors_are_where_their_names_belong() {
        assert!(!problems(&root(), "guests/nvidia-gpu").unwrap().is_empty());
    }
}
