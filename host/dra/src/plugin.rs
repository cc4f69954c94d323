//! What the kubelet asks on a driver's socket, by the names of both versions: what the older one has is the same bytes.

use crate::driver::Driver;
use crate::health::{Health, MAX_STREAMS};
use crate::prepare::{prepare, unprepare};
use devgate_kubelet::api::dra;
use devgate_kubelet::api::dra::dra_plugin_server::{DraPlugin, DraPluginServer, SERVICE_NAME};
use devgate_kubelet::api::dra::health::dra_resource_health_server::{
    DraResourceHealthServer, SERVICE_NAME as HEALTH_NAME,
};
use devgate_kubelet::api::dra::v1beta1::dra_plugin_server::SERVICE_NAME as OLDER_NAME;
use devgate_kubelet::latest::Latest;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::BoxFuture;
use tonic::{Request as Call, Response as Answer, Status};

/// What is served, as the kubelet calls it, which takes the first that it knows.
pub(crate) const SERVICES: [&str; 3] = ["v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"];

/// The services on a driver's socket.
#[derive(Clone)]
pub(crate) struct Methods {
    plugin: DraPluginServer<Plugin>,
    health: DraResourceHealthServer<Health>,
    stop: CancellationToken,
}

impl Methods {
    pub(crate) fn new(driver: &Arc<Driver>) -> Self {
        let stop = CancellationToken::new();
        let (driver, streams) = (Arc::clone(driver), Latest::new(MAX_STREAMS));
        let health = Health { driver: Arc::clone(&driver), streams, stop: stop.clone() };
        Self { plugin: DraPluginServer::new(Plugin(driver)), health: DraResourceHealthServer::new(health), stop }
    }

    /// Ends its streams.
    pub(crate) fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }
}

impl tower::Service<Request<Body>> for Methods {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let path = request.uri().path();
        let method = |service: &str| path.strip_prefix('/')?.strip_prefix(service)?.strip_prefix('/');
        if method(HEALTH_NAME).is_some() {
            return self.health.call(request);
        }
        if let Some(named) = method(OLDER_NAME).and_then(|method| format!("/{SERVICE_NAME}/{method}").parse().ok()) {
            *request.uri_mut() = with_path(request.uri(), named);
        }
        self.plugin.call(request)
    }
}

fn with_path(uri: &Uri, path: PathAndQuery) -> Uri {
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).unwrap_or_default()
}

/// The driver, as the kubelet sees it.
pub(crate) struct Plugin(Arc<Driver>);

/// Does the same for each claim, each once and all at the same time, and answers for all by `until`: what is not done by then has the
/// error of `late`.
async fn each<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    claims: Vec<dra::Claim>,
    until: Instant,
    what: impl Fn(dra::Claim) -> F,
    late: impl Fn() -> T + Clone + Send + 'static,
) -> BTreeMap<String, T> {
    let claims: BTreeMap<String, dra::Claim> = claims.into_iter().map(|claim| (claim.uid.clone(), claim)).collect();
    let mut all: BTreeMap<String, T> = claims.keys().map(|uid| (uid.clone(), late())).collect();
    let mut tasks = JoinSet::new();
    for (uid, claim) in claims {
        let (done, late) = (what(claim), late.clone());
        tasks.spawn(async move { (uid, tokio::time::timeout_at(until, done).await.unwrap_or_else(|_| late())) });
    }
    while let Some(done) = tasks.join_next().await {
        // What panicked has the other answer.
        if let Ok((uid, answer)) = done {
            all.insert(uid, answer);
        }
    }
    all
}

#[tonic::async_trait]
impl DraPlugin for Plugin {
    async fn node_prepare_resources(
        &self,
        request: Call<dra::NodePrepareResourcesRequest>,
    ) -> Result<Answer<dra::NodePrepareResourcesResponse>, Status> {
        let _counted = self.0.calls.count();
        let bound = self.0.config.prepare_timeout;
        let driver = Arc::clone(&self.0);
        let late = move || dra::NodePrepareResourceResponse { error: late(bound), ..Default::default() };
        let prepare = |claim| prepare(Arc::clone(&driver), claim);
        let claims = each(request.into_inner().claims, Instant::now() + bound, prepare, late).await;
        self.0.changed.send_replace(());
        Ok(Answer::new(dra::NodePrepareResourcesResponse { claims }))
    }

    async fn node_unprepare_resources(
        &self,
        request: Call<dra::NodeUnprepareResourcesRequest>,
    ) -> Result<Answer<dra::NodeUnprepareResourcesResponse>, Status> {
        let _counted = self.0.calls.count();
        let bound = self.0.config.prepare_timeout;
        let driver = Arc::clone(&self.0);
        let late = move || dra::NodeUnprepareResourceResponse { error: late(bound) };
        let unprepare = |claim| unprepare(Arc::clone(&driver), claim);
        let claims = each(request.into_inner().claims, Instant::now() + bound, unprepare, late).await;
        self.0.changed.send_replace(());
        Ok(Answer::new(dra::NodeUnprepareResourcesResponse { claims }))
    }
}

fn late(bound: std::time::Duration) -> String {
    format!("no answer within {bound:?}; it is tried again")
}
