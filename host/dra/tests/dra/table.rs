//! `host/dra/CONFORMANCE.md` and the tests name each other completely; what it names elsewhere is there.

use std::collections::BTreeSet;
use std::path::Path;

/// Where the functions of other crates are that it names.
const ELSEWHERE: [&str; 4] = ["host/devgate-agent/src", "host/core/src", "tests/tests/e2e", "host/dra"];
const SCENARIOS: &str = "tests/cluster/src/scenarios.rs";

fn is_name(word: &str) -> bool {
    word.starts_with("dra") && word.get(3..5).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

fn collect(dir: &Path, functions: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, functions);
            continue;
        }
        let Ok(source) = std::fs::read_to_string(path) else { continue };
        let named = source.lines().filter_map(|line| line.trim_start().split_once("fn ")).map(|(_, name)| name);
        functions.extend(named.map(|name| name.split('(').next().unwrap_or_default().to_owned()));
    }
}

fn table() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("CONFORMANCE.md")).unwrap()
}

#[test]
fn the_table_names_every_test_and_every_test_is_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = BTreeSet::new();
    ["src", "tests"].iter().for_each(|dir| collect(&root.join(dir), &mut tests));
    tests.retain(|name| is_name(name));
    let named: BTreeSet<_> = table().split('`').filter(|word| is_name(word)).map(str::to_owned).collect();
    assert!(tests.len() > 25, "{tests:?}");
    assert_eq!(named, tests);
}

#[test]
fn what_the_table_names_elsewhere_is_there_and_no_point_is_left_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (table, mut functions) = (table(), BTreeSet::new());
    ELSEWHERE.iter().for_each(|dir| collect(&root.join(dir), &mut functions));
    let scenarios = std::fs::read_to_string(root.join(SCENARIOS)).unwrap();
    let (mut tests, mut played) = (0, 0);
    for word in table.split('`').skip(1).step_by(2) {
        let is_word = word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        if is_word && word.matches('_').count() > 3 {
            assert!(functions.contains(word), "{word} is no function of {ELSEWHERE:?}");
            tests += 1;
        } else if word.starts_with("claims") {
            assert!(scenarios.contains(&format!("name: \"{word}\"")), "{word} is no scenario");
            played += 1;
        }
    }
    assert!(tests > 40 && played > 10, "{tests} tests, {played} scenarios");
    let points = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let points: BTreeSet<u32> =
        points.flat_map(|numbers| numbers.split(", ").filter_map(|number| number.parse().ok())).collect();
    assert_eq!(points, (1..=44).collect());
}
