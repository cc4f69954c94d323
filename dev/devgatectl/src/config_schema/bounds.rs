//! What keeps a stranger's schema from taking long: it refers to parts of its own alone, in no circle, and is small with each of them
//! put in its place.

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The most schemas in it, each time that one is referred to counted.
const MAX_SCHEMAS: usize = 4_096;
/// How deep they may stand in each other.
const MAX_DEPTH: usize = 48;
/// The most patterns, and of what looks at what others have left over, each as often as it is written.
const MAX_PATTERNS: usize = 100;
const MAX_UNEVALUATED: usize = 4;

/// What a schema has one of.
const ONE: [&str; 11] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// What it has several of, in order or by name.
const SEVERAL: [&str; 7] =
    ["allOf", "anyOf", "dependentSchemas", "oneOf", "patternProperties", "prefixItems", "properties"];
/// What only older drafts have, or leads elsewhere than to a part that is named.
const UNKNOWN: [(&str, &str); 6] = [
    ("$dynamicRef", "use $ref"),
    ("$recursiveRef", "use $ref"),
    ("$anchor", "refer to #/$defs/NAME"),
    ("$dynamicAnchor", "refer to #/$defs/NAME"),
    ("definitions", "use $defs"),
    ("dependencies", "use dependentSchemas or dependentRequired"),
];

/// Refuses a schema that could take long.
pub(super) fn look(root: &Map<String, Value>) -> anyhow::Result<()> {
    let empty = Map::new();
    let parts = root.get("$defs").and_then(Value::as_object).unwrap_or(&empty);
    let mut count = Count { parts, known: BTreeMap::new(), patterns: 0, unevaluated: 0 };
    count.schema(root, 0)?;
    // What nothing refers to is compiled, too.
    for name in parts.keys() {
        count.part(name, 1)?;
    }
    ensure!(count.patterns <= MAX_PATTERNS, "has {} patterns, more than {MAX_PATTERNS}", count.patterns);
    ensure!(
        count.unevaluated <= MAX_UNEVALUATED,
        "has unevaluatedProperties or unevaluatedItems {} times, more than {MAX_UNEVALUATED}",
        count.unevaluated
    );
    Ok(())
}

/// How many schemas something is with all that it refers to, and how deep they stand.
#[derive(Clone, Copy, Default)]
struct Size {
    schemas: usize,
    depth: usize,
}

struct Count<'a> {
    parts: &'a Map<String, Value>,
    /// Of each part; `None` while it is being counted.
    known: BTreeMap<&'a str, Option<Size>>,
    patterns: usize,
    unevaluated: usize,
}

impl<'a> Count<'a> {
    fn schema(&mut self, schema: &'a Map<String, Value>, at: usize) -> anyhow::Result<Size> {
        ensure!(at < MAX_DEPTH, "has schemas in schemas, more than {MAX_DEPTH} deep");
        let mut size = Size { schemas: 1, depth: 1 };
        for (keyword, value) in schema {
            let keyword = keyword.as_str();
            if let Some((_, instead)) = UNKNOWN.iter().find(|(unknown, _)| *unknown == keyword) {
                bail!("{keyword}: is not known here; {instead}");
            }
            ensure!(
                at == 0 || !["$id", "$defs"].contains(&keyword),
                "{keyword}: stands in a part of it; only the whole may have it"
            );
            self.patterns += usize::from(keyword == "pattern");
            self.unevaluated += usize::from(keyword.starts_with("unevaluated"));
            match value {
                Value::String(to) if keyword == "$ref" => {
                    let name = to.strip_prefix("#/$defs/").filter(|name| !name.contains(['/', '~', '%']));
                    let to = devgate_types::escape(to, 120);
                    let name = name.with_context(|| format!("$ref {to}: is no part of it, such as #/$defs/NAME"))?;
                    let (name, _) =
                        self.parts.get_key_value(name).with_context(|| format!("$ref {to}: is not there"))?;
                    let part = self.part(name, at + 1)?;
                    size.add(part)?;
                }
                one if ONE.contains(&keyword) => self.add(one, at, &mut size)?,
                Value::Array(several) if SEVERAL.contains(&keyword) => {
                    several.iter().try_for_each(|one| self.add(one, at, &mut size))?;
                }
                Value::Object(several) if SEVERAL.contains(&keyword) => {
                    self.patterns += if keyword == "patternProperties" { several.len() } else { 0 };
                    several.values().try_for_each(|one| self.add(one, at, &mut size))?;
                }
                _ => {}
            }
        }
        Ok(size)
    }

    fn add(&mut self, schema: &'a Value, at: usize, size: &mut Size) -> anyhow::Result<()> {
        let one = self.one(schema, at + 1)?;
        size.add(one)
    }

    /// `true` and `false` are schemas, too.
    fn one(&mut self, schema: &'a Value, at: usize) -> anyhow::Result<Size> {
        match schema.as_object() {
            Some(schema) => self.schema(schema, at),
            None => Ok(Size { schemas: 1, depth: 1 }),
        }
    }

    fn part(&mut self, name: &'a str, at: usize) -> anyhow::Result<Size> {
        let shown = || devgate_types::escape(name, 120);
        let size = match self.known.get(name) {
            Some(Some(size)) => *size,
            Some(None) => bail!("$ref #/$defs/{}: leads back to itself", shown()),
            None => {
                self.known.insert(name, None);
                let size = self.parts.get(name).map_or(Ok(Size::default()), |part| self.one(part, at))?;
                self.known.insert(name, Some(size));
                size
            }
        };
        ensure!(at + size.depth <= MAX_DEPTH, "has schemas in schemas, more than {MAX_DEPTH} deep");
        Ok(size)
    }
}

impl Size {
    fn add(&mut self, other: Self) -> anyhow::Result<()> {
        self.schemas = self.schemas.saturating_add(other.schemas);
        self.depth = self.depth.max(other.depth + 1);
        ensure!(
            self.schemas <= MAX_SCHEMAS,
            "has more than {MAX_SCHEMAS} schemas, with each $ref's counted where it stands"
        );
        Ok(())
    }
}
