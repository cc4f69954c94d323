//! What a container gets by a name.

use crate::claim::{ClaimTag, claim_device};
use crate::name::{Kind, claim_name, pod_name};
use devgate_core::offer::Reply;
use devgate_core::state::Style;
use devgate_core::{Consumer, Devices, Granted};
use devgate_types::escape;
use std::fmt;

/// Something that was given, and what a container asks for to get it.
pub(crate) struct Named {
    pub(crate) who: Consumer,
    /// As it was told.
    pub(crate) granted: Granted,
    pub(crate) kind: Kind,
    /// What its devices are called, among those of their kind: of a claim each has its own, as its ids are sorted; others have one.
    pub(crate) devices: Vec<String>,
    /// What its file is called, among those of its kind.
    named: String,
}

impl Named {
    /// Of a lease, a claim or pods: others are told paths.
    pub(crate) fn new(who: Consumer, granted: Granted) -> Self {
        if let Consumer::Claim { driver, uid } = &who {
            let (kind, tag) = (Kind::of_claims(driver), ClaimTag::read(&granted.tag));
            let devices = granted.ids.iter().map(|id| claim_device(uid, tag.as_ref(), granted.id, id)).collect();
            let named = claim_name(granted.id, uid);
            return Self { who, granted, kind, devices, named };
        }
        let named = match &who {
            Consumer::Lease { name } => name.clone(),
            _ => pod_name(granted.id, &granted.resource, &granted.ids),
        };
        Self { who, kind: Kind::of(&granted.resource), granted, devices: vec![named.clone()], named }
    }

    /// All that there is.
    pub(crate) fn all(devices: &dyn Devices) -> Vec<Self> {
        let others = devices.consumers().into_iter();
        let others = others.filter(|who| matches!(who, Consumer::Lease { .. } | Consumer::Claim { .. }));
        let of = |who: Consumer| devices.held(&who).into_iter().map(move |had| Self::new(who.clone(), had));
        others.chain([Consumer::Pods]).flat_map(of).collect()
    }

    /// The file that says what it is.
    pub(crate) fn file(&self) -> String {
        self.kind.file(&self.named)
    }

    /// What is locked while something is done to it: a lease is another file's where it is leased anew.
    pub(crate) fn turn(&self) -> String {
        match &self.who {
            Consumer::Pods => self.file(),
            who => who.to_string(),
        }
    }

    /// Whether no other program calls a file so: the allocation's number is in the name.
    pub(crate) fn is_unmistakable(&self) -> bool {
        matches!(self.who, Consumer::Pods | Consumer::Claim { .. })
    }

    /// Who may read the file: runtimes of a kubelet are root's, others may be anybody's.
    pub(crate) fn style(&self) -> Style {
        if self.is_unmistakable() { Style::PASSING_OWN } else { Style::PASSING }
    }

    /// What a runtime is to be told, one for each device; nothing where a container gets nothing by it.
    pub(crate) fn names(&self, reply: &Reply) -> Vec<String> {
        let is_empty = reply.nodes.is_empty() && reply.env.is_empty() && reply.mounts.is_empty();
        let devices = self.devices.iter().filter(|_| !is_empty);
        devices.map(|device| self.kind.device(device)).collect()
    }
}

/// For people.
impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.who {
            Consumer::Pods => {
                let ids = self.granted.ids.join(", ");
                write!(f, "device {} of resource {} (pods)", escape(&ids, 160), self.granted.resource)
            }
            _ => self.who.fmt(f),
        }
    }
}
