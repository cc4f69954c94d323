//! What serves the kubelet: its device plugins, and its drivers of dynamic resource allocation.

use crate::cli::RunArgs;
use crate::exit;
use devgate_cdi::Keeper;
use devgate_core::offer::Offers;
use devgate_device_plugin::{FrontEndConfig, FrontEndError, pod_resources};
use devgate_dra::{ClaimName, DraConfig, DraError, Judged};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Where the kubelet and the agent are, and which drivers the policy has.
pub(super) fn drivers(
    args: &RunArgs,
    keeper: &Arc<Keeper>,
    named: watch::Receiver<BTreeSet<String>>,
    judged: watch::Receiver<Option<Arc<Judged>>>,
) -> DraConfig {
    let pods = args.kubelet.pod_resources();
    let in_use = move || {
        let pods = pods.clone();
        let asked = async move {
            let claims = pod_resources::claims(&pods).await.ok()?;
            Some(claims.into_iter().map(|(namespace, name)| ClaimName { namespace, name }).collect())
        };
        Box::pin(asked) as devgate_core::offer::BoxFuture<'static, _>
    };
    let (registry, agent) = (args.plugins_registry_dir.clone(), args.agent_socket.clone());
    DraConfig { judged, ..DraConfig::new(registry, agent, named, Arc::clone(keeper), Arc::new(in_use)) }
}

/// Serves all that is offered, until `stop`; the ends of both are waited for.
pub(super) async fn serve(
    (counted, offers): (FrontEndConfig, Offers),
    (drivers, all): (DraConfig, Offers),
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let counted = async { devgate_device_plugin::serve(counted, offers, stop.clone()).await.map_err(of_plugins) };
    let drivers = async { devgate_dra::serve(drivers, all, stop.clone()).await.map_err(of_drivers) };
    tokio::try_join!(counted, drivers).map(drop)
}

fn of_plugins(error: FrontEndError) -> anyhow::Error {
    match error {
        FrontEndError::TaskEnded { .. } => error.into(),
        FrontEndError::PathTooLong(_) | FrontEndError::DirectoryDeleted(_) => {
            exit::with_code(exit::NODE, error.to_string())
        }
    }
}

fn of_drivers(error: DraError) -> anyhow::Error {
    match error {
        DraError::TaskEnded { .. } => error.into(),
        DraError::PathTooLong(..) => exit::with_code(exit::NODE, error.to_string()),
    }
}
