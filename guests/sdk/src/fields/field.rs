//! One value, and what it may be asked to be.

use super::{Fields, enumerated, refused, within};
use crate::Error;
use serde_json::Value;

/// A value of the configuration, and where it stands.
#[derive(Debug)]
pub struct Field {
    pub(super) place: String,
    pub(super) value: Value,
}

impl Field {
    /// The text that it is.
    ///
    /// # Errors
    /// If it is anything else, such as a number without quotes.
    pub fn text(&self) -> Result<&str, Error> {
        let text = self.value.as_str();
        text.ok_or_else(|| self.must_be("text in quotes", ""))
    }

    /// The resource's name that it is, as far as that can be told: with a `/` in it. The host looks closer.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn resource(&self) -> Result<&str, Error> {
        let name = self.value.as_str().filter(|name| name.contains('/'));
        name.ok_or_else(|| self.must_be("a resource's name, such as vendor.com/device", "text"))
    }

    /// The number that it is.
    ///
    /// # Errors
    /// If it is anything but a whole number of 0 or more.
    pub fn number(&self) -> Result<u64, Error> {
        let number = self.value.as_u64();
        number.ok_or_else(|| self.must_be("a whole number, 0 or more", "a number"))
    }

    /// The switch that it is: true or false.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn switch(&self) -> Result<bool, Error> {
        let switch = self.value.as_bool();
        switch.ok_or_else(|| self.must_be("true or false", ""))
    }

    /// What the word that it is stands for.
    ///
    /// # Errors
    /// If it is none of them; the message lists them.
    pub fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Error> {
        let found = words.iter().find(|(word, _)| self.value == **word);
        if let Some((_, meaning)) = found {
            return Ok(*meaning);
        }
        let mut known = String::new();
        for (i, (word, _)) in words.iter().enumerate() {
            enumerated(&mut known, if i + 1 == words.len() { " or " } else { ", " }, word);
        }
        Err(self.must_be(&known, "text"))
    }

    /// The elements of a list, which may have none.
    ///
    /// # Errors
    /// If it is no list.
    pub fn elements(self) -> Result<Vec<Self>, Error> {
        let Value::Array(values) = self.value else {
            return Err(self.must_be("a list", ""));
        };
        let element = |(i, value)| Self { place: format!("{}[{i}]", self.place), value };
        Ok(values.into_iter().enumerate().map(element).collect())
    }

    /// The elements of a list that has at least one.
    ///
    /// # Errors
    /// If it is no list, or has none.
    pub fn list(self) -> Result<Vec<Self>, Error> {
        if self.value.as_array().is_some_and(Vec::is_empty) {
            return Err(self.refused("must not be empty"));
        }
        self.elements()
    }

    /// The elements of a list that has at least one, or else itself: one needs no list.
    ///
    /// # Errors
    /// If it is a list that has none.
    pub fn several(self) -> Result<Vec<Self>, Error> {
        if self.value.is_array() { self.list() } else { Ok(vec![self]) }
    }

    /// One text, or those of a list that has at least one.
    ///
    /// # Errors
    /// If it is neither.
    pub fn texts(self) -> Result<Vec<String>, Error> {
        let several = self.several()?.into_iter();
        several.map(|field| Ok(field.text()?.to_owned())).collect()
    }

    /// Keys and values of a mapping with any keys.
    ///
    /// # Errors
    /// If it is no mapping.
    pub fn entries(self) -> Result<Vec<(String, Self)>, Error> {
        let Fields { place, rest, .. } = self.fields()?;
        let mut entries = Vec::new();
        for (key, value) in rest {
            let place = within(&place, &key);
            if let Some(value) = value {
                entries.push((key, Self { place, value }));
            }
        }
        Ok(entries)
    }

    /// The mapping that it is, whose keys are all known.
    ///
    /// # Errors
    /// If it is no mapping.
    pub fn fields(self) -> Result<Fields, Error> {
        let Value::Object(map) = self.value else {
            return Err(self.must_be("a mapping", ""));
        };
        let mut rest = Vec::new();
        for (key, value) in map {
            rest.push((key, Some(value)));
        }
        Ok(Fields { place: self.place, known: String::new(), rest })
    }

    /// The error for this place, in the caller's words.
    #[must_use]
    pub fn refused(&self, problem: &str) -> Error {
        refused(&self.place, problem)
    }

    /// What it is goes without saying where it is of the right kind.
    fn must_be(&self, what: &str, kind: &str) -> Error {
        let is = match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "a mapping",
        };
        if is == kind {
            self.refused(&format!("must be {what}"))
        } else {
            self.refused(&format!("must be {what}, is {is}"))
        }
    }
}
