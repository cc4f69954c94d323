//! What the kubelet says, and what it keeps.

use crate::hold;
use devgate_core::offer::{AllocateError, BoxFuture, DeviceList, Offer, Reply};
use devgate_device_plugin::{front_end, pod_resources};
use devgate_types::ResourceName;
use http::Request;
use http_body_util::{BodyExt, Full};
use std::sync::Arc;
use tokio::sync::watch;
use tonic::body::Body;
use tower::ServiceExt;

/// Measured: each id is kept in a set, and refused in words. Room for a message as long as its head says, 4 MiB at most, is asked for
/// before it has come, and again for what does not fit.
const COST: hold::Cost = hold::Cost { per_byte: 1 << 10, besides: 10 << 20 };
/// The most of an error's text, percent-encoded as it goes over the wire.
const STATUS: usize = 512 * 4 * 3;

/// The methods of a device plugin, but for the list, which has no end.
const METHODS: [&str; 5] =
    ["GetDevicePluginOptions", "GetPreferredAllocation", "Allocate", "PreStartContainer", "None"];

/// A request is answered, or refused with a status. Its first byte says what is called, and how it is framed.
pub fn call(input: &[u8]) {
    let Some((how, message)) = input.split_first() else {
        return;
    };
    let method = METHODS[usize::from(*how) % METHODS.len()];
    let mut body = message.to_vec();
    // Seven of eight have gRPC's head, with the right length.
    if how >> 5 != 7 {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        body = [&[0], &length[..], message].concat();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let answer = COST.holds(message.len(), || {
        runtime.block_on(async {
            let request = Request::post(format!("/v1beta1.DevicePlugin/{method}"));
            let request = request.header("content-type", "application/grpc");
            let request = request.body(Body::new(Full::from(body))).unwrap();
            let answer = front_end::fuzz::service(Arc::new(Fake::default())).oneshot(request).await.unwrap();
            let (head, body) = answer.into_parts();
            (head, body.collect().await.unwrap())
        })
    });
    let (head, body) = answer;
    let trailers = body.trailers().unwrap_or(&head.headers).clone();
    let status = trailers.get("grpc-status").expect("each call has a status");
    let said = trailers.get("grpc-message").map(|text| text.to_str().unwrap());
    let length = said.unwrap_or_default().len();
    assert!(length <= STATUS, "a status of {length} bytes");
    assert!(status == "0" || body.to_bytes().is_empty(), "{status:?} and an answer");
}

/// Who has what is in the answer, and nothing else.
pub fn pods(input: &[u8]) {
    COST.holds(input.len(), || {
        let Some(seen) = pod_resources::fuzz::holders(input) else {
            return;
        };
        for ((resource, id), holders) in &seen {
            assert!(holds(input, resource.as_str()) && holds(input, id), "{resource} {id}");
            assert!(!holders.is_empty());
        }
    });
}

/// What the kubelet's own file says; the same again from what was understood.
pub fn checkpoint(input: &[u8]) {
    COST.holds(input.len(), || {
        let Some(records) = pod_resources::fuzz::records(input) else {
            return;
        };
        let entries: Vec<_> = records
            .keys()
            .map(|(resource, id)| serde_json::json!({"ResourceName": resource.as_str(), "DeviceIDs": {"-1": [id]}}))
            .collect();
        let text = serde_json::json!({"Data": {"PodDeviceEntries": entries}}).to_string();
        let again = pod_resources::fuzz::records(text.as_bytes()).unwrap();
        assert!(again.keys().eq(records.keys()), "ids are lost");
    });
}

fn holds(all: &[u8], text: &str) -> bool {
    text.is_empty() || all.windows(text.len()).any(|part| part == text.as_bytes())
}

/// A resource that gives what is asked for, but for some ids.
struct Fake {
    resource: ResourceName,
    devices: watch::Sender<Arc<DeviceList>>,
}

impl Default for Fake {
    fn default() -> Self {
        Self { resource: ResourceName::try_new("vendor.com/gpu").unwrap(), devices: watch::Sender::default() }
    }
}

impl Offer for Fake {
    fn resource(&self) -> &ResourceName {
        &self.resource
    }

    fn devices(&self) -> watch::Receiver<Arc<DeviceList>> {
        self.devices.subscribe()
    }

    fn allocate<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<Arc<Reply>, AllocateError>> {
        assert!(ids.is_sorted() && !ids.is_empty());
        Box::pin(async move {
            match ids.iter().find(|id| !id.starts_with("gpu")) {
                None => Ok(Arc::new(Reply { env: [("IDS".to_owned(), ids.join(","))].into(), ..Reply::default() })),
                Some(id) => Err(AllocateError::Unknown(format!("there is no {}", devgate_types::escape(id, 80)))),
            }
        })
    }

    fn starts(&self) -> bool {
        true
    }

    fn choose<'a>(
        &'a self,
        available: &'a [String],
        _must_include: &'a [String],
        size: usize,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move { available.iter().take(size).cloned().collect() })
    }
}
