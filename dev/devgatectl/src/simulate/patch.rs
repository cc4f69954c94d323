//! A policy with a merge patch over it (RFC 7386). The order of the entries stays: what two plugins claim is the earlier one's.

use devgate::exit;
use devgate_policy::yaml::{Node, Value, read_as};
use serde::{Serialize, Serializer};

/// A policy's text with the patch over it, as JSON, which is YAML as well.
///
/// # Errors
/// Where the text is no policy.
pub(super) fn patched(policy: &str, patch: &Node) -> anyhow::Result<String> {
    let policy = read_as("a policy", policy);
    let mut policy = policy.map_err(|(_, message)| exit::with_code(exit::POLICY, message))?;
    merge(&mut policy, patch);
    Ok(serde_json::to_string_pretty(&Tree(&policy))?)
}

fn merge(target: &mut Node, patch: &Node) {
    let Value::Map(changes) = &patch.value else {
        *target = patch.clone();
        return;
    };
    let mut entries = match std::mem::replace(&mut target.value, Value::Null) {
        Value::Map(entries) => entries,
        _ => Vec::new(),
    };
    for (key, change) in changes {
        if change.value == Value::Null {
            entries.retain(|(known, _)| known.text != key.text);
        } else if let Some((_, value)) = entries.iter_mut().find(|(known, _)| known.text == key.text) {
            merge(value, change);
        } else {
            let (at, value) = (change.at, Value::Null);
            let mut new = Node { at, value };
            merge(&mut new, change);
            entries.push((key.clone(), new));
        }
    }
    target.value = Value::Map(entries);
}

/// A tree as JSON, its entries in their order.
struct Tree<'a>(&'a Node);

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.value {
            Value::List(list) => serializer.collect_seq(list.iter().map(Tree)),
            Value::Map(map) => serializer.collect_map(map.iter().map(|(key, node)| (&key.text, Tree(node)))),
            _ => self.0.to_json().serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(policy: &str, patch: &str) -> serde_json::Value {
        let read = |text| read_as("a test", text).unwrap();
        let text = patched(policy, &read(patch)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// The examples of RFC 7386, appendix A, that are mappings.
    #[test]
    fn a_patch_is_merged_as_the_rfc_says() {
        for (target, patch, result) in [
            ("{a: b}", "{a: c}", r#"{"a": "c"}"#),
            ("{a: b}", "{b: c}", r#"{"a": "b", "b": "c"}"#),
            ("{a: b}", "{a: null}", "{}"),
            ("{a: b, b: c}", "{a: null}", r#"{"b": "c"}"#),
            ("{a: [b]}", "{a: c}", r#"{"a": "c"}"#),
            ("{a: c}", "{a: [b]}", r#"{"a": ["b"]}"#),
            ("{a: {b: c}}", "{a: {b: d, c: null}}", r#"{"a": {"b": "d"}}"#),
            ("{a: [{b: c}]}", "{a: [1]}", r#"{"a": [1]}"#),
            ("{e: null}", "{a: 1}", r#"{"e": null, "a": 1}"#),
            ("{a: foo}", "{a: {bb: {ccc: null}}}", r#"{"a": {"bb": {}}}"#),
        ] {
            let expected: serde_json::Value = serde_json::from_str(result).unwrap();
            assert_eq!(merged(target, patch), expected, "{target} with {patch}");
        }
    }

    #[test]
    fn the_order_of_the_plugins_stays() {
        let read = |text| read_as("a test", text).unwrap();
        let text = patched("plugins: {z: {a: 1}, b: {}}", &read("plugins: {b: {c: 2}, z: {a: 3}, a: {}}")).unwrap();
        let order: Vec<_> = ["\"z\"", "\"b\"", "\"a\": {}"].map(|key| text.find(key).unwrap()).into();
        assert!(order.is_sorted(), "{text}");
    }
}
