//! Which resource a plugin gives to those who ask by the protocol of 2017: a type and an id, and nothing else.

use crate::containers::Containers;
use crate::fields::Item;
use crate::key;
use crate::resources::ResourceGrant;
use devgate_types::{ResourceName, escape};

/// Words that the protocol's own answers have as keys.
const TAKEN: [&str; 7] = ["cdiVersion", "error", "message", "details", "code", "msg", "devices"];
/// The most characters of a type.
const MAX_CHARS: usize = 16;

/// `exec:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// The type that callers ask for: a letter, then letters and digits.
    pub kind: String,
    /// The resource that it is, as it is offered.
    pub resource: ResourceName,
    /// Whether a container gets the nodes alone, where there would be more than the protocol can say.
    pub nodes_only: bool,
}

impl Exec {
    pub(crate) fn read(
        item: &Item<'_>,
        plugin: &str,
        resources: &[ResourceGrant],
        containers: &Containers,
    ) -> Option<Self> {
        let place = format!("exec of {plugin}");
        let fields = item.open(&place, &key::EXEC)?;
        let nodes_only = fields.flag("nodes-only");
        let kind = fields.need("type").and_then(|item| kind(&item));
        let resource = fields.need("resource").and_then(|item| resource(&item, resources));
        let has_more = !containers.env.is_empty() || !containers.mounts.is_empty() || !containers.cdi.is_empty();
        if has_more && !nodes_only {
            item.error(
                "gives nodes and nothing else, and \"containers\" has more: say \"nodes-only: true\" if a container works without it",
            );
        }
        Some(Self { kind: kind?, resource: resource?, nodes_only })
    }
}

fn kind(item: &Item<'_>) -> Option<String> {
    let text = item.text()?;
    let is_good = text.len() <= MAX_CHARS
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric());
    if !is_good {
        item.error(format!("must be a letter and then at most {} letters or digits", MAX_CHARS - 1));
        return None;
    }
    if TAKEN.contains(&text) {
        item.error("is a word of the protocol's own answers; take another one");
        return None;
    }
    Some(text.to_owned())
}

fn resource(item: &Item<'_>, resources: &[ResourceGrant]) -> Option<ResourceName> {
    let text = item.text()?;
    match ResourceName::try_new(text) {
        Err(error) => item.error(error),
        Ok(name) if resources.iter().any(|grant| grant.matches(&name)) => return Some(name),
        Ok(_) => item.error(format!("\"{}\" is none of the plugin's resources", escape(text, 80))),
    }
    None
}
