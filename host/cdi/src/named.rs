//! What a container gets by a name.

use crate::name::{Kind, pod_name};
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
    /// What the device is called, among those of its kind.
    pub(crate) device: String,
}

impl Named {
    /// Of a lease or of pods: others are told paths.
    pub(crate) fn new(who: Consumer, granted: Granted) -> Self {
        let device = match &who {
            Consumer::Lease { name } => name.clone(),
            _ => pod_name(granted.id, &granted.resource, &granted.ids),
        };
        Self { who, kind: Kind::of(&granted.resource), granted, device }
    }

    /// All that there is.
    pub(crate) fn all(devices: &dyn Devices) -> Vec<Self> {
        let leases = devices.consumers().into_iter();
        let leases = leases.filter(|who| matches!(who, Consumer::Lease { .. }));
        let of = |who: Consumer| devices.held(&who).into_iter().map(move |had| Self::new(who.clone(), had));
        leases.chain([Consumer::Pods]).flat_map(of).collect()
    }

    /// The file that says what it is.
    pub(crate) fn file(&self) -> String {
        self.kind.file(&self.device)
    }

    /// What is locked while something is done to it: a lease is another file's where it is leased anew.
    pub(crate) fn turn(&self) -> String {
        match &self.who {
            Consumer::Pods => self.file(),
            who => who.to_string(),
        }
    }

    /// Who may read the file: runtimes of a kubelet are root's, others may be anybody's.
    pub(crate) fn style(&self) -> Style {
        match self.who {
            Consumer::Pods => Style::PASSING_OWN,
            _ => Style::PASSING,
        }
    }

    /// What a runtime is to be told, where a container gets something by this.
    pub(crate) fn name(&self, reply: &Reply) -> Option<String> {
        let is_empty = reply.nodes.is_empty() && reply.env.is_empty() && reply.mounts.is_empty();
        (!is_empty).then(|| self.kind.device(&self.device))
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
