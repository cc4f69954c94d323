//! What is known of a slice that the API server has, and the object that replaces it.

use super::{LABEL, Wanted};
use k8s_openapi::api::resource::v1::{ResourceSlice, ResourceSliceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use sha2::{Digest as _, Sha256};

/// What stands for a slice's contents, so that they need not be kept: without what the API server and the pool's history put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Of all but the pool's generation and the times of taints.
    pub(crate) fn of_spec(mut spec: ResourceSliceSpec) -> Self {
        spec.pool.generation = 0;
        for taint in spec.devices.iter_mut().flatten().flat_map(|device| device.taints.iter_mut().flatten()) {
            taint.time_added = None;
        }
        // The API server leaves out a list of nothing.
        spec.devices.get_or_insert_default();
        // It has no map whose keys are no texts, the only thing that cannot be written.
        Self::of(&serde_json::to_vec(&spec).unwrap_or_default())
    }

    /// The first characters of it, for names.
    pub(crate) fn short(self) -> String {
        self.0.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A slice of this node, as it is there.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) version: String,
    pub(crate) driver: String,
    /// The node that it is of.
    pub(crate) node: String,
    pub(crate) pool: String,
    pub(crate) generation: i64,
    pub(crate) count: i64,
    pub(crate) digest: Digest,
    /// Whether it says that devgate wrote it.
    pub(crate) is_labelled: bool,
    /// The uids of its owners.
    owners: Vec<String>,
    /// Since when its devices have their taints.
    times: Vec<(TaintKey, Time)>,
}

/// Device, key, effect and value of a taint.
type TaintKey = (String, String, String, Option<String>);

impl Seen {
    pub(crate) fn of(slice: ResourceSlice) -> Self {
        let ResourceSlice { metadata, spec } = slice;
        let labels = metadata.labels.unwrap_or_default();
        let owners = metadata.owner_references.unwrap_or_default();
        let mut times = Vec::new();
        for device in spec.devices.iter().flatten() {
            for taint in device.taints.iter().flatten() {
                let key = (device.name.clone(), taint.key.clone(), taint.effect.clone(), taint.value.clone());
                times.extend(taint.time_added.clone().map(|time| (key, time)));
            }
        }
        Self {
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            version: metadata.resource_version.unwrap_or_default(),
            driver: spec.driver.clone(),
            node: spec.node_name.clone().unwrap_or_default(),
            pool: spec.pool.name.clone(),
            generation: spec.pool.generation,
            count: spec.pool.resource_slice_count,
            is_labelled: labels.get(LABEL.0).is_some_and(|value| value == LABEL.1),
            owners: owners.into_iter().map(|owner| owner.uid).collect(),
            digest: Digest::of_spec(spec),
            times,
        }
    }

    /// Whether it is, apart from its contents, as devgate writes it for the node with this uid.
    pub(crate) fn is_owned(&self, node: Option<&str>) -> bool {
        let is_node = |owner: &String| node.is_none_or(|node| owner == node);
        self.is_labelled && self.owners.len() == 1 && self.owners.iter().all(is_node)
    }

    /// Whether it was there at this resource version already; unknown where they are no numbers.
    pub(crate) fn is_newer(&self, than: &str) -> bool {
        let number = |version: &str| version.parse::<u64>().ok();
        number(&self.version).zip(number(than)).is_some_and(|(own, other)| own > other)
    }

    /// A taint that was there stays since when it was.
    fn keep_times(&self, spec: &mut ResourceSliceSpec) {
        for device in spec.devices.iter_mut().flatten() {
            for taint in device.taints.iter_mut().flatten() {
                let same = self.times.iter().find(|((name, key, effect, value), _)| {
                    (name, key, effect, value) == (&device.name, &taint.key, &taint.effect, &taint.value)
                });
                taint.time_added = same.map(|(_, time)| time.clone());
            }
        }
    }
}

/// The object to be sent, in place of what is there.
pub(crate) fn body(wanted: &Wanted, there: Option<&Seen>, (node, uid): (&str, &str), generation: i64) -> ResourceSlice {
    let mut spec = wanted.spec(generation);
    if let Some(there) = there {
        there.keep_times(&mut spec);
    }
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node.to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: None,
    };
    let metadata = ObjectMeta {
        name: Some(wanted.name.clone()),
        labels: Some([(LABEL.0.to_owned(), LABEL.1.to_owned())].into()),
        owner_references: Some(vec![owner]),
        resource_version: there.map(|there| there.version.clone()),
        uid: there.map(|there| there.uid.clone()),
        ..ObjectMeta::default()
    };
    ResourceSlice { metadata, spec }
}
