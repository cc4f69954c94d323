//! A claim of a pod that is to start, or has ended.

use crate::config::ClaimName;
use crate::driver::Driver;
use crate::inventory::{Inventory, Listed};
use devgate_agent_protocol::{Allocated, Claim as Answer};
use devgate_cdi::{Claim, ClaimTag, is_claim_uid};
use devgate_core::{Ask, Mode, Released};
use devgate_kubelet::api::dra;
use devgate_types::{ResourceName, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most devices of a claim: the API has fewer.
const MAX_DEVICES: usize = 512;
/// The most characters of what is shown of a name, and of an error.
const MAX_NAME: usize = 253;
const MAX_TEXT: usize = 1_024;

/// Has a claim's devices ready.
pub(crate) async fn prepare(driver: Arc<Driver>, claim: dra::Claim) -> dra::NodePrepareResourceResponse {
    match devices(&driver, &claim).await {
        Ok(devices) => dra::NodePrepareResourceResponse { devices, error: String::new() },
        Err(why) => {
            let error = shown(&claim, &why);
            tracing::warn!(driver = %driver.name, "driver {}: {error}", driver.name);
            dra::NodePrepareResourceResponse { devices: Vec::new(), error }
        }
    }
}

/// A claim is over. What is unknown is, too; what is not released yet goes on in the background, and no other gets it meanwhile.
pub(crate) async fn unprepare(driver: Arc<Driver>, claim: dra::Claim) -> dra::NodeUnprepareResourceResponse {
    let ended = driver.claims.end(&driver.consumer(&claim.uid)).await;
    let error = match ended {
        Ok(released) => {
            if let Released::Dirty(units) = released {
                let units: Vec<_> = units.iter().map(|(_, id)| id.as_str()).collect();
                let why = format!("over; not released yet: {}", units.join(", "));
                tracing::warn!(driver = %driver.name, "driver {}: {}", driver.name, shown(&claim, &why));
            }
            String::new()
        }
        Err(why) => {
            let error = shown(&claim, &why.to_string());
            tracing::error!(driver = %driver.name, family = "host", "driver {}: {error}", driver.name);
            error
        }
    };
    dra::NodeUnprepareResourceResponse { error }
}

fn shown(claim: &dra::Claim, why: &str) -> String {
    let [namespace, name, uid] = [&claim.namespace, &claim.name, &claim.uid].map(|text| escape(text, MAX_NAME));
    let why: String = why.chars().take(MAX_TEXT).collect();
    format!("claim {namespace}/{name} ({uid}): {why}")
}

async fn devices(driver: &Driver, claim: &dra::Claim) -> Result<Vec<dra::Device>, String> {
    if !is_claim_uid(&claim.uid) {
        return Err("it has a uid that none can have".to_owned());
    }
    let who = driver.consumer(&claim.uid);
    if let Some(had) = driver.claims.again(&who).await.map_err(|why| why.shown())? {
        return answer(&had);
    }
    let name = ClaimName { namespace: claim.namespace.clone(), name: claim.name.clone() };
    let allocated = match driver.agent.claim(&driver.name, &name, &claim.uid).await? {
        Answer::Allocated { parameters: true, .. } => {
            return Err("it or its class has parameters for this driver, which takes none; take `config` out of both"
                .to_owned());
        }
        Answer::Allocated { devices, .. } => devices,
        Answer::Gone => return Err("there is none of this uid, or it is not allocated".to_owned()),
        Answer::Unknown(why) => return Err(format!("the agent does not know it: {}", escape(&why, 512))),
    };
    let held = driver.claims.held(&who);
    let asks = asks(&driver.now(), &held, &name, &allocated)?;
    let given = driver.claims.give(&who, &asks).await.map_err(|why| why.shown())?;
    answer(&given)
}

/// What belongs together in one ask: a request's devices of one resource.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    tag: ClaimTag,
    resource: ResourceName,
}

/// What to ask for: what the agent says, as far as it can be so.
fn asks(now: &Inventory, held: &[Claim], name: &ClaimName, allocated: &[Allocated]) -> Result<Vec<Ask>, String> {
    let first = allocated.first().ok_or("it was given no device of this driver on this node")?;
    if allocated.len() > MAX_DEVICES {
        return Err(format!("it was given {} devices, more than there can be", allocated.len()));
    }
    let mut parts = BTreeMap::<Part, (Mode, BTreeSet<String>)>::new();
    for device in allocated {
        let shown = escape(&device.device, MAX_NAME);
        let request = device.request.split('/').next().unwrap_or_default();
        if device.pool != first.pool {
            return Err(format!("device {shown}: is in another pool than the others"));
        }
        let Some((resource, id)) = find(now, held, &device.device) else {
            return Err(format!("device {shown}: there is none of this name"));
        };
        if device.admin && !now.driver.admin {
            let request = escape(request, MAX_NAME);
            return Err(format!(
                "request {request}: asks for admin access, which the policy refuses (dra.admin-access)"
            ));
        }
        let ClaimName { namespace, name } = name.clone();
        let (request, pool, share) = (request.to_owned(), device.pool.clone(), device.share.clone());
        let tag = ClaimTag { request, pool, namespace, name, share };
        if !tag.is_good() {
            return Err(format!("device {shown}: the names of its request, pool or share are none of the API's"));
        }
        let mode = if device.admin { Mode::Observe } else { Mode::Hold };
        let part = parts.entry(Part { tag, resource }).or_insert_with(|| (mode, BTreeSet::new()));
        if part.0 != mode {
            return Err(format!("device {shown}: has admin access, and others of its request do not"));
        }
        part.1.insert(id);
    }
    let ask = |(Part { tag, resource }, (mode, ids)): (Part, (Mode, BTreeSet<String>))| Ask {
        resource,
        ids: ids.into_iter().collect(),
        share: tag.share.clone(),
        mode,
        tag: tag.to_string(),
    };
    Ok(parts.into_iter().map(ask).collect())
}

/// The device of a name: one that there is, or that the claim has already.
fn find(now: &Inventory, held: &[Claim], name: &str) -> Option<(ResourceName, String)> {
    if let Some(Listed { resource, id, .. }) = now.device(name) {
        return Some((resource.clone(), id.clone()));
    }
    held.iter().find_map(|claim| {
        let device = claim.devices.iter().find(|device| device.name == name)?;
        Some((claim.resource.clone(), device.id.clone()))
    })
}

/// What the kubelet is told.
fn answer(claims: &[Claim]) -> Result<Vec<dra::Device>, String> {
    let mut all = Vec::new();
    for claim in claims {
        let tag = claim.tag.as_ref().ok_or("another version of devgate has noted what it has; delete its pods")?;
        all.extend(claim.devices.iter().map(|device| dra::Device {
            request_names: vec![tag.request.clone()],
            pool_name: tag.pool.clone(),
            device_name: device.name.clone(),
            cdi_device_ids: device.cdi.clone(),
        }));
    }
    Ok(all)
}
