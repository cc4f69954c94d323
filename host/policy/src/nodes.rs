//! Which `/dev` nodes may be handed out, and how.

use crate::container_path::{self, ContainerPath};
use crate::fields::{Fields, Item};
use crate::key;
use crate::pattern::Pattern;
use devgate_types::{Access, escape};
use std::sync::Arc;

/// How one node may be handed out. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeGrant {
    /// What a container may do with it.
    pub access: Access,
    /// Whether several containers may have it at once.
    pub shared: bool,
    /// Where it appears in a container; nothing for the path that it has on the node.
    pub container_path: Option<Arc<ContainerPath>>,
}

impl NodeGrant {
    /// Where the node at `host_path` appears in a container.
    #[must_use]
    pub fn container_path(&self, host_path: &str) -> String {
        match &self.container_path {
            Some(template) => template.expand(host_path),
            None => host_path.to_owned(),
        }
    }
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

    pub(crate) fn read(node: &Item<'_>, subsystem: &str, place: &str) -> Option<Self> {
        let fields = node.open(place, &key::NODE)?;
        let (shared, container_path) = (fields.flag("shared"), container_path::read(&fields));
        let grant = NodeGrant { access: access(&fields), shared, container_path };
        let other = fields.get("subsystem").and_then(|item| plain_name(&item));
        Some(Self {
            subsystem: other.unwrap_or(subsystem).to_owned(),
            name: fields.get("name").and_then(|item| item.parse(Pattern::path)),
            grant,
        })
    }
}

/// What a container may do with nodes: read and write, where the key is not there.
pub(crate) fn access(fields: &Fields<'_>) -> Access {
    let access = |text: &str| {
        let shown = escape(text, 16);
        let problem = |_| format!("must be r, w or rw, with m added to allow mknod, not \"{shown}\"");
        text.parse().map_err(problem)
    };
    fields.get("access").and_then(|item| item.parse(access)).unwrap_or(Access::READ_WRITE)
}

/// The name of a subsystem: one component of a path, no pattern.
pub(crate) fn plain_name<'a>(item: &Item<'a>) -> Option<&'a str> {
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"_-.:+".contains(&b);
    item.parse(|text| match text {
        _ if text.len() <= 64 && text.bytes().all(ok) && text != "." && text != ".." => Ok(text),
        _ => Err(format!(
            "must be the plain name of a bus or class of the kernel, such as pci, not \"{}\"",
            escape(text, 80)
        )),
    })
}
