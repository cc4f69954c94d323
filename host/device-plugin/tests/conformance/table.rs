//! `host/device-plugin/tests/conformance/README.md` and the tests name each other completely.

use std::collections::BTreeSet;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Words like `c16_first_message…` in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_name = |word: &&str| {
        let mut bytes = word.bytes();
        bytes.next() == Some(b'c')
            && word.get(1..3).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
            && word.get(3..4) == Some("_")
    };
    words.filter(is_name).map(str::to_owned).collect()
}

#[test]
fn the_table_names_every_test_and_every_test_is_in_the_table() {
    let table = std::fs::read_to_string(root().join("host/device-plugin/tests/conformance/README.md")).unwrap();
    let mut tests = BTreeSet::new();
    let dirs = ["host/device-plugin/tests/conformance", "tests/tests/e2e"];
    let entries = dirs.into_iter().flat_map(|dir| std::fs::read_dir(root().join(dir)).unwrap());
    for entry in entries.filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_file()) {
        let source = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let functions = source.lines().filter_map(|line| line.trim_start().split_once("fn ")).map(|(_, name)| name);
        tests.extend(functions.flat_map(|name| names(name.split('(').next().unwrap_or_default())));
    }
    assert!(tests.len() > 40, "{tests:?}");
    assert_eq!(names(&table), tests);
    for name in &tests {
        let line = table.lines().find(|line| line.contains(name.as_str())).unwrap();
        let number: u32 = line.trim_start_matches('|').split('|').next().unwrap().trim().parse().unwrap();
        assert_eq!(format!("c{number:02}_"), name[..4], "{name} stands in the wrong line");
    }
}

#[test]
fn the_table_has_every_line_once() {
    let table = std::fs::read_to_string(root().join("host/device-plugin/tests/conformance/README.md")).unwrap();
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows: Vec<_> = table.lines().map(cells).filter(|row| row[0].parse::<u32>().is_ok()).collect();
    let numbers: Vec<u32> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
    assert_eq!(numbers, (1..=65).collect::<Vec<_>>());
    for row in rows {
        assert_eq!(row.len(), 4, "{row:?}");
        assert!(is_kubelets(&row[2]), "{row:?}");
        let (_, missing) = row[3].split_once("not yet").unwrap_or_default();
        assert!(missing.starts_with(", waits for ") || !names(&row[3]).is_empty(), "{row:?}");
        assert_eq!(row[3].contains("not yet"), missing.starts_with(", waits for "), "{row:?}");
    }
}

/// Whether a cell begins with versions: `all`, `none`, or a range of releases.
fn is_kubelets(cell: &str) -> bool {
    let first = cell.split([';', ':']).next().unwrap_or_default();
    let words: Vec<_> = first.split(' ').collect();
    let release = |word: &&str| word.strip_prefix("1.").is_some_and(|minor| minor.parse::<u32>().is_ok());
    match words.as_slice() {
        ["all" | "none"] => true,
        ["from", one] | ["up", "to", one] => release(one),
        ["from", one, "up", "to", other] => release(one) && release(other),
        _ => false,
    }
}
