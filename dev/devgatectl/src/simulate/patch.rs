//! A policy with a merge patch over it (RFC 7386). The order of the entries stays: what two plugins claim is the earlier one's.

use devgate_policy::yaml::{Key, Node, Value};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

/// The policy's text with the patch over it, as JSON, which is YAML as well.
pub(super) fn patched(mut policy: Node, patch: &Node) -> anyhow::Result<String> {
    merge(&mut policy, patch);
    Ok(serde_json::to_string_pretty(&Tree(&policy))?)
}

fn merge(target: &mut Node, patch: &Node) {
    let Value::Map(changes) = &patch.value else {
        *target = patch.clone();
        return;
    };
    if !matches!(target.value, Value::Map(_)) {
        target.value = Value::Map(Vec::new());
    }
    let Value::Map(entries) = &mut target.value else { return };
    for (key, change) in changes {
        let at = entries.iter().position(|(known, _)| known.text == key.text);
        match (at, &change.value) {
            (Some(at), Value::Null) => {
                entries.remove(at);
            }
            (None, Value::Null) => {}
            (Some(at), _) => {
                if let Some((_, value)) = entries.get_mut(at) {
                    merge(value, change);
                }
            }
            (None, _) => {
                let mut value = Node {
                    at: change.at,
                    value: Value::Null,
                };
                merge(&mut value, change);
                let key: Key = key.clone();
                entries.push((key, value));
            }
        }
    }
}

/// A tree as JSON, its entries in their order.
struct Tree<'a>(&'a Node);

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.value {
            Value::List(list) => {
                let mut all = serializer.serialize_seq(Some(list.len()))?;
                for node in list {
                    all.serialize_element(&Tree(node))?;
                }
                all.end()
            }
            Value::Map(map) => {
                let mut all = serializer.serialize_map(Some(map.len()))?;
                for (key, node) in map {
                    all.serialize_entry(&key.text, &Tree(node))?;
                }
                all.end()
            }
            _ => self.0.to_json().serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_policy::yaml::read_as;

    fn merged(policy: &str, patch: &str) -> serde_json::Value {
        let read = |text| read_as("a test", text).unwrap();
        let text = patched(read(policy), &read(patch)).unwrap();
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
        let text = patched(
            read("plugins: {z: {a: 1}, b: {}}"),
            &read("plugins: {b: {c: 2}, z: {a: 3}, a: {}}"),
        )
        .unwrap();
        let order: Vec<_> = ["\"z\"", "\"b\"", "\"a\": {}"]
            .map(|key| text.find(key).unwrap())
            .into();
        assert!(order.is_sorted(), "{text}");
    }
}
