//! The JSON form of status, held to its page.

use crate::monitoring::tests::one;
use std::collections::BTreeSet;

/// Names of JSON's objects that are no words of ours: counts by kind, labels by name.
const OPEN: [&str; 5] = ["refused", "allocations", "given", "missing", "pulls"];

fn keys(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Array(all) => all.iter().for_each(|value| keys(value, found)),
        serde_json::Value::Object(all) => {
            for (key, value) in all {
                found.insert(key.clone());
                if !OPEN.contains(&key.as_str()) {
                    keys(value, found);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn each_key_of_the_json_form_is_on_the_page() {
    let mut found = BTreeSet::new();
    keys(&serde_json::to_value(one()).unwrap(), &mut found);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/devgatectl.md")).unwrap();
    let (_, page) = page.split_once("## devgate status").unwrap();
    let (page, _) = page.split_once("\n## ").unwrap();
    found.retain(|key| !page.contains(&format!("`{key}`")));
    assert_eq!(found, BTreeSet::new(), "docs/devgatectl.md does not name these");
}
