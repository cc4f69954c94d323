//! One event as one line of JSON.

use devgate_core::status::When;
use serde_json::{Map, Value};
use std::fmt::Debug;
use tracing::Event;
use tracing::field::{Field, Visit};

/// The most characters of one field: text is cut where it is made, this is for what nobody thought of.
const MOST: usize = 8_192;

/// The line, without its end.
pub(super) fn of(event: &Event<'_>, left_out: u64) -> String {
    let mut fields = Fields(Map::new());
    fields.0.insert("time".into(), When::now().to_string().into());
    fields
        .0
        .insert("level".into(), event.metadata().level().as_str().into());
    event.record(&mut fields);
    whole(fields.0, left_out)
}

/// The same of an event that is only for this file.
pub(super) fn with(fields: impl IntoIterator<Item = (&'static str, Value)>, left_out: u64) -> String {
    let mut all = Map::new();
    all.insert("time".into(), When::now().to_string().into());
    all.insert("level".into(), "INFO".into());
    all.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
    whole(all, left_out)
}

fn whole(mut fields: Map<String, Value>, left_out: u64) -> String {
    if left_out > 0 {
        // What made the event may have left out some, too: a slow disk costs lines that had a pace of their own.
        let before = fields.get("left_out").and_then(Value::as_u64).unwrap_or_default();
        fields.insert("left_out".into(), before.saturating_add(left_out).into());
    }
    Value::Object(fields).to_string()
}

/// Whose an event is, and of what kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) plugin: String,
    pub(super) event: String,
    /// Whether it says that something was refused.
    pub(super) refused: bool,
    /// Whether it says how many were left out before it: what made it has a pace of its own.
    pub(super) paced: bool,
}

impl Kind {
    pub(super) fn of(event: &Event<'_>) -> Self {
        let mut kind = Self::default();
        event.record(&mut kind);
        kind
    }

    fn put(&mut self, field: &Field, value: &str) {
        match field.name() {
            "plugin" => value.clone_into(&mut self.plugin),
            "event" => value.clone_into(&mut self.event),
            "family" => self.refused = value == "refused",
            _ => {}
        }
    }
}

impl Visit for Kind {
    fn record_u64(&mut self, field: &Field, _: u64) {
        self.paced |= field.name() == "left_out";
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if matches!(field.name(), "plugin" | "event" | "family") {
            self.put(field, &format!("{value:?}"));
        }
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        let cut: String = value.chars().take(MOST).collect();
        self.put(field, cut);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let cut: String = format!("{value:?}").chars().take(MOST).collect();
        self.put(field, cut);
    }
}
