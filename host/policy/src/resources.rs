//! Which resources a plugin may offer.

use crate::error::Problem;
use crate::fields::Item;
use crate::pattern::Pattern;
use devgate_types::{ResourceName, escape};
use std::fmt;

/// The most resources of one plugin: the kubelet never forgets one.
const MAX_RESOURCES: usize = 16;

/// One entry of `resources:`: a resource, or every one of a vendor whose name matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceGrant {
    /// Nothing where it is a pattern.
    pub(crate) exact: Option<ResourceName>,
    pattern: Pattern,
}

impl ResourceGrant {
    /// Whether it grants a resource.
    #[must_use]
    pub fn matches(&self, resource: &ResourceName) -> bool {
        self.pattern.matches(resource.as_str())
    }

    /// Whether both are known to grant, or cannot be told not to grant, the same resource.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.pattern.may_overlap(&other.pattern)
    }

    fn parse(text: &str) -> Result<Self, Problem> {
        let (domain, name) = text.split_once('/').unwrap_or((text, ""));
        let refuse = |why: &str| Problem(format!("resource \"{}\" {why}", escape(text, 80)));
        if !text.contains('/') || !text.contains(WILD) {
            let exact = ResourceName::try_new(text).map_err(|error| Problem(error.to_string()))?;
            let (exact, pattern) = (Some(exact), Pattern::of_any_length(text)?);
            return Ok(Self { exact, pattern });
        }
        if domain.contains(WILD) {
            return Err(refuse("must have its domain written out: a pattern stands only behind the \"/\""));
        }
        Pattern::path(name).map_err(|problem| refuse(&problem.to_string()))?;
        if name.contains('/') {
            return Err(refuse("must contain only one \"/\""));
        }
        // What holds for every name of the domain is checked with a name that is as good as any.
        ResourceName::try_new(&format!("{domain}/x")).map_err(|error| refuse(error.problem()))?;
        let pattern = Pattern::of_any_length(text)?;
        Ok(Self { exact: None, pattern })
    }
}

impl fmt::Display for ResourceGrant {
    /// As the policy writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pattern.as_str())
    }
}

/// What makes a pattern of a text.
const WILD: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

pub(crate) fn read(item: &Item<'_>) -> Vec<ResourceGrant> {
    let texts = item.texts_once(MAX_RESOURCES).into_iter();
    let parsed = texts
        .map(|(item, text)| ResourceGrant::parse(text).map_err(|problem| item.report.error(item.node.at, problem)));
    parsed.flatten().collect()
}
