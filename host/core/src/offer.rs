//! What a front end sees of the plugin layer: resources with devices that change, and allocations. No word of any
//! front end's protocol in here.

pub use devgate_policy::Parameters;
pub use devgate_types::AttributeValue as Value;
use devgate_types::{Access, Condition, ResourceName};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::watch;

/// A future that a trait object returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// All resources that are offered now, in policy order. A resource is in here from its first successful enumeration and
/// health check on; one that has lost all its devices stays, with an empty list.
pub type Offers = watch::Receiver<Arc<[Arc<dyn Offer>]>>;

/// One resource as a front end sees it. [`crate::Plugins`] makes them; so does a fake in tests.
pub trait Offer: Send + Sync + 'static {
    /// What pods ask for.
    fn resource(&self) -> &ResourceName;

    /// The driver that a cluster's scheduler knows its devices by, where they are given by claims and not by counting. Never changes.
    fn driver(&self) -> Option<&Driver> {
        None
    }

    /// The newest list of devices, and a way to be told of the next. Only the newest is kept; a slow reader skips.
    fn devices(&self) -> watch::Receiver<Arc<DeviceList>>;

    /// What a container needs to use these devices. `ids` is a set: any order, no duplicates matter. The
    /// component has the plugin's deadline for it; an allocation of the same devices that is under way is waited for, so a
    /// front end bounds the whole.
    fn allocate<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<Arc<Reply>, AllocateError>>;

    /// Takes back what an answer of [`Offer::allocate`] would have given that reached no kubelet.
    fn take_back<'a>(&'a self, _ids: &'a [String]) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Whether [`Offer::start`] is to be called before a container starts.
    fn starts(&self) -> bool {
        false
    }

    /// Before each start of a container that was given these devices: whether they are there and what they were, and what
    /// their component does at that moment.
    fn start<'a>(&'a self, _ids: &'a [String]) -> BoxFuture<'a, Result<(), AllocateError>> {
        Box::pin(async { Ok(()) })
    }

    /// Which `size` of `available` to take, among them all of `must_include`; empty where that cannot be done.
    fn choose<'a>(
        &'a self,
        available: &'a [String],
        must_include: &'a [String],
        size: usize,
    ) -> BoxFuture<'a, Vec<String>>;
}

/// Every device of a resource, sorted by id, each id once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceList {
    /// The devices.
    pub devices: Vec<Device>,
}

/// One device as it is offered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Device {
    /// Unique among all devices of the host; at most 63 bytes.
    pub id: String,
    /// Nothing where it may be handed out, else why not: escaped text for people.
    pub unhealthy: Option<Arc<str>>,
    /// The NUMA nodes that it belongs to; empty where the kernel names none.
    pub numa_nodes: BTreeSet<u32>,
    /// What a scheduler may know of it, where its resource has a driver.
    pub facts: Option<Arc<Facts>>,
}

/// The driver of a plugin whose devices a cluster's scheduler picks. By default it does nothing that a policy must allow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Driver {
    /// A DNS name of at most 63 bytes.
    pub name: String,
    /// Whether pods that have a device end when it becomes unhealthy.
    pub evicts: bool,
    /// Whether who looks after a device may have it beside others.
    pub admin: bool,
    /// How many claims may have a device at once, each a share of it.
    pub shares: u32,
    /// What becomes of parameters that a claim or its class has for it.
    pub parameters: Parameters,
}

/// What a scheduler may know of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// By a C identifier of at most 32 characters: the driver's own, or those of the domain that is before a `/`.
    pub attributes: BTreeMap<String, Value>,
    /// In base units, such as bytes; named as attributes are.
    pub capacity: BTreeMap<String, u64>,
    /// Whether its component or the kernel finds it broken or gone; where it is unhealthy otherwise, this host has a trouble with it.
    pub is_faulty: bool,
    /// Ids of the wholes that are never given together with it, as it is a part of them, or its own where it is one.
    pub wholes: Vec<String>,
    /// Whether a claim of its driver has it, where it is such a whole or part.
    pub is_claimed: bool,
    /// What its component finds of it besides, as far as the policy lets that go. Messages are escaped.
    pub conditions: Arc<[Condition]>,
    /// Who has it that no scheduler of claims knows of, such as pods from before or a lease: escaped text for people.
    pub held: Option<Arc<str>>,
}

/// What a container gets. Built by the host from what the policy grants; a component only selected from it. As JSON it is what the journal
/// of allocations has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// Environment variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Device nodes, sorted by container path, each of which is in here once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeEdit>,
    /// Mounts, sorted by container path, each of which is in here once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountEdit>,
    /// Annotations for the container runtime.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Fully qualified CDI device names.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub cdi: BTreeSet<String>,
}

/// One device node in a container.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeEdit {
    /// Where it appears, absolute.
    #[serde(rename = "container")]
    pub container_path: String,
    /// What it is on the host, absolute.
    #[serde(rename = "host")]
    pub host_path: String,
    /// What the container may do with it.
    #[serde(with = "access")]
    pub access: Access,
}

/// One mount in a container.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountEdit {
    /// Where it appears, absolute.
    #[serde(rename = "container")]
    pub container_path: String,
    /// What it is on the host, absolute.
    #[serde(rename = "host")]
    pub host_path: String,
    /// Whether the container may only read it.
    pub read_only: bool,
}

/// What may be done with a node as text, such as `rw`.
mod access {
    use devgate_types::Access;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn serialize<S: Serializer>(access: &Access, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(access)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Access, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// Why devices were not given. The text names plugin, resource or id and is safe to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub enum AllocateError {
    /// An id that this resource does not have.
    Unknown(String),
    /// These devices cannot be given as things are: unhealthy, in use elsewhere, refused by the component or the policy.
    Refused(String),
    /// Trying again may help.
    Busy(String),
    /// The component broke or ran out of time.
    Guest(String),
    /// The host or the operating system failed.
    Host(String),
}
