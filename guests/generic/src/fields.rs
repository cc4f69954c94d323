//! Taking a configuration apart, so that an error says where: `devices[1].usb.vendor: must be text in quotes, is a number`.

use devgate_sdk::Error;
use serde_json::Value;

/// A mapping whose keys are taken out one by one; what is left at the end was not known.
pub(crate) struct Fields {
    path: String,
    known: Vec<&'static str>,
    /// A list and not a map: there are few, and a map's code is larger than all of this file's.
    rest: Vec<(String, Value)>,
}

/// A value and where it stands.
pub(crate) struct Field {
    pub(crate) path: String,
    pub(crate) value: Value,
}

impl Field {
    /// The error for this place.
    pub(crate) fn refused(&self, problem: &str) -> Error {
        refused(&self.path, problem)
    }

    fn expected(&self, what: &str) -> Error {
        let is = match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "a mapping",
        };
        self.refused(&format!("must be {what}, is {is}"))
    }

    pub(crate) fn text(self) -> Result<String, Error> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => Err(self.expected("text in quotes")),
        }
    }

    pub(crate) fn switch(self) -> Result<bool, Error> {
        match self.value {
            Value::Bool(on) => Ok(on),
            _ => Err(self.expected("true or false")),
        }
    }

    /// The elements of a list that has at least one.
    pub(crate) fn list(self) -> Result<Vec<Field>, Error> {
        match self.value {
            Value::Array(values) if !values.is_empty() => {
                let field = |(i, value)| Field {
                    path: format!("{}[{i}]", self.path),
                    value,
                };
                Ok(values.into_iter().enumerate().map(field).collect())
            }
            Value::Array(_) => Err(self.refused("must not be empty")),
            _ => Err(self.expected("a list")),
        }
    }

    /// The texts of a mapping with any keys.
    pub(crate) fn texts(self) -> Result<Vec<(String, String)>, Error> {
        let fields = self.fields()?;
        let text = |(key, value)| {
            let path = format!("{}.{key}", fields.path);
            Ok((key, Field { path, value }.text()?))
        };
        fields.rest.into_iter().map(text).collect()
    }

    pub(crate) fn fields(self) -> Result<Fields, Error> {
        match self.value {
            Value::Object(map) => Ok(Fields {
                path: self.path,
                known: Vec::new(),
                rest: map.into_iter().collect(),
            }),
            _ => Err(self.expected("a mapping")),
        }
    }
}

impl Fields {
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The error for this mapping as a whole.
    pub(crate) fn refused(&self, problem: &str) -> Error {
        refused(&self.path, problem)
    }

    /// Takes a key out, if it is there.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Field> {
        self.known.push(key);
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        let at = self.rest.iter().position(|(name, _)| name == key)?;
        Some(Field {
            path,
            value: self.rest.remove(at).1,
        })
    }

    /// Takes a key out that must be there.
    pub(crate) fn require(&mut self, key: &'static str) -> Result<Field, Error> {
        self.take(key)
            .ok_or_else(|| self.refused(&format!("`{key}` is missing")))
    }

    pub(crate) fn text(&mut self, key: &'static str) -> Result<Option<String>, Error> {
        self.take(key).map(Field::text).transpose()
    }

    /// Refuses what was not taken.
    pub(crate) fn end(self) -> Result<(), Error> {
        match self.rest.first() {
            None => Ok(()),
            Some((key, _)) => Err(self.refused(&format!("unknown key `{key}`; known here: {}", self.known.join(", ")))),
        }
    }
}

/// The error for a place; the whole configuration has an empty one.
fn refused(path: &str, problem: &str) -> Error {
    let space = if path.is_empty() { "" } else { " " };
    Error::invalid(format!("config{space}{path}: {problem}"))
}
