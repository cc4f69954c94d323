//! Taking the configuration apart, so that an error says where: `config pools[1].select[0].vendors: …`.

use devgate_sdk::Error;
use serde_json::{Map, Value};

/// A mapping and where it stands; what is left at the end was not known.
pub(crate) struct Fields {
    at: String,
    known: Vec<&'static str>,
    rest: Map<String, Value>,
}

/// The error for a place; the whole configuration has an empty one.
pub(crate) fn refused(at: &str, problem: &str) -> Error {
    let space = if at.is_empty() { "" } else { " " };
    Error::invalid(format!("config{space}{at}: {problem}"))
}

/// A value that must be a mapping.
pub(crate) fn fields(at: String, value: Value) -> Result<Fields, Error> {
    match value {
        Value::Object(rest) => Ok(Fields {
            at,
            known: Vec::new(),
            rest,
        }),
        _ => Err(refused(&at, "must be a mapping")),
    }
}

impl Fields {
    /// Where it stands.
    pub(crate) fn at(&self) -> &str {
        &self.at
    }

    /// Where one of its keys stands.
    pub(crate) fn place(&self, key: &str) -> String {
        let dot = if self.at.is_empty() { "" } else { "." };
        format!("{}{dot}{key}", self.at)
    }

    pub(crate) fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.rest.remove(key)
    }

    pub(crate) fn flag(&mut self, key: &'static str) -> Result<bool, Error> {
        match self.take(key) {
            None => Ok(false),
            Some(Value::Bool(on)) => Ok(on),
            Some(_) => Err(refused(&self.place(key), "must be true or false")),
        }
    }

    pub(crate) fn text(&mut self, key: &'static str) -> Result<Option<String>, Error> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(refused(&self.place(key), "must be text in quotes")),
        }
    }

    /// The elements of a list that has at least one, each with its place.
    pub(crate) fn list(&mut self, key: &'static str) -> Result<Option<Vec<(String, Value)>>, Error> {
        let place = self.place(key);
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(values)) if !values.is_empty() => {
                let with_place = |(i, value)| (format!("{place}[{i}]"), value);
                Ok(Some(values.into_iter().enumerate().map(with_place).collect()))
            }
            Some(_) => Err(refused(&place, "must be a list with at least one entry")),
        }
    }

    /// One text or several; none where the key is not there.
    pub(crate) fn texts(&mut self, key: &'static str) -> Result<Vec<(String, String)>, Error> {
        if let Some(Value::String(_)) = self.rest.get(key) {
            let text = self.text(key)?.unwrap_or_default();
            return Ok(vec![(self.place(key), text)]);
        }
        let list = self.list(key)?.unwrap_or_default();
        let text = |(at, value): (String, Value)| match value {
            Value::String(text) => Ok((at, text)),
            _ => Err(refused(&at, "must be text in quotes")),
        };
        list.into_iter().map(text).collect()
    }

    /// Refuses what was not taken.
    pub(crate) fn end(self) -> Result<(), Error> {
        match self.rest.keys().next() {
            None => Ok(()),
            Some(key) => {
                let known = self.known.join(", ");
                Err(refused(&self.at, &format!("unknown key `{key}`; known here: {known}")))
            }
        }
    }
}
