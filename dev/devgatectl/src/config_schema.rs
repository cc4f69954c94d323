//! The JSON Schema of a plugin's `config`, as its author wrote it, in the component itself.
//!
//! It is for an admin who writes a policy. No host reads it: there the component itself looks at its configuration.

mod bounds;

use crate::custom_section;
use anyhow::{Context, bail, ensure};
use devgate::node::ConfigProblem;
use devgate_types::escape;
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::Location;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// The custom section, of the outermost component.
pub(crate) const SECTION: &str = "devgate:config-schema";
/// The longest text.
const MAX_BYTES: usize = 64 << 10;
/// The draft that is known.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The most of one pattern, compiled: they are an author's whom an admin does not know.
const MAX_PATTERN: usize = 256 << 10;
/// Mistakes that are shown of one `config`.
const SHOWN: usize = 20;
/// How much of one is shown: a value of it may stand in it.
const SHOWN_TEXT: usize = 300;

/// A schema with which a `config` can be looked at.
#[derive(Debug)]
pub(crate) struct ConfigSchema {
    text: String,
    value: Value,
    validator: Validator,
}

impl ConfigSchema {
    /// A schema that may travel with a component.
    ///
    /// # Errors
    /// Where it is too long, could not be shown as it is, is no schema of draft 2020-12, or could take long to look at.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        ensure!(text.len() <= MAX_BYTES, "is larger than 64KiB");
        if let Some(hidden) = custom_section::hidden(text) {
            bail!("has the character {}, which could not be seen", escape(&hidden.to_string(), 1));
        }
        let value: Value = serde_json::from_str(text).context("is no JSON")?;
        let Value::Object(keywords) = &value else { bail!("is no JSON Schema: a mapping is one") };
        if let Some(other) = keywords.get("$schema").filter(|draft| draft.as_str().map(trimmed) != Some(DRAFT)) {
            bail!("$schema: is {}, and only {DRAFT} is known", escape(&other.to_string(), 120));
        }
        jsonschema::draft202012::meta::validate(&value)
            .map_err(|error| anyhow::anyhow!("is no JSON Schema: {}{}", place(error.instance_path()), said(&error)))?;
        bounds::look(keywords)?;
        // References within it mean the same whatever it calls itself.
        let mut keywords = keywords.clone();
        keywords.retain(|keyword, _| !["$schema", "$id"].contains(&keyword.as_str()));
        let patterns = PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN);
        let options = jsonschema::options().offline().with_draft(Draft::Draft202012).with_pattern_options(patterns);
        let built = options.build(&Value::Object(keywords));
        let validator = built.map_err(|error| anyhow::anyhow!("is no JSON Schema: {}", said(&error)))?;
        Ok(Self { text: text.to_owned(), value, validator })
    }

    /// That of a component; `None` if it carries none.
    ///
    /// # Errors
    /// Where what it carries is none: see [`Self::parse`].
    pub(crate) fn of(component: &[u8]) -> anyhow::Result<Option<Self>> {
        let Some(carried) = custom_section::of(component, SECTION) else { return Ok(None) };
        let text = std::str::from_utf8(carried).ok().context("is not UTF-8")?;
        Self::parse(text).map(Some)
    }

    /// The text, as its author wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The same, for who reads JSON.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// What is wrong with a `config`: where, as a JSON pointer, and why. None at all is looked at as an empty one.
    pub(crate) fn problems(&self, config: &Value) -> Vec<(String, String)> {
        let empty = Value::Object(serde_json::Map::new());
        let config = if config.is_null() { &empty } else { config };
        let errors = self.validator.iter_errors(config).take(SHOWN);
        errors.map(|error| (escape(error.instance_path().as_str(), SHOWN_TEXT), said(&error))).collect()
    }
}

/// What a component's own schema says of a plugin's `config`, for `check`.
pub(crate) fn look(component: &[u8], config: &Value) -> Vec<ConfigProblem> {
    match ConfigSchema::of(component) {
        Ok(None) => Vec::new(),
        Err(why) => vec![ConfigProblem::Schema(escape(&format!("{why:#}"), SHOWN_TEXT))],
        Ok(Some(schema)) => {
            let mut problems = schema.problems(config);
            // Once for all of them.
            if let Some((_, why)) = problems.last_mut() {
                *why += "; `devgatectl inspect FILE --output config-schema` has what may be there";
            }
            problems.into_iter().map(|(at, why)| ConfigProblem::Config { at, why }).collect()
        }
    }
}

/// Where in the schema's own text: `/properties/mode: `; nothing for all of it.
fn place(at: &Location) -> String {
    if at.as_str().is_empty() { String::new() } else { format!("{}: ", escape(at.as_str(), SHOWN_TEXT)) }
}

/// What is wrong; of something that may be one of several, why it is none of them.
pub(crate) fn said(error: &ValidationError<'_>) -> String {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) = error.kind() else {
        return escape(&error.to_string(), SHOWN_TEXT);
    };
    let at = error.instance_path().as_str();
    let first = |errors: &Vec<ValidationError<'_>>| {
        let first = errors.first()?;
        let within = first.instance_path().as_str().strip_prefix(at).unwrap_or_default();
        Some(format!("{within}{}{first}", if within.is_empty() { "" } else { ": " }))
    };
    let why: Vec<_> = context.iter().filter_map(first).collect();
    escape(&format!("is none of what it may be: {}", why.join("; or ")), SHOWN_TEXT)
}

fn trimmed(draft: &str) -> &str {
    draft.trim_end_matches('#')
}

#[cfg(test)]
mod tests;
