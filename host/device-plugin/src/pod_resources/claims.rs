//! One look at which claims of dynamic resource allocation pods have.

use super::{Asker, PodResourcesConfig, Unknown};
use devgate_kubelet::api::pods::ListPodResourcesResponse;
use std::collections::BTreeSet;

/// The namespaces and names of all claims that a container has, as the kubelet says. It leaves out init containers, and after its start pods
/// that it has not heard of yet.
pub async fn claims(config: &PodResourcesConfig) -> Result<BTreeSet<(String, String)>, Unknown> {
    let mut asker = Asker::new(config);
    let asked = tokio::time::timeout(config.patience, asker.list()).await;
    asked.unwrap_or(Err(Unknown::Late(config.patience))).map(names)
}

/// The same for a command that is about to remove what is known of claims. None are in use where there is no kubelet: neither its sockets
/// nor its record.
pub async fn claims_in_use(config: &PodResourcesConfig) -> Result<BTreeSet<(String, String)>, Unknown> {
    match claims(config).await {
        Err(_) if !config.is_kubelet_there() => Ok(BTreeSet::new()),
        answered => answered,
    }
}

fn names(answer: ListPodResourcesResponse) -> BTreeSet<(String, String)> {
    let containers = answer.pod_resources.into_iter().flat_map(|pod| pod.containers);
    let claims = containers.flat_map(|container| container.dynamic_resources);
    claims.map(|claim| (claim.claim_namespace, claim.claim_name)).collect()
}
