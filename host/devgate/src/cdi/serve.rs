//! The host's side of `devgate cdi`: what root asks for over the local socket.

use super::{Ended, Release, Renewal};
use crate::monitoring::Serving;
use devgate_cdi::exec::Requests;
use devgate_cdi::{LeaseError, LeaseRequest, Leases, NotGiven};
use devgate_core::offer::AllocateError;
use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use hyper::body::Incoming;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The most bytes that are asked with.
const MAX_BODY: usize = 1 << 20;

/// Does what is asked for under a path: nothing where there is no such path.
pub(crate) async fn answer(path: &str, body: Incoming, serving: &Serving) -> Option<(StatusCode, String)> {
    let leases = &serving.leases;
    let answered = match path {
        "/cdi/lease" => lease(body, leases).await,
        "/cdi/release" => release(body, leases).await,
        "/cdi/renew" => renew(body, leases).await,
        "/cdi/leases" => json(&leases.list()),
        "/cdi/exec" => exec(body, &serving.requests).await,
        _ => return None,
    };
    Some(answered.map_or_else(|refused| refused, |text| (StatusCode::OK, text)))
}

type Answer = Result<String, (StatusCode, String)>;

async fn lease(body: Incoming, leases: &Leases) -> Answer {
    let request: LeaseRequest = read(body).await?;
    json(&leases.lease(&request).await.map_err(refused)?)
}

async fn release(body: Incoming, leases: &Leases) -> Answer {
    let request: Release = read(body).await?;
    let ended = leases.release(&request.name).await.map_err(refused)?;
    json(&Ended { was_there: ended.is_some(), dirty: ended.unwrap_or_default() })
}

async fn renew(body: Incoming, leases: &Leases) -> Answer {
    let request: Renewal = read(body).await?;
    let ttl = request.ttl.map(Duration::from_secs);
    json(&leases.renew(&request.name, ttl).map_err(refused)?)
}

async fn exec(body: Incoming, requests: &Requests) -> Answer {
    json(&requests.answer(&read(body).await?).await)
}

async fn read<T: DeserializeOwned>(body: Incoming) -> Result<T, (StatusCode, String)> {
    let bad = |why: String| (StatusCode::BAD_REQUEST, why);
    let body = Limited::new(body, MAX_BODY).collect().await;
    let bytes = body.map_err(|error| bad(error.to_string()))?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
}

fn json(what: &impl Serialize) -> Answer {
    let failed = |error: serde_json::Error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    serde_json::to_string(what).map_err(failed)
}

fn refused(why: LeaseError) -> (StatusCode, String) {
    let code = match &why {
        LeaseError::Name(_) | LeaseError::Resource(_) | LeaseError::Count(..) => StatusCode::BAD_REQUEST,
        LeaseError::File(..)
        | LeaseError::NotGiven(NotGiven::Allocate(AllocateError::Host(_) | AllocateError::Guest(_))) => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
        _ => StatusCode::CONFLICT,
    };
    (code, why.to_string())
}
