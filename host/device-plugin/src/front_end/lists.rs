//! `ListAndWatch` as bytes: every stream sends the very same list, which is encoded once, and of which a stream that is not read
//! keeps no copy of its own.
//!
//! Hence this one method is answered beside the generated server, which writes each message into a buffer of each stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use devgate_kubelet::api::device_plugin_server::DevicePluginServer;
use devgate_kubelet::latest::Place;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use hyper::body::Frame;
use tokio::sync::watch;
use tokio_stream::Stream as _;
use tokio_stream::wrappers::WatchStream;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::BoxFuture;

use super::encoded_list::EncodedList;
use super::service::Service;

/// The most streams of one resource's lists at a time; the kubelet has one.
pub(crate) const MAX_STREAMS: usize = 16;
const METHOD: &str = "/v1beta1.DevicePlugin/ListAndWatch";

/// A resource's device plugin with all its methods.
#[derive(Clone)]
pub(crate) struct Methods {
    service: Arc<Service>,
    others: DevicePluginServer<Service>,
}

impl Methods {
    pub(crate) fn new(service: Service) -> Self {
        let service = Arc::new(service);
        Self { others: DevicePluginServer::from_arc(Arc::clone(&service)), service }
    }
}

impl tower::Service<Request<Body>> for Methods {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if request.uri().path() != METHOD {
            return tower::Service::call(&mut self.others, request);
        }
        tracing::debug!(resource = %self.service.resource, "stream opened");
        let mut response = Response::new(Body::new(ListStream::new(&self.service)));
        let grpc = HeaderValue::from_static("application/grpc");
        response.headers_mut().insert(header::CONTENT_TYPE, grpc);
        // The message of the request says nothing.
        Box::pin(std::future::ready(Ok(response)))
    }
}

/// One stream of lists: the newest at once, then every newer one that the kubelet takes in time; ends with its server, or
/// when there are too many after it.
struct ListStream {
    lists: WatchStream<EncodedList>,
    end: Pin<Box<WaitForCancellationFutureOwned>>,
    has_ended: bool,
    sent: Arc<AtomicU64>,
    _place: Place,
}

impl ListStream {
    fn new(service: &Service) -> Self {
        let place = service.streams.enter(&service.stop, "streams of lists of one resource");
        let lists = service.list.clone();
        Self::of(lists, place, Arc::clone(&service.lists))
    }

    fn of(lists: watch::Receiver<EncodedList>, place: Place, sent: Arc<AtomicU64>) -> Self {
        Self {
            lists: WatchStream::new(lists),
            end: Box::pin(place.ended().clone().cancelled_owned()),
            has_ended: false,
            sent,
            _place: place,
        }
    }
}

impl hyper::body::Body for ListStream {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        if self.end.as_mut().poll(cx).is_ready() {
            self.has_ended = true;
            let (status, ok) = (HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"));
            let ok = HeaderMap::from_iter([(status, ok)]);
            return Poll::Ready(Some(Ok(Frame::trailers(ok))));
        }
        match Pin::new(&mut self.lists).poll_next(cx) {
            Poll::Ready(Some(list)) => {
                self.sent.fetch_add(1, Ordering::Relaxed);
                Poll::Ready(Some(Ok(Frame::data(list.framed()))))
            }
            // No more lists are made, but the stream goes on until its server ends it: calls in flight need it.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_core::offer::DeviceList;
    use devgate_kubelet::latest::Latest;
    use hyper::body::Body as _;
    use std::task::Waker;
    use tokio_util::sync::CancellationToken;

    #[test]
    fn all_streams_send_the_same_bytes_and_end_in_good_order() {
        let list = EncodedList::try_new(&DeviceList::default()).unwrap();
        let (out, _) = watch::channel(list);
        let (latest, stop) = (Latest::new(2), CancellationToken::new());
        let open = || {
            let place = latest.enter(&stop, "streams");
            Box::pin(ListStream::of(out.subscribe(), place, Arc::default()))
        };
        let mut context = Context::from_waker(Waker::noop());
        let mut frame = |stream: &mut Pin<Box<ListStream>>| match stream.as_mut().poll_frame(&mut context) {
            Poll::Ready(frame) => frame.map(Result::unwrap),
            Poll::Pending => panic!("nothing is sent"),
        };
        let data = |frame: Option<Frame<Bytes>>| frame.unwrap().into_data().unwrap();
        let (mut first, mut second) = (open(), open());
        let sent = [&mut first, &mut second].map(|stream| data(frame(stream)));
        assert_eq!(sent[0].as_ptr(), sent[1].as_ptr());
        let _third = open();
        let trailers = frame(&mut first).unwrap().into_trailers().unwrap();
        assert_eq!(trailers["grpc-status"], "0");
        assert!(frame(&mut first).is_none());
    }
}
