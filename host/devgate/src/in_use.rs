//! What pods have of devgate: as long as they do, what was handed out is not forgotten, or it is given twice.

use devgate_cdi::ClaimTag;
use devgate_core::{Holder, Listed, ListedClaim};
use devgate_device_plugin::{PodResourcesConfig, pod_resources};
use devgate_types::escape;

/// The most characters of a name in a message.
const SHOWN: usize = 128;

#[derive(Debug, thiserror::Error)]
#[error("it cannot be seen which devices pods have: {0}; try again, or, if none has any, say --even-if-in-use")]
pub(crate) struct Unseen(#[from] pod_resources::Unknown);

/// Says what of devgate's a pod has by either front end of the kubelet's, as [`by_pods`] and [`by_claims`] do.
pub(crate) async fn find(
    config: &PodResourcesConfig,
    is_ours: impl Fn(&str, &str) -> bool,
    claims: Option<Vec<ListedClaim>>,
) -> Result<Option<String>, Unseen> {
    match by_pods(config, is_ours).await? {
        None => by_claims(config, claims).await,
        used => Ok(used),
    }
}

/// Says which device that `is_ours` is with a pod, or counts as a pod's: `device gpu0 of vendor.com/gpu is in use by pod team/a, and 2
/// more`; `None` if there is none.
async fn by_pods(config: &PodResourcesConfig, is_ours: impl Fn(&str, &str) -> bool) -> Result<Option<String>, Unseen> {
    let shown = pod_resources::in_use(config).await?;
    let mut used = shown.iter().filter(|((resource, id), _)| is_ours(resource.as_str(), id));
    Ok(used.next().map(|((resource, id), holders)| {
        let (id, whose) = (escape(id, SHOWN), by(holders.first()));
        let more = match used.count() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        format!("device {id} of {resource} is in use{whose}{more}")
    }))
}

/// Says which of these claims a container has, or may have: `device gpu0 of vendor.com/gpu is in use by claim team/a`; `None` if none is.
/// Where it is not known which there are (`None`), any that a container has may be one.
async fn by_claims(config: &PodResourcesConfig, recorded: Option<Vec<ListedClaim>>) -> Result<Option<String>, Unseen> {
    if recorded.as_ref().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    let shown = pod_resources::claims_in_use(config).await?;
    let claim = |namespace: &str, name: &str| format!("claim {}/{}", escape(namespace, SHOWN), escape(name, SHOWN));
    let Some(recorded) = recorded else {
        return Ok(shown.first().map(|(namespace, name)| format!("{} is in use", claim(namespace, name))));
    };
    let whose = |listed: &ListedClaim| match ClaimTag::read(&listed.tag) {
        Some(tag) => shown
            .contains(&(tag.namespace.clone(), tag.name.clone()))
            .then(|| format!("is in use by {}", claim(&tag.namespace, &tag.name))),
        // A newer devgate's, perhaps. What it would be called among those that are shown cannot be known.
        None => {
            Some(format!("may be in use: which pods have {} is not known", escape(&listed.allocation.consumer, SHOWN)))
        }
    };
    let what = |Listed { resource, units, .. }: &Listed| {
        let units: Vec<_> = units.iter().map(|unit| escape(unit, SHOWN)).collect();
        format!("device {} of {}", units.join(", "), escape(resource, SHOWN))
    };
    Ok(recorded.iter().find_map(|listed| Some(format!("{} {}", what(&listed.allocation), whose(listed)?))))
}

fn by(holder: Option<&Holder>) -> String {
    let Some(Holder { namespace, pod, .. }) = holder else {
        // Such as that of an init container, or of a pod that ended a while ago.
        return " (by the kubelet's own record, which forgets a pod some minutes after its end)".to_owned();
    };
    format!(" by pod {}/{}", escape(namespace, SHOWN), escape(pod, SHOWN))
}
