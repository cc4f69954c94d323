//! Pods as far as devices matter.

use std::collections::{BTreeMap, BTreeSet};

/// A pod that asks for devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Unique among the pods that are there; stands for the pod's UID.
    pub name: String,
    /// Init containers first, as the kubelet allocates for them.
    pub containers: Vec<Container>,
}

/// A container of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Unique in its pod.
    pub name: String,
    /// Whether it is an ordinary init container, whose devices later containers of the pod get, too.
    pub init: bool,
    /// How many devices of which resource.
    pub resources: BTreeMap<String, usize>,
    /// Which ones, by resource, where it is not left to plugin and kubelet. No kubelet knows this: it stands for what one
    /// may choose by chance.
    pub chosen: BTreeMap<String, BTreeSet<String>>,
    /// The names of the claims that it uses. They are taken as prepared: no driver is asked.
    pub claims: BTreeSet<String>,
}

impl Pod {
    /// A pod with one container, `main`.
    #[must_use]
    pub fn new(name: &str, resources: &[(&str, usize)]) -> Self {
        Self { name: name.to_owned(), containers: vec![Container::new("main", resources)] }
    }
}

impl Container {
    /// A container that is no init container.
    #[must_use]
    pub fn new(name: &str, resources: &[(&str, usize)]) -> Self {
        Self {
            name: name.to_owned(),
            init: false,
            resources: resources.iter().map(|&(resource, count)| (resource.to_owned(), count)).collect(),
            chosen: BTreeMap::new(),
            claims: BTreeSet::new(),
        }
    }

    /// The same as an ordinary init container.
    #[must_use]
    pub fn init(name: &str, resources: &[(&str, usize)]) -> Self {
        Self { init: true, ..Self::new(name, resources) }
    }
}

/// Why a pod was not admitted: it is `Failed` now, and will not be tried again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", Self::REASON)]
pub struct Rejection {
    /// What the pod's status says.
    pub message: String,
}

impl Rejection {
    /// The pod's reason.
    pub const REASON: &'static str = "UnexpectedAdmissionError";

    pub(super) fn new(error: &str) -> Self {
        Self { message: format!("Pod was rejected: Allocate failed due to {error}, which is unexpected") }
    }
}
