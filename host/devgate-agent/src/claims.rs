//! What a claim was given of a driver's devices on this node.

use crate::server::{Kind, Server};
use crate::slices::{is_label, is_subdomain};
use devgate_agent_protocol::{Allocated, Claim, Parameters};
use k8s_openapi::api::resource::v1::{
    DeviceAllocationConfiguration, DeviceAllocationResult, DeviceRequestAllocationResult, ResourceClaim,
    ResourceClaimStatus,
};
use std::collections::BTreeSet;

/// The most bytes of all parameters of a claim together: a message to the host has room for them, however they are written.
const MAX_PARAMETERS: usize = 1 << 19;

/// A claim as the host asks for it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) driver: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// Asks the API server.
pub(crate) async fn look(server: &Server, node: &str, asked: &Asked) -> Claim {
    // They become parts of a path.
    if !is_label(&asked.namespace) || !is_subdomain(&asked.name, 253) {
        return Claim::Unknown("claim: its namespace or name is none that can be".to_owned());
    }
    match server.claim(&asked.namespace, &asked.name).await {
        Ok(claim) => read(claim, node, asked),
        Err(failure) if failure.kind == Kind::Missing && !failure.is_whole_api() => Claim::Gone,
        Err(failure) => Claim::Unknown(failure.to_string()),
    }
}

pub(crate) fn read(claim: ResourceClaim, node: &str, asked: &Asked) -> Claim {
    if claim.metadata.uid.as_ref() != Some(&asked.uid) {
        return Claim::Gone;
    }
    let Some(ResourceClaimStatus { allocation: Some(allocation), .. }) = claim.status else { return Claim::Gone };
    let DeviceAllocationResult { config, results } = allocation.devices.unwrap_or_default();
    let is_ours = |result: &DeviceRequestAllocationResult| result.driver == asked.driver && result.pool == node;
    let devices = results.unwrap_or_default().into_iter().filter(is_ours).map(|result| Allocated {
        request: result.request,
        pool: result.pool,
        device: result.device,
        share: result.share_id,
        admin: result.admin_access.unwrap_or_default(),
    });
    let devices: Vec<Allocated> = devices.collect();
    let parameters = config.unwrap_or_default().into_iter().filter_map(|config| parameters(config, &asked.driver));
    let parameters: Vec<Parameters> = parameters.collect();
    let size: usize = parameters.iter().map(|of| of.json.len()).sum();
    if size > MAX_PARAMETERS {
        return Claim::Unknown(format!("its parameters have {size} bytes, more than {MAX_PARAMETERS}"));
    }
    // Schedulers before kubernetes#134793 left this out, and a request would have what is another's.
    let requests: BTreeSet<_> = devices.iter().map(|device| device.request.split('/').next()).collect();
    if requests.len() > 1 && parameters.iter().any(|of| of.of_class && of.requests.is_empty()) {
        let why =
            "its scheduler does not say for which request its class's config is (kubernetes#134789); update Kubernetes";
        return Claim::Unknown(format!("claim: {why}, or have one request in a claim"));
    }
    Claim::Allocated { devices, parameters }
}

/// What is for this driver. What is not of a class may be of any tenant.
fn parameters(config: DeviceAllocationConfiguration, driver: &str) -> Option<Parameters> {
    let opaque = config.opaque.filter(|opaque| opaque.driver == driver)?;
    Some(Parameters {
        requests: config.requests.unwrap_or_default(),
        of_class: config.source == "FromClass",
        json: opaque.parameters.0.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_json(status: &serde_json::Value, uid: &str) -> Claim {
        let claim = json!({"metadata": {"name": "c", "namespace": "d", "uid": "u1"}, "spec": {}, "status": status});
        let asked = Asked {
            driver: "gpu.example.com".to_owned(),
            namespace: "d".to_owned(),
            name: "c".to_owned(),
            uid: uid.to_owned(),
        };
        read(serde_json::from_value(claim).unwrap(), "node-1", &asked)
    }

    #[test]
    fn a_claim_is_the_devices_of_its_driver_on_this_node() {
        let result = |driver: &str, pool: &str, device: &str| json!({"driver": driver, "pool": pool, "device": device, "request": "a/b"});
        let mut results = [
            result("gpu.example.com", "node-1", "gpu-0"),
            result("nic.example.com", "node-1", "nic-0"),
            result("gpu.example.com", "node-2", "gpu-1"),
            result("gpu.example.com", "node-1", "gpu-2"),
        ];
        results[3]["adminAccess"] = json!(true);
        results[3]["shareID"] = json!("s1");
        let mut status = json!({"allocation": {"devices": {"results": results}}});
        let plain = Allocated {
            request: "a/b".to_owned(),
            pool: "node-1".to_owned(),
            device: "gpu-0".to_owned(),
            share: None,
            admin: false,
        };
        let admin =
            Allocated { device: "gpu-2".to_owned(), share: Some("s1".to_owned()), admin: true, ..plain.clone() };
        let devices = vec![plain, admin];
        let is = |parameters| Claim::Allocated { devices: devices.clone(), parameters };
        assert_eq!(read_json(&status, "u1"), is(Vec::new()));
        let config = |source: &str, driver: &str, parameters: serde_json::Value| json!({"source": source, "opaque": {"driver": driver, "parameters": parameters}});
        let mut claims = config("FromClaim", "gpu.example.com", json!({"b": [true]}));
        claims["requests"] = json!(["a/b", "c"]);
        status["allocation"]["devices"]["config"] = json!([
            config("FromClass", "gpu.example.com", json!({"a": "x\n"})),
            config("FromClass", "nic.example.com", json!({})),
            {"source": "FromClass"},
            claims,
            config("FromElsewhere", "gpu.example.com", json!(null)),
        ]);
        let parameters = |of_class, requests: &[&str], json: &str| Parameters {
            requests: requests.iter().map(|name| (*name).to_owned()).collect(),
            of_class,
            json: json.to_owned(),
        };
        let expected = vec![
            parameters(true, &[], r#"{"a":"x\n"}"#),
            parameters(false, &["a/b", "c"], r#"{"b":[true]}"#),
            parameters(false, &[], "null"),
        ];
        assert_eq!(read_json(&status, "u1"), is(expected));
        // A class's without the request that it is for, and two that it may be for.
        status["allocation"]["devices"]["results"][3]["request"] = json!("other");
        let Claim::Unknown(why) = read_json(&status, "u1") else { panic!("it is known") };
        assert!(why.contains("does not say for which request its class's config is"), "{why}");
        status["allocation"]["devices"]["results"][3]["request"] = json!("a/b");
        let many = vec![config("FromClass", "gpu.example.com", json!("x".repeat(10_000))); 60];
        status["allocation"]["devices"]["config"] = json!(many);
        let why = "its parameters have 600120 bytes, more than 524288";
        assert_eq!(read_json(&status, "u1"), Claim::Unknown(why.to_owned()));
        assert_eq!(read_json(&status, "u2"), Claim::Gone);
        assert_eq!(read_json(&json!({}), "u1"), Claim::Gone);
        assert_eq!(
            read_json(&json!({"allocation": {}}), "u1"),
            Claim::Allocated { devices: Vec::new(), parameters: Vec::new() }
        );
    }
}
