use super::*;
use devgate_policy::PolicyFile;
use serde_json::json;
use std::path::{Path, PathBuf};

const MODE: &str = r##"{"$id": "https://example.com/x", "type": "object", "additionalProperties": false,
    "properties": {"mode": {"$ref": "#/$defs/mode"}, "most": {"type": "integer", "minimum": 0}, "names": {"items": {"pattern": "^a+$"}}},
    "$defs": {"mode": {"enum": ["fast", "safe"]}}}"##;

fn problems(schema: &str, config: &Value) -> Vec<String> {
    let found = ConfigSchema::parse(schema).unwrap().problems(config);
    found.into_iter().map(|(at, why)| format!("{at}: {why}")).collect()
}

#[test]
fn each_mistake_is_named_with_its_place() {
    assert!(problems(MODE, &json!({"mode": "safe", "most": 3, "names": ["aa"]})).is_empty());
    assert!(problems(MODE, &Value::Null).is_empty(), "none at all is an empty one");
    let found = problems(MODE, &json!({"mode": "slow", "most": -1, "names": ["a", "b\u{1b}"], "x": 1}));
    insta::assert_snapshot!(found.join("\n"), @r#"
/mode: "slow" is not one of "fast" or "safe"
/most: -1 is less than the minimum of 0
/names/1: "b\\u001b" does not match "^a+$"
: Additional properties are not allowed ('x' was unexpected)
"#);
    let must = r#"{"required": ["devices"]}"#;
    insta::assert_snapshot!(problems(must, &Value::Null).join("\n"), @r#": "devices" is a required property"#);
    let one = r#"{"properties": {"a": {"anyOf": [{"enum": ["x"]}, {"type": "array", "items": {"enum": ["x"]}}]}}}"#;
    insta::assert_snapshot!(problems(one, &json!({"a": "y"})).join("\n"), @r#"/a: is none of what it may be: "y" is not one of "x"; or "y" is not of type "array""#);
    insta::assert_snapshot!(problems(one, &json!({"a": ["x", "y"]})).join("\n"), @r#"/a: is none of what it may be: ["x","y"] is not one of "x"; or /1: "y" is not one of "x""#);
    let many = problems(r#"{"items": {"type": "string"}}"#, &json!(vec![1; 1_000]));
    assert_eq!(many.len(), SHOWN);
}

#[test]
fn what_is_no_schema_or_could_not_be_shown_is_refused() {
    let refused = |text: &str| format!("{:#}", ConfigSchema::parse(text).map(drop).unwrap_err());
    insta::assert_snapshot!(refused("type: object"), @"is no JSON: expected ident at line 1 column 2");
    insta::assert_snapshot!(refused("[]"), @"is no JSON Schema: a mapping is one");
    insta::assert_snapshot!(refused(r#"{"type": "thing"}"#), @r#"is no JSON Schema: /type: is none of what it may be: "thing" is not one of "array", "boolean" or 5 other candidates; or "thing" is not of type "array""#);
    insta::assert_snapshot!(refused(r#"{"properties": {"a": {"minimum": "1"}}}"#), @r#"is no JSON Schema: /properties/a/minimum: "1" is not of type "number""#);
    insta::assert_snapshot!(refused(r#"{"pattern": "("}"#), @r#"is no JSON Schema: "(" is not a "regex""#);
    insta::assert_snapshot!(refused(r#"{"pattern": "(?=a)"}"#), @r#"is no JSON Schema: "(?=a)" is not a "regex""#);
    insta::assert_snapshot!(refused(r#"{"pattern": "(a{1000}){1000}"}"#), @r#"is no JSON Schema: "(a{1000}){1000}" is not a "regex""#);
    insta::assert_snapshot!(refused(r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#), @r#"$schema: is "http://json-schema.org/draft-07/schema#", and only https://json-schema.org/draft/2020-12/schema is known"#);
    insta::assert_snapshot!(refused("{\"title\": \"\u{202e}\"}"), @r#"has the character \u{202e}, which could not be seen"#);
    insta::assert_snapshot!(refused(&format!("{{\"title\": \"{}\"}}", "x".repeat(64 << 10))), @"is larger than 64KiB");
    insta::assert_snapshot!(refused(&"{\"not\":".repeat(200)), @"is no JSON: recursion limit exceeded at line 1 column 890");
}

/// Each is small, and would take for ever, or another's file.
#[test]
fn a_schema_that_could_take_long_or_lead_elsewhere_is_refused() {
    let refused = |schema: Value| format!("{:#}", ConfigSchema::parse(&schema.to_string()).map(drop).unwrap_err());
    insta::assert_snapshot!(refused(json!({"$ref": "#"})), @"$ref #: is no part of it, such as #/$defs/NAME");
    insta::assert_snapshot!(refused(json!({"$ref": "https://example.com/schema"})), @"$ref https://example.com/schema: is no part of it, such as #/$defs/NAME");
    insta::assert_snapshot!(refused(json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}})), @"$ref file:///etc/passwd: is no part of it, such as #/$defs/NAME");
    insta::assert_snapshot!(refused(json!({"$ref": "#/$defs/a"})), @"$ref #/$defs/a: is not there");
    let around = json!({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}});
    insta::assert_snapshot!(refused(around), @"$ref #/$defs/a: leads back to itself");
    let mut doubled = json!({"$ref": "#/$defs/a0", "$defs": {"a20": {}}});
    let mut chain = json!({"$ref": "#/$defs/a0", "$defs": {"a400": {}}});
    for n in 0..20 {
        let next = format!("#/$defs/a{}", n + 1);
        doubled["$defs"][format!("a{n}")] = json!({"allOf": [{"$ref": next}, {"$ref": next}]});
    }
    for n in 0..400 {
        chain["$defs"][format!("a{n}")] = json!({"$ref": format!("#/$defs/a{}", n + 1)});
    }
    insta::assert_snapshot!(refused(doubled), @"has more than 4096 schemas, with each $ref's counted where it stands");
    insta::assert_snapshot!(refused(chain), @"has schemas in schemas, more than 48 deep");
    insta::assert_snapshot!(refused(json!({"$defs": {"a": {"$ref": "#/$defs/a"}}})), @"$ref #/$defs/a: leads back to itself");
    insta::assert_snapshot!(refused(json!({"$dynamicRef": "#x"})), @"$dynamicRef: is not known here; use $ref");
    insta::assert_snapshot!(refused(json!({"properties": {"a": {"$id": "https://json-schema.org/draft/2020-12/schema"}}})), @"$id: stands in a part of it; only the whole may have it");
    let mut deep = json!({"unevaluatedProperties": false});
    for _ in 0..5 {
        deep = json!({"allOf": [deep], "unevaluatedProperties": false});
    }
    insta::assert_snapshot!(refused(deep), @"has unevaluatedProperties or unevaluatedItems 6 times, more than 4");
    let patterns: serde_json::Map<_, _> = (0..101).map(|n| (format!("a{n}"), json!(true))).collect();
    insta::assert_snapshot!(refused(json!({"patternProperties": patterns})), @"has 101 patterns, more than 100");
    // What only looks like a keyword is data, or the name of a property.
    for fine in [
        json!({"const": {"$ref": "https://example.com"}, "default": {"definitions": 1}}),
        json!({"properties": {"$ref": {"type": "string"}, "definitions": true, "pattern": {}}}),
    ] {
        ConfigSchema::parse(&fine.to_string()).unwrap();
    }
}

/// The policies that come with devgate, by the schemas that its components carry.
#[test]
fn each_shipped_policy_is_as_its_component_s_schema_says() {
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests");
    let folders = guests.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<PathBuf> = folders.filter(|folder| folder.join("config.schema.json").is_file()).collect();
    assert!(folders.len() >= 11, "{folders:?}");
    let read = |file: PathBuf| std::fs::read_to_string(&file).unwrap();
    for folder in folders {
        let schema = ConfigSchema::parse(&read(folder.join("config.schema.json"))).unwrap();
        let text = read(folder.join("policy.yaml"));
        let policy = devgate_policy::parse(&[PolicyFile { name: "policy.yaml", text: &text }]).unwrap();
        for plugin in policy.plugins.values() {
            assert_eq!(schema.problems(&plugin.config), [], "{}: {}", folder.display(), plugin.name);
        }
        assert!(!schema.problems(&json!({"no-such-key": 1})).is_empty(), "{}", folder.display());
    }
}
