//! Nodes that belong to no kernel device, by path.

use crate::container_path::{self, ContainerPath};
use crate::error::Problem;
use crate::fields::Item;
use crate::nodes::{NodeGrant, access};
use crate::pattern::Pattern;
use crate::{Origin, key, path};
use devgate_types::{Access, escape};
use std::sync::Arc;

/// The most patterns in one list.
const MAX_PATTERNS: usize = 256;

/// Nodes that belong to no kernel device and may be handed out, by path: `host-nodes:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostNodes {
    exclusive: Vec<Listed>,
    shared: Vec<Listed>,
    access: Access,
    container_path: Option<Arc<ContainerPath>>,
}

/// One pattern and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    pattern: Pattern,
    origin: Origin,
}

impl Default for HostNodes {
    /// None.
    fn default() -> Self {
        Self { exclusive: Vec::new(), shared: Vec::new(), access: Access::READ_WRITE, container_path: None }
    }
}

impl HostNodes {
    /// Whether the policy lists none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exclusive.is_empty() && self.shared.is_empty()
    }

    /// How the node at `path`, absolute and plain (no `.`, no `..`, no `//`), may be handed out; nothing if the policy
    /// does not list it. A path that both lists match is exclusive.
    #[must_use]
    pub fn grant(&self, path: &str) -> Option<NodeGrant> {
        let any = |list: &[Listed]| list.iter().any(|listed| listed.pattern.matches(path));
        if problem_of_path(path).is_some() {
            return None;
        }
        let exclusive = any(&self.exclusive);
        (exclusive || any(&self.shared)).then_some(NodeGrant {
            access: self.access,
            shared: !exclusive,
            container_path: self.container_path.clone(),
        })
    }

    /// Each pattern, whether its nodes are shared, and where it is written: for `check` and `explain`.
    pub fn patterns(&self) -> impl Iterator<Item = (&str, bool, &Origin)> {
        let exclusive = self.exclusive.iter().map(|listed| (listed, false));
        let all = exclusive.chain(self.shared.iter().map(|listed| (listed, true)));
        all.map(|(listed, shared)| (listed.pattern.as_str(), shared, &listed.origin))
    }

    /// The patterns that a path matches, as the policy writes them.
    pub fn matching<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        let all = self.exclusive.iter().chain(&self.shared);
        let matching = all.filter(move |listed| listed.pattern.matches(path));
        matching.map(|listed| listed.pattern.as_str())
    }

    pub(crate) fn read(item: &Item<'_>, plugin: &str) -> Self {
        let mut nodes = Self::default();
        let place = format!("host-nodes of {plugin}");
        let Some(fields) = item.open(&place, &key::HOST_NODES) else {
            return nodes;
        };
        nodes.exclusive = fields.read("exclusive", |item| patterns(item, &[]));
        nodes.shared = fields.read("shared", |item| patterns(item, &nodes.exclusive));
        nodes.access = access(&fields);
        nodes.container_path = container_path::read(&fields);
        if fields.get("exclusive").is_none() && fields.get("shared").is_none() {
            item.error("lists no node, write \"exclusive\" or \"shared\"");
        }
        nodes
    }
}

/// Reads a list of paths; `others` are the exclusive ones where `item` is the shared ones.
fn patterns(item: &Item<'_>, others: &[Listed]) -> Vec<Listed> {
    let read = |(item, text): (Item<'_>, &str)| {
        let pattern = of_node(text).map_err(|problem| item.error(problem)).ok()?;
        if let Some(other) = others.iter().find(|other| overlap(&other.pattern, &pattern)) {
            let (shown, other) = (escape(text, 80), escape(other.pattern.as_str(), 80));
            item.error(format!("has \"{shown}\", which \"exclusive\" has as \"{other}\": a node is one or the other"));
            return None;
        }
        let origin = item.origin();
        Some(Listed { pattern, origin })
    };
    item.texts_once(MAX_PATTERNS).into_iter().filter_map(read).collect()
}

/// A pattern for nodes.
pub(crate) fn of_node(text: &str) -> Result<Pattern, Problem> {
    match problem_of_path(text) {
        Some(problem) => Err(Problem::which(text, problem)),
        None => Pattern::path(text),
    }
}

/// Whether two patterns are known to match the same path. Two that are both no literals may overlap unseen.
fn overlap(a: &Pattern, b: &Pattern) -> bool {
    a == b || (a.is_literal() && b.matches(a.as_str())) || (b.is_literal() && a.matches(b.as_str()))
}

/// What is wrong with a path of a device node, if anything.
pub(crate) fn problem_of_path(path: &str) -> Option<&'static str> {
    if !path.starts_with("/dev/") {
        return Some("must start with /dev/");
    }
    path::problem(path)
}
