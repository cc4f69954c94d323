//! What pods have of devgate: as long as they do, what was handed out is not forgotten, or it is given twice.

use devgate_core::Holder;
use devgate_device_plugin::{PodResourcesConfig, pod_resources};
use devgate_types::escape;

/// The most characters of a name in a message.
const SHOWN: usize = 128;

#[derive(Debug, thiserror::Error)]
#[error("it cannot be seen which devices pods have: {0}; try again, or, if none has any, say --even-if-in-use")]
pub(crate) struct Unseen(#[from] pod_resources::Unknown);

/// Says which device that `is_ours` is with a pod, or counts as a pod's: `device gpu0 of vendor.com/gpu is in use by pod team/a, and 2
/// more`; `None` if there is none.
pub(crate) async fn by_pods(
    config: &PodResourcesConfig,
    is_ours: impl Fn(&str, &str) -> bool,
) -> Result<Option<String>, Unseen> {
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

fn by(holder: Option<&Holder>) -> String {
    let Some(Holder { namespace, pod, .. }) = holder else {
        // Such as that of an init container, or of a pod that ended a while ago.
        return " (by the kubelet's own record, which forgets a pod some minutes after its end)".to_owned();
    };
    format!(" by pod {}/{}", escape(namespace, SHOWN), escape(pod, SHOWN))
}
