//! The JSON Schema of a policy file, made from the table of keys and the page for people, for editors.

use super::words::{self, Default};
use crate::key::{Key, Kind, POLICY, Section};
use crate::{dangerous, time};
use devgate_types::ByteSize;
use serde_json::{Map, Value, json};

/// The JSON Schema (draft-07, which editors' language servers know best) of one policy file.
///
/// It is looser than the parser, which also knows what depends on something else: a file that the parser accepts meets
/// the schema, and not the other way round.
pub(super) fn of(page: &str) -> Value {
    let mut schema = section(page, &POLICY);
    if let Value::Object(map) = &mut schema {
        let title = "A policy of devgate: what each vendor's component may see, hand out and use up";
        map.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
        map.insert("title".to_owned(), json!(title));
    }
    schema
}

fn section(page: &str, section: &Section) -> Value {
    let properties: Map<String, Value> =
        section.keys.iter().map(|key| (key.name.to_owned(), property(page, section, key))).collect();
    let required = section.keys.iter().filter(|key| words::of(page, section, key).default == Default::Required);
    let mut out = json!({
        "title": section.name, "type": "object", "additionalProperties": false, "properties": properties,
    });
    let required: Vec<&str> = required.map(|key| key.name).collect();
    if !required.is_empty() {
        set(&mut out, "required", json!(required));
    }
    out
}

fn property(page: &str, section: &Section, key: &Key) -> Value {
    let mut out = kind(page, key.kind);
    let said = words::of(page, section, key);
    let doc = match &said.default {
        Default::Means(words) => format!("{} Default: {words}.", said.doc),
        Default::Is(_) | Default::Required => said.doc.clone(),
    };
    set(&mut out, "description", json!(doc));
    if let Default::Is(text) = &said.default {
        let default = match key.kind {
            Kind::Number(..) => text.parse::<u32>().map_or(Value::Null, Value::from),
            Kind::Flag => json!(text == "true"),
            _ => json!(text),
        };
        set(&mut out, "default", default);
    }
    out
}

fn kind(page: &str, kind: Kind) -> Value {
    let text = || json!({ "type": "string", "minLength": 1 });
    match kind {
        Kind::Exactly(text) => json!({ "const": text }),
        Kind::Text(None) => text(),
        Kind::Text(Some(form)) => json!({ "type": "string", "pattern": form }),
        Kind::Texts | Kind::Patterns => one_or_several(&text()),
        Kind::Paths => one_or_several(&json!({ "type": "string", "pattern": "^/" })),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Number(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Time(least, most) => json!({
            "type": "string", "pattern": "^[0-9]+(us|ms|s|m|h)$",
            "examples": [time::show(least), time::show(most)],
        }),
        Kind::Size(least, most) => json!({
            "type": "string", "pattern": "^[0-9]+(B|KiB?|MiB?|GiB?)$",
            "examples": [size(least), size(most)],
        }),
        Kind::OneOf(words) => json!({ "enum": words }),
        Kind::SomeOf(words) => one_or_several(&json!({ "enum": words })),
        Kind::Dangers => one_or_several(&json!({ "enum": dangerous::words() })),
        Kind::Access => json!({ "type": "string", "pattern": "^[rwm]{1,3}$" }),
        Kind::Anything => json!({}),
        Kind::One(inner) => section(page, inner),
        Kind::Many(inner) => json!({ "type": "array", "minItems": 1, "items": section(page, inner) }),
        Kind::Named(inner) => json!({ "type": "object", "additionalProperties": section(page, inner) }),
        Kind::Labels(inner) => json!({
            "type": "object", "additionalProperties": { "anyOf": [text(), section(page, inner)] },
        }),
        Kind::NamedWords(words) => json!({ "type": "object", "additionalProperties": { "enum": words } }),
        Kind::NamedPatterns => json!({ "type": "object", "additionalProperties": one_or_several(&text()) }),
        // An empty text may be meant in a list.
        Kind::Rules => json!({
            "type": "object",
            "additionalProperties": {
                "anyOf": [text(), { "type": "array", "minItems": 1, "items": { "type": "string" } }],
            },
        }),
    }
}

fn one_or_several(one: &Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }] })
}

fn size(size: ByteSize) -> String {
    size.to_string()
}

fn set(schema: &mut Value, name: &str, value: Value) {
    if let Value::Object(map) = schema {
        map.insert(name.to_owned(), value);
    }
}
