//! Which nodes tell the parts of one device from each other, and which they have in common.

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::host_nodes::problem_of_path;
use crate::key;
use crate::pattern::Pattern;
use devgate_types::escape;

/// The most patterns in one list.
const MOST_PATTERNS: usize = 64;

/// Which units are parts of one device: `partitions:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Partitions {
    own: Vec<Pattern>,
    common: Vec<Pattern>,
}

impl Partitions {
    /// Whether a node at this path on the node tells parts from each other: a unit without one is no part.
    #[must_use]
    pub fn is_own(&self, path: &str) -> bool {
        self.own.iter().any(|pattern| pattern.matches(path))
    }

    /// Whether several parts may have a node at this path on the node.
    #[must_use]
    pub fn is_common(&self, path: &str) -> bool {
        self.common.iter().any(|pattern| pattern.matches(path))
    }

    pub(crate) fn read(item: &Item<'_>, plugin: &str, report: &mut Report) -> Self {
        let place = format!("partitions of {plugin}");
        let Some(fields) = Fields::open(item.node, &place, &key::PARTITIONS, report) else {
            return Self::default();
        };
        let own = fields.need("own", report);
        let own = own.map(|item| patterns(&item, report)).unwrap_or_default();
        let common = fields.get("common").map(|item| patterns(&item, report));
        Self {
            own,
            common: common.unwrap_or_default(),
        }
    }
}

fn patterns(item: &Item<'_>, report: &mut Report) -> Vec<Pattern> {
    let texts = item.texts(report);
    if texts.len() > MOST_PATTERNS {
        item.error(report, format!("must have at most {MOST_PATTERNS} entries"));
        return Vec::new();
    }
    let mut out = Vec::new();
    for (item, text) in texts {
        match problem_of_path(text) {
            Some(problem) => item.error(report, format!("has \"{}\", which {problem}", escape(text, 80))),
            None => match Pattern::path(text) {
                Ok(pattern) => out.push(pattern),
                Err(problem) => item.error(report, problem),
            },
        }
    }
    out
}
