//! `host/dra/CONFORMANCE.md` and the tests name each other completely.

use std::collections::BTreeSet;
use std::path::Path;

fn is_name(word: &str) -> bool {
    word.starts_with("dra") && word.get(3..5).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

fn collect(dir: &Path, tests: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, tests);
            continue;
        }
        let source = std::fs::read_to_string(path).unwrap();
        let functions = source.lines().filter_map(|line| line.trim_start().split_once("fn ")).map(|(_, name)| name);
        let names = functions.map(|name| name.split('(').next().unwrap_or_default());
        tests.extend(names.filter(|name| is_name(name)).map(str::to_owned));
    }
}

#[test]
fn the_table_names_every_test_and_every_test_is_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = BTreeSet::new();
    ["src", "tests"].iter().for_each(|dir| collect(&root.join(dir), &mut tests));
    let table = std::fs::read_to_string(root.join("CONFORMANCE.md")).unwrap();
    let named: BTreeSet<_> = table.split('`').filter(|word| is_name(word)).map(str::to_owned).collect();
    assert!(tests.len() > 25, "{tests:?}");
    assert_eq!(named, tests);
}
