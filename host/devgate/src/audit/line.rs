//! One event as one line of JSON.

use devgate_core::status::When;
use serde_json::{Map, Value};
use std::fmt::Debug;
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

/// The most characters of one field: text is cut where it is made, this is for what was forgotten.
const MOST: usize = 8_192;

/// What a line is going to say.
pub(super) struct Line(Map<String, Value>);

/// Whose a line is, and of what kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) plugin: String,
    pub(super) event: String,
    /// Whether it says that something was refused.
    pub(super) refused: bool,
    /// Whether it says how many were left out before it: what made it has a pace of its own.
    pub(super) paced: bool,
}

impl Line {
    fn new(level: Level) -> Self {
        let fields = [("time".to_owned(), When::now().to_string().into()), ("level".to_owned(), level.as_str().into())];
        Self(Map::from_iter(fields))
    }

    /// An event of the log.
    pub(super) fn of(event: &Event<'_>) -> Self {
        let mut line = Self::new(*event.metadata().level());
        event.record(&mut line);
        line
    }

    /// What is for this file alone.
    pub(super) fn with(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let mut line = Self::new(Level::INFO);
        line.0.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
        line
    }

    pub(super) fn kind(&self) -> Kind {
        let text = |name| self.0.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Kind {
            plugin: text("plugin"),
            event: text("event"),
            refused: text("family") == "refused",
            paced: self.0.contains_key("left_out"),
        }
    }

    /// As it is written, without its end.
    pub(super) fn text(mut self, left_out: u64) -> String {
        if left_out > 0 {
            // What made the event may have left out some, too: a slow disk costs lines that had a pace of their own.
            let before = self.0.get("left_out").and_then(Value::as_u64).unwrap_or_default();
            self.put("left_out", before.saturating_add(left_out));
        }
        Value::Object(self.0).to_string()
    }

    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        let cut: String = value.chars().take(MOST).collect();
        self.put(field.name(), cut);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
