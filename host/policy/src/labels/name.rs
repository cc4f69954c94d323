//! A label's name: whole, or with placeholders for properties behind a beginning that the policy says.

use super::Part;
use super::derive::Missing;
use super::value::{MOST as MOST_NAME, label_value};
use crate::value_rule::{Piece, is_property, pieces};

/// The longest prefix: that of a DNS name.
const MOST_PREFIX: usize = 253;
/// The namespaces that are Kubernetes' own.
const KUBERNETES: [&str; 2] = ["kubernetes.io", "k8s.io"];
/// The one of them that is Node Feature Discovery's, for labels such as these.
const FEATURES: &str = "feature.node.kubernetes.io";

/// A problem, and what to do about it.
type Refusal = (String, Option<&'static str>);

/// `PREFIX/NAME`, where the name may have `{property.NAME}` in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Name {
    prefix: String,
    /// Literals and properties; the first is a literal.
    parts: Vec<Part>,
}

impl Name {
    /// Reads a name as the policy writes it.
    ///
    /// # Errors
    /// What is wrong with it, to be read behind the name.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let Some((prefix, name)) = text.split_once('/') else {
            let hint = "such as vendor.com/gpu.product: a name without a domain is not everybody's to give";
            return Err(("must have a domain and a \"/\" before its name".to_owned(), Some(hint)));
        };
        check_prefix(prefix)?;
        let refuse = || {
            let hint = "letters, digits, \"-\", \"_\" and \".\", a letter or digit at both ends; {property.NAME} stands for a value";
            (
                format!("must have 1 to {MOST_NAME} characters of a label's name behind the \"/\""),
                Some(hint),
            )
        };
        let mut parts = Vec::new();
        for piece in pieces(name).ok_or_else(refuse)? {
            parts.push(match piece {
                Piece::Literal(text) => Part::Literal(text),
                Piece::Name(name) => {
                    let property = name.strip_prefix("property.").filter(|name| is_property(name));
                    Part::Property(property.ok_or_else(refuse)?.to_owned())
                }
            });
        }
        // With values that are as good as any.
        let sample = fill(&parts, |_| Some("x".to_owned())).ok_or_else(refuse)?;
        if !is_name(&sample) {
            return Err(refuse());
        }
        if !matches!(parts.first(), Some(Part::Literal(_))) {
            let hint = "such as vendor.com/gpu.{property.model}: the policy decides which labels there may be";
            return Err((
                "must not begin with a placeholder behind the \"/\"".to_owned(),
                Some(hint),
            ));
        }
        let prefix = prefix.to_owned();
        Ok(Self { prefix, parts })
    }

    /// The properties in it, in order.
    pub(super) fn properties(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Property(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The name with these values of its properties, each made fit for a label.
    ///
    /// # Errors
    /// Why there is no such label.
    pub(super) fn with(&self, values: &[&str]) -> Result<String, Missing> {
        let mut values = values.iter();
        let mut problem = None;
        let name = fill(&self.parts, |_| match label_value(values.next()?) {
            Ok(value) => Some(value),
            Err(why) => {
                problem = Some(why);
                None
            }
        });
        match name {
            Some(name) if is_name(&name) => Ok(format!("{}/{name}", self.prefix)),
            Some(name) => Err(Missing::LongName(name)),
            // Each value that is missing has said why.
            None => Err(problem.map_or(Missing::NoUnit, Missing::Value)),
        }
    }

    /// Whether it could be this name.
    pub(super) fn may_be(&self, name: &str) -> bool {
        let Some((prefix, name)) = name.split_once('/') else {
            return false;
        };
        let (start, end) = self.ends();
        prefix == self.prefix
            && if self.is_whole() {
                name == start
            } else {
                name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end) && is_name(name)
            }
    }

    /// Whether both could be the same name.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        if other.is_whole() {
            return self.may_be(&format!("{}/{}", other.prefix, other.ends().0));
        }
        if self.is_whole() {
            return other.overlaps(self);
        }
        let ((a, x), (b, y)) = (self.ends(), other.ends());
        self.prefix == other.prefix && (a.starts_with(b) || b.starts_with(a)) && (x.ends_with(y) || y.ends_with(x))
    }

    fn is_whole(&self) -> bool {
        self.properties().next().is_none()
    }

    /// What is written before the first placeholder and behind the last.
    fn ends(&self) -> (&str, &str) {
        let first = self.parts.first().map_or("", as_literal);
        let last = self.parts.last().map_or("", as_literal);
        (first, last)
    }
}

impl std::fmt::Display for Name {
    /// As the policy writes it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/", self.prefix)?;
        self.parts.iter().try_for_each(|part| match part {
            Part::Property(name) => write!(f, "{{property.{name}}}"),
            part => f.write_str(as_literal(part)),
        })
    }
}

fn as_literal(part: &Part) -> &str {
    match part {
        Part::Literal(text) => text,
        _ => "",
    }
}

fn fill(parts: &[Part], mut value: impl FnMut(&str) -> Option<String>) -> Option<String> {
    let mut name = String::new();
    for part in parts {
        match part {
            Part::Property(property) => name += &value(property)?,
            part => name += as_literal(part),
        }
    }
    Some(name)
}

/// Whether Kubernetes takes it for a label's name behind the `/`, and for a value.
pub(super) fn is_name(name: &str) -> bool {
    let ends = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let inner = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let bytes = name.as_bytes();
    name.len() <= MOST_NAME && ends(bytes.first()) && ends(bytes.last()) && bytes.iter().copied().all(inner)
}

fn check_prefix(prefix: &str) -> Result<(), Refusal> {
    let is_label = |label: &str| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        (1..=63).contains(&label.len()) && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    if prefix.len() > MOST_PREFIX || !prefix.split('.').all(is_label) {
        let problem = "must have a domain in lower case before the \"/\", without placeholders";
        return Err((problem.to_owned(), None));
    }
    let within = |domain: &str| prefix == domain || prefix.ends_with(&format!(".{domain}"));
    if KUBERNETES.into_iter().any(within) && !within(FEATURES) {
        let hint = "take the vendor's domain, or feature.node.kubernetes.io";
        return Err((format!("must not be in {prefix}, which is Kubernetes' own"), Some(hint)));
    }
    Ok(())
}
