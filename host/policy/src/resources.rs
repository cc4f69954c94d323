//! Which resources a plugin may offer.

use crate::error::Report;
use crate::fields::Item;
use crate::pattern::{InvalidPattern, Pattern};
use devgate_types::{ResourceName, escape};
use std::fmt;

/// The most resources of one plugin: the kubelet never forgets one.
const MOST: usize = 16;

/// One entry of `resources:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceGrant {
    /// This resource.
    Exact(ResourceName),
    /// Every resource of a vendor whose name matches.
    Pattern(ResourcePattern),
}

/// A vendor's domain and a pattern for the name behind the `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourcePattern {
    domain: String,
    name: Pattern,
}

impl ResourceGrant {
    /// Whether it grants a resource.
    #[must_use]
    pub fn matches(&self, resource: &ResourceName) -> bool {
        match self {
            Self::Exact(name) => name == resource,
            Self::Pattern(pattern) => pattern.matches(resource),
        }
    }

    /// Whether both are known to grant, or cannot be told not to grant, the same resource.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(name), other) | (other, Self::Exact(name)) => other.matches(name),
            (Self::Pattern(a), Self::Pattern(b)) => a.domain == b.domain && a.name.may_overlap(&b.name),
        }
    }

    fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let Some((domain, name)) = text.split_once('/') else {
            return exact(text);
        };
        let refuse = |why: &str| InvalidPattern::Resource {
            text: escape(text, 80),
            why: why.to_owned(),
        };
        if domain.contains(WILD) {
            return Err(refuse(
                "must have its domain written out: a pattern stands only behind the \"/\"",
            ));
        }
        if !name.contains(WILD) {
            return exact(text);
        }
        let name = Pattern::path(name).map_err(|problem| refuse(&problem.to_string()))?;
        if name.as_str().contains('/') {
            return Err(refuse("must contain only one \"/\""));
        }
        // What holds for every name of the domain is checked with a name that is as good as any.
        ResourceName::try_new(&format!("{domain}/x")).map_err(|error| refuse(error.problem()))?;
        Ok(Self::Pattern(ResourcePattern {
            domain: domain.to_owned(),
            name,
        }))
    }
}

impl fmt::Display for ResourceGrant {
    /// As the policy writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => write!(f, "{name}"),
            Self::Pattern(pattern) => write!(f, "{}/{}", pattern.domain, pattern.name.as_str()),
        }
    }
}

impl ResourcePattern {
    fn matches(&self, resource: &ResourceName) -> bool {
        let name = resource.as_str().split_once('/');
        name.is_some_and(|(domain, name)| domain == self.domain && self.name.matches(name))
    }
}

/// What makes a pattern of a text.
const WILD: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

fn exact(text: &str) -> Result<ResourceGrant, InvalidPattern> {
    Ok(ResourceGrant::Exact(ResourceName::try_new(text)?))
}

pub(crate) fn read(item: &Item<'_>, report: &mut Report) -> Vec<ResourceGrant> {
    let mut out: Vec<ResourceGrant> = Vec::new();
    let texts = item.texts(report);
    if texts.len() > MOST {
        item.error(report, format!("must have at most {MOST} entries"));
        return out;
    }
    for (item, text) in texts {
        match ResourceGrant::parse(text) {
            Ok(grant) if out.contains(&grant) => item.error(report, format!("has \"{grant}\" twice")),
            Ok(grant) => out.push(grant),
            Err(problem) => report.error(item.node.at, problem),
        }
    }
    out
}
