//! Health of what claims have, for the kubelet's status of their pods. It cares for no other devices.

use crate::driver::Driver;
use crate::inventory::Listed;
use devgate_kubelet::api::dra::health::dra_resource_health_server::DraResourceHealth;
use devgate_kubelet::api::dra::health::{
    DeviceHealth, DeviceIdentifier, HealthStatus, NodeWatchResourcesRequest, NodeWatchResourcesResponse,
};
use devgate_kubelet::latest::Latest;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

/// The most streams of one driver at a time; the kubelet has one.
pub(crate) const MAX_STREAMS: usize = 4;
/// How long the kubelet believes what it was told, in seconds.
const BELIEVED: i64 = 120;
/// The most characters of a message.
const MAX_MESSAGE: usize = 1_024;

/// A driver's health, as the kubelet sees it.
pub(crate) struct Health {
    pub(crate) driver: Arc<Driver>,
    pub(crate) streams: Latest,
    pub(crate) stop: CancellationToken,
}

#[tonic::async_trait]
impl DraResourceHealth for Health {
    type NodeWatchResourcesStream = ReceiverStream<Result<NodeWatchResourcesResponse, Status>>;

    async fn node_watch_resources(
        &self,
        _: Request<NodeWatchResourcesRequest>,
    ) -> Result<Response<Self::NodeWatchResourcesStream>, Status> {
        let place = self.streams.enter(&self.stop, "streams of health of one driver");
        // One, so that a kubelet which does not read gets the newest when it does.
        let (to, stream) = mpsc::channel(1);
        let driver = Arc::clone(&self.driver);
        tokio::spawn(async move {
            tokio::select! {
                () = place.ended().cancelled() => {}
                () = to.closed() => {}
                () = tell(&driver, &to) => {}
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

/// Tells all at once, then each change, and the same again before it is not believed any more.
async fn tell(driver: &Driver, to: &mpsc::Sender<Result<NodeWatchResourcesResponse, Status>>) {
    let (mut inventory, mut claims) = (driver.inventory.subscribe(), driver.changed.subscribe());
    let (every, calm) = (driver.config.health_every, driver.config.health_calm);
    let (mut told, mut due) = (None, Instant::now());
    loop {
        inventory.mark_unchanged();
        claims.mark_unchanged();
        let now = health(driver);
        if told.as_ref() != Some(&now) || due <= Instant::now() {
            let Ok(place) = to.reserve().await else { return };
            // It may have been waited for.
            let now = health(driver);
            place.send(Ok(message(&now)));
            (told, due) = (Some(now), Instant::now() + every);
            tokio::time::sleep(calm).await;
        }
        tokio::select! {
            _ = inventory.changed() => {}
            _ = claims.changed() => {}
            () = tokio::time::sleep_until(due) => {}
        }
    }
}

type State = (HealthStatus, String);

/// Pool and name of all that claims have, and how each is.
fn health(driver: &Driver) -> BTreeMap<(String, String), State> {
    let inventory = driver.now();
    let mut all = BTreeMap::new();
    for claim in driver.consumers().iter().flat_map(|who| driver.claims.held(who)) {
        let Some(tag) = claim.tag.filter(|_| claim.told) else { continue };
        for device in claim.devices {
            let listed = inventory.device(&device.name);
            let state = match listed.map(|device| (device.unhealthy.as_deref(), device)) {
                Some((None, device)) => (HealthStatus::Healthy, conditions(device).chars().take(MAX_MESSAGE).collect()),
                Some((Some(why), _)) => (HealthStatus::Unhealthy, why.chars().take(MAX_MESSAGE).collect()),
                None => (HealthStatus::Unknown, "no plugin offers it at the moment".to_owned()),
            };
            all.insert((tag.pool.clone(), device.name), state);
        }
    }
    all
}

/// What is not as it should be with a device that works.
fn conditions(device: &Listed) -> String {
    let all = device.facts.iter().flat_map(|facts| facts.conditions.iter());
    all.map(|condition| format!("{}: {}", condition.key, condition.message)).collect::<Vec<_>>().join("; ")
}

fn message(all: &BTreeMap<(String, String), State>) -> NodeWatchResourcesResponse {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let last_updated_time = i64::try_from(now.as_secs()).unwrap_or_default();
    let device = |((pool, name), (health, message)): (&(String, String), &State)| DeviceHealth {
        device: Some(DeviceIdentifier { pool_name: pool.clone(), device_name: name.clone() }),
        health: (*health).into(),
        last_updated_time,
        health_check_timeout_seconds: BELIEVED,
        message: message.clone(),
    };
    NodeWatchResourcesResponse { devices: all.iter().map(device).collect() }
}
