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

impl Plugin {
    /// Does the same for each claim, each once and all at the same time, and answers for all in time: what is not done by then has the
    /// answer of `late`.
    async fn each<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        claims: Vec<dra::Claim>,
        what: impl Fn(Arc<Driver>, dra::Claim) -> F,
        late: impl Fn(String) -> T,
    ) -> BTreeMap<String, T> {
        let _counted = self.0.calls.count();
        let bound = self.0.config.prepare_timeout;
        let until = Instant::now() + bound;
        let claims: BTreeMap<String, dra::Claim> = claims.into_iter().map(|claim| (claim.uid.clone(), claim)).collect();
        let late = |uid: &String| (uid.clone(), late(format!("no answer within {bound:?}; it is tried again")));
        let mut all: BTreeMap<String, T> = claims.keys().map(late).collect();
        let mut tasks = JoinSet::new();
        for (uid, claim) in claims {
            let done = what(Arc::clone(&self.0), claim);
            tasks.spawn(async move { (uid, tokio::time::timeout_at(until, done).await) });
        }
        while let Some(done) = tasks.join_next().await {
            // What is late or has panicked has the other answer.
            if let Ok((uid, Ok(answer))) = done {
                all.insert(uid, answer);
            }
        }
        self.0.changed.send_replace(());
        all
    }
}

#[tonic::async_trait]
impl DraPlugin for Plugin {
    async fn node_prepare_resources(
        &self,
        request: Call<dra::NodePrepareResourcesRequest>,
    ) -> Result<Answer<dra::NodePrepareResourcesResponse>, Status> {
        let late = |error| dra::NodePrepareResourceResponse { error, ..Default::default() };
        let claims = self.each(request.into_inner().claims, prepare, late).await;
        Ok(Answer::new(dra::NodePrepareResourcesResponse { claims }))
    }

    async fn node_unprepare_resources(
        &self,
        request: Call<dra::NodeUnprepareResourcesRequest>,
    ) -> Result<Answer<dra::NodeUnprepareResourcesResponse>, Status> {
        let late = |error| dra::NodeUnprepareResourceResponse { error };
        let claims = self.each(request.into_inner().claims, unprepare, late).await;
        Ok(Answer::new(dra::NodeUnprepareResourcesResponse { claims }))
    }
}
