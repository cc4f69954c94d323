//! What pods have of devgate: as long as they do, what was handed out is not forgotten, or it is given twice.

use super::refuse;
use crate::cli::CleanupArgs;
use devgate_core::Holder;
use devgate_core::leftovers::StateDir;
use devgate_device_plugin::{PodResourcesConfig, pod_resources};
use devgate_types::escape;
use std::collections::BTreeSet;

/// The most characters of a name in a message.
const SHOWN: usize = 128;

/// Whether the state may go.
///
/// # Errors
/// Which device is in use, and by whom; or why that cannot be seen.
pub(super) async fn look(args: &CleanupArgs, state: &StateDir) -> anyhow::Result<()> {
    // Unknown: it may be any.
    let given = state.given();
    if given.as_ref().is_some_and(BTreeSet::is_empty) {
        return Ok(());
    }
    let config = PodResourcesConfig::new(args.pod_resources_dir.clone(), args.kubelet_dir.clone());
    let shown = pod_resources::in_use(&config).await.map_err(|why| {
        refuse(format!(
            "it cannot be seen which devices pods have: {why}; try again, or, if none has any, say --even-if-in-use"
        ))
    })?;
    let is_ours = |resource: &str| given.as_ref().is_none_or(|given| given.contains(resource));
    let mut used = shown.iter().filter(|((resource, _), _)| is_ours(resource.as_ref()));
    let Some(((resource, id), holders)) = used.next() else {
        return Ok(());
    };
    let (id, whose) = (escape(id, SHOWN), by(holders.first()));
    let more = match used.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    if given.is_none() {
        return Err(refuse(format!(
            "device {id} of {resource} is in use{whose}{more}, and what is kept of what devgate handed out cannot be understood, so that \
             it may be devgate's; start devgate once, which asks the kubelet and writes down what is its own, or, if no pod has a \
             device of devgate, say --even-if-in-use"
        )));
    }
    Err(refuse(format!(
        "device {id} of {resource} is in use{whose}{more}; end the pods that have devices of devgate first, or say --even-if-in-use: a \
         devgate that comes back may then give to others what those pods have"
    )))
}

fn by(holder: Option<&Holder>) -> String {
    match holder {
        Some(holder) => format!(
            " by pod {}/{}",
            escape(&holder.namespace, SHOWN),
            escape(&holder.pod, SHOWN)
        ),
        // Such as that of an init container, or of a pod that ended a while ago.
        None => " (by the kubelet's own record, which forgets a pod some minutes after its end)".to_owned(),
    }
}
