//! As much of JSON Schema as ours uses. Validators from elsewhere bring dozens of crates, one with a licence that is not on the
//! list, and features that would have the runtime compiled twice. A keyword that is unknown here fails the test.

use regex::Regex;
use serde_json::Value;

/// What `schema` says against `value`, each with its place.
pub(in crate::tests) fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    check(schema, value, "", &mut out);
    out
}

fn check(schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    if let Value::Bool(allowed) = schema {
        if !allowed {
            out.push(format!("{at}: is not allowed"));
        }
        return;
    }
    for (keyword, rule) in schema.as_object().unwrap() {
        let ok = match keyword.as_str() {
            "$schema" | "title" | "description" | "default" | "examples" => true,
            "type" => match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                other => panic!("type {other}"),
            },
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "pattern" => {
                let pattern = Regex::new(rule.as_str().unwrap()).unwrap();
                value.as_str().is_none_or(|text| pattern.is_match(text))
            }
            "minLength" => {
                let least = usize::try_from(rule.as_u64().unwrap()).unwrap();
                value.as_str().is_none_or(|text| text.chars().count() >= least)
            }
            "minItems" => {
                let least = usize::try_from(rule.as_u64().unwrap()).unwrap();
                value.as_array().is_none_or(|list| list.len() >= least)
            }
            "minimum" => value.as_i64().is_none_or(|n| n >= rule.as_i64().unwrap()),
            "maximum" => value.as_i64().is_none_or(|n| n <= rule.as_i64().unwrap()),
            "anyOf" => {
                let any = |one: &Value| problems(one, value).is_empty();
                rule.as_array().unwrap().iter().any(any)
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, item, &format!("{at}/{n}"), out);
                }
                true
            }
            "required" => {
                let names = rule.as_array().unwrap().iter();
                value
                    .as_object()
                    .is_none_or(|map| names.into_iter().all(|name| map.contains_key(name.as_str().unwrap())))
            }
            "properties" => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if let Some(property) = rule.get(name) {
                        check(property, inner, &format!("{at}/{name}"), out);
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if !known.is_some_and(|known| known.contains_key(name)) {
                        check(rule, inner, &format!("{at}/{name}"), out);
                    }
                }
                true
            }
            other => panic!("keyword {other}"),
        };
        if !ok {
            out.push(format!("{at}: {keyword}"));
        }
    }
}

#[test]
fn the_validator_itself_tells_right_from_wrong() {
    use serde_json::json;
    for (schema, right, wrong) in [
        (json!({"type": "object"}), json!({}), json!([])),
        (json!({"type": "integer"}), json!(1), json!(1.5)),
        (json!({"enum": ["a"]}), json!("a"), json!("b")),
        (json!({"const": "a"}), json!("a"), json!("b")),
        (json!({"pattern": "^a"}), json!("ab"), json!("cb")),
        (json!({"minLength": 1}), json!("a"), json!("")),
        (json!({"minItems": 1}), json!([1]), json!([])),
        (json!({"minimum": 1, "maximum": 3}), json!(3), json!(4)),
        (json!({"anyOf": [{"type": "string"}, {"type": "array"}]}), json!([]), json!({})),
        (json!({"items": {"type": "string"}}), json!(["a"]), json!(["a", 1])),
        (json!({"required": ["a"]}), json!({"a": 1}), json!({"b": 1})),
        (
            json!({"properties": {"a": {"type": "string"}}, "additionalProperties": false}),
            json!({"a": "b"}),
            json!({"b": "b"}),
        ),
        (json!({"properties": {"a": {"type": "string"}}}), json!({"b": 1}), json!({"a": 1})),
    ] {
        assert_eq!(problems(&schema, &right), Vec::<String>::new(), "{schema}");
        assert_ne!(problems(&schema, &wrong), Vec::<String>::new(), "{schema}");
    }
}
