//! A claim of a pod that is to start, or has ended.

use crate::agent::NoAnswer;
use crate::asks::{NotAsked, asks};
use crate::config::ClaimName;
use crate::driver::Driver;
use devgate_agent_protocol::{Allocated, Claim as Answer};
use devgate_cdi::{Claim, ClaimError, FileError, is_claim_uid};
use devgate_core::offer::Parameters;
use devgate_core::{Consumer, Released};
use devgate_kubelet::api::dra;
use devgate_types::escape;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The most characters of what is shown of a name, and of an error.
const MAX_NAME: usize = 253;
const MAX_TEXT: usize = 1_024;

/// How long the agent may take where a claim has something, which it gets again without an answer.
const WHERE_HELD: Duration = Duration::from_secs(2);

/// Before each reason where a pod waits for a driver that left.
const LEFT: &str = "the policy has its driver no more: put that back, or delete the claim's pods: ";

/// Why a claim is not prepared.
#[derive(Debug, thiserror::Error)]
enum NotPrepared {
    #[error("it has a uid that none can have")]
    Uid,
    #[error("there is none of this uid, or it is not allocated")]
    Gone,
    #[error("the agent does not know it: {}", escape(.0, 512))]
    Unknown(String),
    #[error(
        "it or its class has parameters for this driver, which the policy refuses (dra.parameters): take `config` out of both, or allow them"
    )]
    Parameters,
    #[error("another version of devgate has noted what it has; delete its pods")]
    Tag,
    #[error(transparent)]
    Agent(#[from] NoAnswer),
    #[error(transparent)]
    NotAsked(#[from] NotAsked),
    #[error(transparent)]
    NotGiven(#[from] ClaimError),
    #[error(transparent)]
    NotEnded(#[from] FileError),
}

/// Has a claim's devices ready.
pub(crate) async fn prepare(driver: Arc<Driver>, claim: dra::Claim) -> dra::NodePrepareResourceResponse {
    match devices(&driver, &claim).await {
        Ok(devices) => dra::NodePrepareResourceResponse { devices, error: String::new() },
        Err(why) => {
            let left = if driver.is_published { "" } else { LEFT };
            let error = shown(&claim, &format!("{left}{why}"));
            driver.claim_fails(&error);
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
                driver.claim_fails(&shown(&claim, &why));
            }
            String::new()
        }
        Err(why) => {
            let error = shown(&claim, &why.to_string());
            driver.claim_fails(&error);
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

async fn devices(driver: &Driver, claim: &dra::Claim) -> Result<Vec<dra::Device>, NotPrepared> {
    if !is_claim_uid(&claim.uid) {
        return Err(NotPrepared::Uid);
    }
    let who = driver.consumer(&claim.uid);
    let name = ClaimName { namespace: claim.namespace.clone(), name: claim.name.clone() };
    let known = look_again(driver, &who, &name, &claim.uid).await;
    if let Some(Answer::Gone) = known {
        return Err(NotPrepared::Gone);
    }
    if let Some(Answer::Allocated { devices, .. }) = &known {
        let is_other = |held: &[Claim]| is_told(held) && !is_same(held, devices);
        driver.claims.end_where(&who, is_other).await?;
    }
    if let Some(had) = driver.claims.again(&who).await? {
        return answer(&had);
    }
    let known = match known {
        Some(known @ Answer::Allocated { .. }) => known,
        _ => driver.agent.claim(&driver.name, &name, &claim.uid).await?,
    };
    let (allocated, mut parameters) = match known {
        Answer::Allocated { devices, parameters } => (devices, parameters),
        Answer::Gone => return Err(NotPrepared::Gone),
        Answer::Unknown(why) => return Err(NotPrepared::Unknown(why)),
    };
    let now = driver.now();
    match now.driver.parameters {
        Parameters::Refuse if !parameters.is_empty() => return Err(NotPrepared::Parameters),
        Parameters::Refuse | Parameters::Ignore => parameters.clear(),
        Parameters::Component => {}
    }
    let held = driver.claims.held(&who);
    let asks = asks(&now, &held, &name, &allocated, &parameters)?;
    answer(&driver.claims.give(&who, &asks).await?)
}

/// What the agent says of a claim that has something, where it says so soon: it may be allocated anew, and its end have been missed.
/// Without an answer it has what it had.
async fn look_again(driver: &Driver, who: &Consumer, name: &ClaimName, uid: &str) -> Option<Answer> {
    if !is_told(&driver.claims.held(who)) || driver.agent.away().is_some() {
        return None;
    }
    driver.agent.claim_within(WHERE_HELD, &driver.name, name, uid).await.ok()
}

fn is_told(held: &[Claim]) -> bool {
    !held.is_empty() && held.iter().all(|claim| claim.told)
}

/// Whether a claim has just what it was given; what another version noted is not known to be anything else.
fn is_same<'a>(held: &'a [Claim], given: &'a [Allocated]) -> bool {
    let mut has = BTreeSet::new();
    for claim in held {
        let Some(tag) = &claim.tag else { return true };
        has.extend(claim.devices.iter().map(|device| (&*tag.request, &*device.name, tag.share.as_deref())));
    }
    let request = |of: &'a Allocated| of.request.split('/').next().unwrap_or_default();
    has == given.iter().map(|of| (request(of), &*of.device, of.share.as_deref())).collect()
}

/// What the kubelet is told.
fn answer(claims: &[Claim]) -> Result<Vec<dra::Device>, NotPrepared> {
    let mut all = Vec::new();
    for claim in claims {
        let tag = claim.tag.as_ref().ok_or(NotPrepared::Tag)?;
        all.extend(claim.devices.iter().map(|device| dra::Device {
            request_names: vec![tag.request.clone()],
            pool_name: tag.pool.clone(),
            device_name: device.name.clone(),
            cdi_device_ids: device.cdi.clone(),
            share_id: tag.share.clone(),
        }));
    }
    Ok(all)
}
