//! Which nodes tell the parts of one device from each other, and which they have in common.

use crate::fields::Item;
use crate::host_nodes::of_node;
use crate::key;
use crate::pattern::Pattern;

/// The most patterns in one list.
const MAX_PATTERNS: usize = 64;

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

    pub(crate) fn read(item: &Item<'_>, plugin: &str) -> Self {
        let place = format!("partitions of {plugin}");
        let Some(fields) = item.open(&place, &key::PARTITIONS) else {
            return Self::default();
        };
        let patterns = |item: Item<'_>| item.each(MAX_PATTERNS, of_node);
        Self {
            own: fields.need("own").map(patterns).unwrap_or_default(),
            common: fields.get("common").map(patterns).unwrap_or_default(),
        }
    }
}
