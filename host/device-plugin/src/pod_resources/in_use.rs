//! One look at what pods have, and which claims of dynamic resource allocation: for a command that is about to remove what is known of
//! it.

use super::{Asker, PodResourcesConfig, Unknown};
use devgate_core::{Holder, Offered};
use devgate_kubelet::CHECKPOINT;
use devgate_kubelet::api::pods::ListPodResourcesResponse;
use std::collections::{BTreeMap, BTreeSet};

/// Every id that a pod has by what the kubelet answers or by its own record, with the containers that it named; none where only the
/// record has the id. Nothing is in use where there is no kubelet: neither its sockets nor its record.
///
/// The record alone is enough: whatever is given is in it first. It may name pods that have ended a while ago.
pub async fn in_use(config: &PodResourcesConfig) -> Result<BTreeMap<Offered, Vec<Holder>>, Unknown> {
    let mut asker = Asker::new(config);
    let answer = asker.ask().await;
    asker.record.read().await;
    let recorded = asker.record.ids();
    let checkpoint = config.kubelet_dir.join(CHECKPOINT);
    if recorded.is_none() && checkpoint.symlink_metadata().is_ok() {
        return Err(Unknown::Record(checkpoint));
    }
    let mut seen = match answer {
        Ok(seen) => seen,
        Err(why) if recorded.is_none() && config.is_kubelet_there() => return Err(why),
        Err(_) => BTreeMap::new(),
    };
    for offered in recorded.unwrap_or_default() {
        seen.entry(offered).or_default();
    }
    Ok(seen)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_kubelet::api::KUBELET_SOCKET;
    use std::path::Path;

    async fn asked(dir: &Path) -> Result<Vec<String>, String> {
        let config = PodResourcesConfig::new(dir.join("pods"), dir.to_owned());
        let seen = in_use(&config).await.map_err(|why| why.to_string())?;
        Ok(seen.into_keys().map(|(resource, id)| format!("{resource} {id}")).collect())
    }

    #[tokio::test]
    async fn no_kubelet_is_nothing_in_use_and_one_that_cannot_be_understood_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(asked(dir.path()).await, Ok(Vec::new()));
        let registry = dir.path().join(KUBELET_SOCKET);
        std::fs::write(&registry, "").unwrap();
        let why = asked(dir.path()).await.unwrap_err();
        assert!(why.contains("mount the kubelet's pod-resources directory"), "{why}");
        std::fs::remove_file(&registry).unwrap();
        std::fs::create_dir(dir.path().join("pods")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(dir.path().join("pods/kubelet.sock")).unwrap();
        drop(socket);
        let why = asked(dir.path()).await.unwrap_err();
        assert!(why.contains("does not answer"), "{why}");

        let checkpoint = dir.path().join(CHECKPOINT);
        std::fs::write(&checkpoint, "{").unwrap();
        assert!(asked(dir.path()).await.unwrap_err().ends_with("cannot be understood"));
        let entry = r#"{"Data":{"PodDeviceEntries":[{"ResourceName":"a.b/c","DeviceIDs":{"-1":["x"]}}]}}"#;
        std::fs::write(&checkpoint, entry).unwrap();
        assert_eq!(asked(dir.path()).await, Ok(vec!["a.b/c x".to_owned()]), "by the record alone");
    }
}
