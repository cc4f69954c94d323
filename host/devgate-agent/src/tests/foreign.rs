//! What the API server and the host say is read whatever it is: it is understood or an error, and what is made of it can be sent.

use crate::claims::{Asked, read};
use crate::publisher::Driver;
use crate::server::Failure;
use crate::slices::{Next, Pool, Seen, cut};
use devgate_agent_protocol::{Claim, Device, ToAgent};
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceSlice};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SLICE: &str = r#"{"metadata":{"name":"00000-gpu.example.com-node-1","uid":"u","resourceVersion":"7","labels":{"app.kubernetes.io/managed-by":"devgate"},"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"node-1","uid":"node-uid"}]},"spec":{"driver":"gpu.example.com","nodeName":"node-1","pool":{"name":"node-1","generation":9223372036854775807,"resourceSliceCount":1},"devices":[{"name":"gpu-0","attributes":{"a":{"int":1}},"capacity":{"m":{"value":"80Gi"}},"taints":[{"key":"a/b","effect":"NoSchedule","timeAdded":"2026-01-02T03:04:05Z"}]}]}}"#;
const CLAIM: &str = r#"{"metadata":{"name":"c","uid":"u1"},"spec":{},"status":{"allocation":{"devices":{"results":[{"driver":"gpu.example.com","pool":"node-1","device":"gpu-0","request":"a/b","adminAccess":true}],"config":[{"source":"FromClass","opaque":{"driver":"gpu.example.com","parameters":{"a":1}}}]}}}}"#;
const PUBLISH: &str = r#"{"publish":{"driver":"gpu.example.com","devices":[{"name":"gpu-0","attributes":{"a":{"int":1},"b":{"version":"1.2.3"}},"capacity":{"m":85899345920},"taints":[{"key":"a/b","effect":"NoExecute"}]}]}}"#;
const STATUS: &str = r#"{"kind":"Status","code":422,"message":"no","details":{"retryAfterSeconds":4}}"#;

/// A text with some bytes changed, taken out or put in.
fn changed(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let change = (
        any::<prop::sample::Index>(),
        0_u8..3,
        prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\",:-09e.".to_vec())],
    );
    proptest::collection::vec(change, 0..4).prop_map(move |changes| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, how, byte) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_slice(bytes in changed(SLICE)) {
        let Ok(slice) = serde_json::from_slice::<ResourceSlice>(&bytes) else { return Ok(()) };
        let is_empty = slice.spec.devices.iter().flatten().next().is_none();
        let seen = Seen::of(slice);
        let (wanted, accepted) = (cut(&[], &BTreeMap::new(), "gpu.example.com", "node-1"), BTreeMap::new());
        let pool = Pool { wanted: &wanted, seen: vec![&seen], name: "node-1", owner: Some("node-uid"), generation: 0, accepted: &accepted };
        // None are wanted.
        assert!(is_empty || !matches!(pool.next(), Next::Done(_)));
    }

    #[test]
    fn a_claim(bytes in changed(CLAIM)) {
        let Ok(claim) = serde_json::from_slice::<ResourceClaim>(&bytes) else { return Ok(()) };
        let asked = ["gpu.example.com", "d", "c", "u1"].map(str::to_owned);
        let [driver, namespace, name, uid] = asked;
        let asked = Asked { driver, namespace, name, uid };
        if let Claim::Allocated { devices, .. } = read(claim, "node-1", &asked) {
            assert!(devices.iter().all(|device| device.pool == "node-1"));
        }
    }

    #[test]
    fn a_refusal(bytes in changed(STATUS), status in 400_u16..600, header in "[ -~]{0,24}") {
        let response = http::Response::builder().status(status).header("Retry-After", header).body(()).unwrap();
        let failure = Failure::refused("read slice", &response.into_parts().0, &bytes);
        let shown = failure.to_string();
        assert!(shown.len() < 4096 && !shown.contains(char::is_control), "{shown:?}");
    }

    #[test]
    fn what_the_host_says(bytes in changed(PUBLISH)) {
        let Ok(ToAgent::Publish { devices, counters, .. }) = serde_json::from_slice(&bytes) else { return Ok(()) };
        let devices: Vec<Device> = devices;
        let mut driver = Driver::default();
        driver.want(devices, counters, "gpu.example.com", "node-1");
        let spec = driver.wanted[0].spec(1);
        assert!(spec.devices.unwrap().len() <= 1);
    }
}
