//! A label's name: whole, or with placeholders for properties behind a beginning that the policy says.

use super::Part;
use crate::error::Problem;
use crate::pattern::Pattern;
use crate::qualified::{MAX_NAME, is_domain, is_kubernetes, is_name, is_within};
use crate::value_rule::{parts, property_name};
use std::fmt;

/// The domain of Kubernetes' own that is Node Feature Discovery's, for labels such as these.
const FEATURES: &str = "feature.node.kubernetes.io";

/// `PREFIX/NAME`, where the name may have `{property.NAME}` in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Name {
    text: String,
    prefix: String,
    /// Literals and properties; the first is a literal.
    parts: Vec<Part>,
    /// All that it may be behind the `/`.
    pattern: Pattern,
}

impl Name {
    /// Reads a name as the policy writes it. The error says what is wrong with it, to be read behind the name.
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let refuse = |why: &str| Problem(why.to_owned());
        let (prefix, name) = text.split_once('/').ok_or_else(|| {
            refuse(
                "must have a domain and a \"/\" before its name; such as vendor.com/gpu.product: a name without a domain is not everybody's to give",
            )
        })?;
        if !is_domain(prefix) {
            return Err(refuse("must have a domain in lower case before the \"/\", without placeholders"));
        }
        if is_kubernetes(prefix) && !is_within(prefix, FEATURES) {
            return Err(Problem(format!(
                "must not be in {prefix}, which is Kubernetes' own; take the vendor's domain, or {FEATURES}"
            )));
        }
        let parts = parts(name, Part::Literal, |name| property_name(name).map(Part::Property));
        let parts = parts.filter(|parts| is_name(&with(parts, "x"))).ok_or_else(|| {
            Problem(format!(
                "must have 1 to {MAX_NAME} characters of a label's name behind the \"/\"; letters, digits, \"-\", \"_\" and \".\", a letter or \
                 digit at both ends; {{property.NAME}} stands for a value"
            ))
        })?;
        if !matches!(parts.first(), Some(Part::Literal(_))) {
            return Err(refuse(
                "must not begin with a placeholder behind the \"/\"; such as vendor.com/gpu.{property.model}: the policy decides which labels there may be",
            ));
        }
        Ok(Self {
            text: text.to_owned(),
            prefix: prefix.to_owned(),
            // What stands for a property has a character at least.
            pattern: Pattern::path(&with(&parts, "?*"))?,
            parts,
        })
    }

    /// The name with the values of its properties, each made fit for a label. The error says why there is no such label.
    pub(super) fn fill(&self, value: impl Fn(&str) -> Result<String, Problem>) -> Result<String, Problem> {
        let mut name = String::new();
        for part in &self.parts {
            match part {
                Part::Property(property) => name += &value(property)?,
                part => name += part.as_literal(),
            }
        }
        if is_name(&name) {
            return Ok(format!("{}/{name}", self.prefix));
        }
        Err(Problem(format!("its name would be \"{name}\", which is longer than {MAX_NAME}")))
    }

    /// Whether it could be this name.
    pub(super) fn may_be(&self, name: &str) -> bool {
        let name = name.split_once('/').filter(|(prefix, _)| *prefix == self.prefix);
        name.is_some_and(|(_, name)| is_name(name) && self.pattern.matches(name))
    }

    /// Whether both could be the same name.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.prefix == other.prefix && self.pattern.may_overlap(&other.pattern)
    }
}

impl fmt::Display for Name {
    /// As the policy writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The name with this for each property.
fn with(parts: &[Part], value: &str) -> String {
    let text = |part| match part {
        &Part::Property(_) => value,
        part => part.as_literal(),
    };
    parts.iter().map(text).collect()
}
