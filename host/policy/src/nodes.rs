//! Which `/dev` nodes may be handed out, and how.

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::key;
use crate::pattern::Pattern;
use devgate_model::{Access, escape};

/// The most patterns in one list.
const MOST_PATTERNS: usize = 256;

/// How one node may be handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeGrant {
    /// What a container may do with it.
    pub access: Access,
    /// Whether several containers may have it at once.
    pub shared: bool,
}

/// The nodes of one selector's devices that may be handed out: `nodes:` of a selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeOffer {
    /// The subsystem of the kernel device that the node belongs to.
    pub subsystem: String,
    pub(crate) name: Option<Pattern>,
    /// How the node may be handed out.
    pub grant: NodeGrant,
}

impl NodeOffer {
    /// Whether this offers the nodes of a kernel device.
    #[must_use]
    pub fn matches(&self, owner_subsystem: &str, owner_name: &str) -> bool {
        self.subsystem == owner_subsystem && self.name.as_ref().is_none_or(|name| name.matches(owner_name))
    }

    pub(crate) fn read(node: &Item<'_>, subsystem: &str, place: &str, report: &mut Report) -> Option<Self> {
        let fields = Fields::open(node.node, place, &key::NODE, report)?;
        let mut offer = Self {
            subsystem: subsystem.to_owned(),
            name: None,
            grant: NodeGrant {
                access: Access::READ_WRITE,
                shared: false,
            },
        };
        if let Some(item) = fields.get("subsystem")
            && let Some(text) = plain_name(&item, report)
        {
            offer.subsystem = text.to_owned();
        }
        if let Some(item) = fields.get("name")
            && let Some(text) = item.text(report)
        {
            match Pattern::path(text) {
                Ok(pattern) => offer.name = Some(pattern),
                Err(problem) => item.error(report, problem),
            }
        }
        access(&fields, &mut offer.grant.access, report);
        fields.flag("shared", &mut offer.grant.shared, report);
        Some(offer)
    }
}

/// Nodes that belong to no kernel device and may be handed out, by path: `host-nodes:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostNodes {
    exclusive: Vec<Pattern>,
    shared: Vec<Pattern>,
    access: Access,
}

impl Default for HostNodes {
    /// None.
    fn default() -> Self {
        Self {
            exclusive: Vec::new(),
            shared: Vec::new(),
            access: Access::READ_WRITE,
        }
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
        let any = |list: &[Pattern]| list.iter().any(|pattern| pattern.matches(path));
        if problem_of_path(path).is_some() {
            return None;
        }
        let exclusive = any(&self.exclusive);
        (exclusive || any(&self.shared)).then_some(NodeGrant {
            access: self.access,
            shared: !exclusive,
        })
    }

    /// The patterns and whether each is shared, for `check` and `explain`.
    pub fn patterns(&self) -> impl Iterator<Item = (&str, bool)> {
        let exclusive = self.exclusive.iter().map(|pattern| (pattern.as_str(), false));
        exclusive.chain(self.shared.iter().map(|pattern| (pattern.as_str(), true)))
    }

    pub(crate) fn read(item: &Item<'_>, plugin: &str, report: &mut Report) -> Self {
        let mut nodes = Self::default();
        let place = format!("host-nodes of {plugin}");
        let Some(fields) = Fields::open(item.node, &place, &key::HOST_NODES, report) else {
            return nodes;
        };
        if let Some(item) = fields.get("exclusive") {
            nodes.exclusive = patterns(&item, &[], report);
        }
        if let Some(item) = fields.get("shared") {
            nodes.shared = patterns(&item, &nodes.exclusive, report);
        }
        access(&fields, &mut nodes.access, report);
        if fields.get("exclusive").is_none() && fields.get("shared").is_none() {
            item.error(report, "lists no node, write \"exclusive\" or \"shared\"");
        }
        nodes
    }
}

/// Reads a list of paths; `others` are the exclusive ones where `item` is the shared ones.
fn patterns(item: &Item<'_>, others: &[Pattern], report: &mut Report) -> Vec<Pattern> {
    let mut out: Vec<Pattern> = Vec::new();
    let texts = item.texts(report);
    if texts.len() > MOST_PATTERNS {
        item.error(report, format!("must have at most {MOST_PATTERNS} entries"));
        return out;
    }
    for (item, text) in texts {
        let shown = escape(text, 80);
        if let Some(problem) = problem_of_path(text) {
            item.error(report, format!("has \"{shown}\", which {problem}"));
            continue;
        }
        let pattern = match Pattern::path(text) {
            Ok(pattern) => pattern,
            Err(problem) => {
                item.error(report, problem);
                continue;
            }
        };
        if let Some(other) = others.iter().find(|other| overlap(other, &pattern)) {
            let other = escape(other.as_str(), 80);
            item.error(
                report,
                format!("has \"{shown}\", which \"exclusive\" has as \"{other}\": a node is one or the other"),
            );
        } else if out.contains(&pattern) {
            item.error(report, format!("has \"{shown}\" twice"));
        } else {
            out.push(pattern);
        }
    }
    out
}

/// Whether two patterns are known to match the same path. Two that are both no literals may overlap unseen.
fn overlap(a: &Pattern, b: &Pattern) -> bool {
    a == b || (a.is_literal() && b.matches(a.as_str())) || (b.is_literal() && a.matches(b.as_str()))
}

fn problem_of_path(path: &str) -> Option<&'static str> {
    let Some(rest) = path.strip_prefix("/dev/") else {
        return Some("must start with /dev/");
    };
    if rest.split('/').any(|component| matches!(component, "" | "." | "..")) {
        return Some("must be a plain path, without \"//\", \".\" and \"..\"");
    }
    path.contains(char::is_control)
        .then_some("must not contain control characters")
}

fn access(fields: &Fields<'_>, into: &mut Access, report: &mut Report) {
    let Some(item) = fields.get("access") else { return };
    let Some(text) = item.text(report) else { return };
    match text.parse::<Access>() {
        Ok(access) => *into = access,
        Err(_) => item.error(
            report,
            format!(
                "must be r, w or rw, with m added to allow mknod, not \"{}\"",
                escape(text, 16)
            ),
        ),
    }
}

/// The name of a subsystem: one component of a path, no pattern.
pub(crate) fn plain_name<'a>(item: &Item<'a>, report: &mut Report) -> Option<&'a str> {
    let text = item.text(report)?;
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"_-.:+".contains(&b);
    if text.len() <= 64 && text.bytes().all(ok) && text != "." && text != ".." {
        return Some(text);
    }
    item.error(
        report,
        format!(
            "must be the plain name of a bus or class of the kernel, such as pci, not \"{}\"",
            escape(text, 80)
        ),
    );
    None
}
