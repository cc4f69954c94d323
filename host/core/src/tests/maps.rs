//! What is kept by a unit's id is listed in README.md of this crate, with the reason: one fact has one place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What begins the type of such a map.
const MAPS: [&str; 4] =
    ["HashMap<UnitId, ", "BTreeMap<UnitId, ", "BTreeMap<Key, ", "Known = BTreeMap<String, BTreeMap<String, "];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs")
            && !["tests", "property", "workbench"].contains(&name.as_str())
        {
            found.push(path);
        }
    }
}

/// The fields, and the types that are a map, of a source.
fn maps(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let is_code = ["//", "let ", "fn ", "pub fn", "pub(crate) fn", "pub(super) fn", "for ", "use "];
        if !MAPS.iter().any(|map| line.contains(map)) || is_code.iter().any(|start| line.starts_with(start)) {
            return None;
        }
        let named = line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
        let named = named.trim_start_matches("struct ").trim_start_matches("type ");
        named.split(['(', ':', ' ']).next().filter(|name| {
            line.contains("struct ") || line.starts_with("type ") || line.ends_with(',') && !name.is_empty()
        })
    })
}

#[test]
fn what_is_kept_by_a_unit_s_id_is_listed_with_its_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("README.md")).unwrap();
    let table = page.split("## What is kept by a unit's id").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let listed: BTreeSet<(String, String)> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('|').next())
        .flat_map(|cell| {
            let mut words = cell.split('`').filter(|word| !word.trim().is_empty() && word.trim() != ",");
            let file = words.next().unwrap_or_default().to_owned();
            words.map(move |name| (file.clone(), name.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    let mut found = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        // What a test makes for itself is nothing that is kept.
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let name = file.strip_prefix(root.join("src")).unwrap().display().to_string();
        found.extend(maps(text).map(|map| (name.clone(), map.to_owned())));
    }
    assert_eq!(listed, found);
}
