//! What stands for a slice's contents, so that they need not be kept.

use k8s_openapi::api::resource::v1::ResourceSliceSpec;
use sha2::{Digest as _, Sha256};

/// Of a slice's contents, without what the API server and the pool's history put in.
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
