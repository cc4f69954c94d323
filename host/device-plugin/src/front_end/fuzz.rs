//! The kubelet's calls without its socket: what `tests/fuzz` calls, and nothing else.

use super::FrontEndConfig;
use super::encoded_list::EncodedList;
use super::lists::Methods;
use super::service::Service;
use devgate_core::offer::Offer;
use devgate_kubelet::gauge::Gauge;
use devgate_kubelet::latest::Latest;
use http::{Request, Response};
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;

/// What answers the kubelet's requests for the devices of an offer.
pub fn service(
    offer: Arc<dyn Offer>,
) -> impl tower::Service<Request<Body>, Response = Response<Body>, Error = Infallible> {
    Methods::new(Service {
        config: Arc::new(FrontEndConfig::new(PathBuf::new())),
        resource: offer.resource().clone(),
        offer: watch::Sender::new(offer).subscribe(),
        list: watch::Sender::new(EncodedList::default()).subscribe(),
        streams: Latest::new(1),
        calls: Gauge::default(),
        lists: Arc::default(),
        stop: CancellationToken::new(),
    })
}
