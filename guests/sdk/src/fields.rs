//! Taking the configuration apart strictly, so that a mistake is refused with its place:
//! `config devices[1].usb.vendor: must be text in quotes, is a number`.
//!
//! ```
//! use devgate_sdk::fields::Fields;
//!
//! let mut fields = Fields::parse(r#"{"naming": "mixed", "bad-pages": 64}"#)?;
//! let mixed = fields.choice("naming", &[("single", false), ("mixed", true)])?.unwrap_or(false);
//! let bad_pages = fields.number("bad-pages")?;
//! fields.end()?;
//! assert_eq!((mixed, bad_pages), (true, Some(64)));
//! # Ok::<(), devgate_sdk::Error>(())
//! ```
//!
//! Every error is `invalid` and says what would be right at its place. A key that is there without a value (`null`) is a mistake.

mod field;

use crate::{Error, Origin, Setting};
pub use field::Field;
use serde_json::Value;

/// A mapping whose keys are taken out one by one; what is left at the end was not known.
#[derive(Debug)]
pub struct Fields {
    place: String,
    /// The keys that were asked for, as a message lists them.
    known: String,
    /// What was taken is nothing. A list and not a map, whose code would be larger than all of this file's.
    rest: Vec<(String, Option<Value>)>,
}

impl Fields {
    /// The configuration as `config::json()` gives it; `null` is one without any keys.
    ///
    /// # Errors
    /// If it is not JSON, or is neither a mapping nor `null`.
    pub fn parse(json: &str) -> Result<Self, Error> {
        Self::of("config", json)
    }

    /// What a claim or its class asks for; `null` is nothing. Mistakes are said to be the one's or the other's: `claim mode: …`.
    ///
    /// # Errors
    /// As of [`Fields::parse`].
    pub fn setting(setting: &Setting) -> Result<Self, Error> {
        let whose = match setting.origin {
            Origin::Class => "class",
            Origin::Claim => "claim",
        };
        Self::of(whose, &setting.json)
    }

    /// `whose` is one word.
    fn of(whose: &str, json: &str) -> Result<Self, Error> {
        let place = whose.to_owned();
        // The parser that serde_json has ready, and not another copy of it by `from_str`.
        let value = match json.parse() {
            Ok(Value::Null) => Value::Object(serde_json::Map::new()),
            Ok(value) => value,
            Err(error) => return Err(refused(&place, &format!("not JSON: {error}"))),
        };
        Field { place, value }.fields()
    }

    /// Whether nothing is left to take, for a configuration that must say something.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.iter().all(|(_, value)| value.is_none())
    }

    /// Takes a key out, if it is there.
    pub fn take(&mut self, key: &str) -> Option<Field> {
        enumerated(&mut self.known, ", ", key);
        let (_, value) = self.rest.iter_mut().find(|(name, _)| name == key)?;
        let value = value.take()?;
        let place = within(&self.place, key);
        Some(Field { place, value })
    }

    /// Takes a key out that must be there.
    ///
    /// # Errors
    /// If it is not.
    pub fn require(&mut self, key: &str) -> Result<Field, Error> {
        let field = self.take(key);
        field.ok_or_else(|| self.refused(&format!("`{key}` is missing")))
    }

    /// Takes a key out as [`Field::text`].
    ///
    /// # Errors
    /// If it is there and is no text.
    pub fn text(&mut self, key: &str) -> Result<Option<String>, Error> {
        self.take(key).map(|field| Ok(field.text()?.to_owned())).transpose()
    }

    /// Takes a key out as [`Field::texts`].
    ///
    /// # Errors
    /// If it is there and is neither a text nor a list of texts.
    pub fn texts(&mut self, key: &str) -> Result<Option<Vec<String>>, Error> {
        self.take(key).map(Field::texts).transpose()
    }

    /// Takes a key out as [`Field::resource`].
    ///
    /// # Errors
    /// If it is there and is no resource's name.
    pub fn resource(&mut self, key: &str) -> Result<Option<String>, Error> {
        self.take(key).map(|field| Ok(field.resource()?.to_owned())).transpose()
    }

    /// Takes a key out as [`Field::number`].
    ///
    /// # Errors
    /// If it is there and is no whole number of 0 or more.
    pub fn number(&mut self, key: &str) -> Result<Option<u64>, Error> {
        self.take(key).map(|field| field.number()).transpose()
    }

    /// Takes a key out as [`Field::switch`].
    ///
    /// # Errors
    /// If it is there and is neither true nor false.
    pub fn switch(&mut self, key: &str) -> Result<Option<bool>, Error> {
        self.take(key).map(|field| field.switch()).transpose()
    }

    /// Takes a key out as [`Field::choice`].
    ///
    /// # Errors
    /// If it is there and is none of the words.
    pub fn choice<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Error> {
        self.take(key).map(|field| field.choice(words)).transpose()
    }

    /// The error for this mapping as a whole, in the caller's words.
    #[must_use]
    pub fn refused(&self, problem: &str) -> Error {
        refused(&self.place, problem)
    }

    /// Refuses what was not taken.
    ///
    /// # Errors
    /// If there is such a key; the message lists those that were asked for.
    pub fn end(self) -> Result<(), Error> {
        match self.rest.iter().find(|(_, value)| value.is_some()) {
            None => Ok(()),
            Some((key, _)) if self.known.is_empty() => {
                Err(self.refused(&format!("unknown key `{key}`; none is known here")))
            }
            Some((key, _)) => Err(self.refused(&format!("unknown key `{key}`; known here: {}", self.known))),
        }
    }
}

/// Adds one more to what a message lists.
fn enumerated(list: &mut String, separator: &str, word: &str) {
    if !list.is_empty() {
        list.push_str(separator);
    }
    list.push_str(word);
}

/// The place of a key; that of the whole is one word.
fn within(place: &str, key: &str) -> String {
    let dot = if place.contains(' ') { "." } else { " " };
    format!("{place}{dot}{key}")
}

fn refused(place: &str, problem: &str) -> Error {
    Error::invalid(format!("{place}: {problem}"))
}

#[cfg(test)]
mod tests;
