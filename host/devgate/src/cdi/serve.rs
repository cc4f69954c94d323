//! The host's side of `devgate cdi`: what root asks for over the local socket.

use super::{Ended, Release, Renewal};
use crate::monitoring::{NO_PAGE, Serving};
use devgate_cdi::{LeaseError, LeaseRequest, NotGiven};
use devgate_core::offer::AllocateError;
use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use hyper::body::Incoming;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The most bytes that are asked with.
const MAX_BODY: usize = 1 << 20;

/// What is said, with its status.
type Said = (StatusCode, String);

/// Does what is asked for under a path.
pub(crate) async fn answer(path: &str, body: Incoming, serving: &Serving) -> Said {
    done(path, body, serving).await.map_or_else(|refused| refused, |text| (StatusCode::OK, text))
}

async fn done(path: &str, body: Incoming, serving: &Serving) -> Result<String, Said> {
    let leases = &serving.leases;
    match path {
        "/cdi/lease" => {
            let request: LeaseRequest = read(body).await?;
            json(&leases.lease(&request).await.map_err(refused)?)
        }
        "/cdi/release" => {
            let Release { name } = read(body).await?;
            let ended = leases.release(&name).await.map_err(refused)?;
            json(&Ended { was_there: ended.is_some(), dirty: ended.unwrap_or_default() })
        }
        "/cdi/renew" => {
            let Renewal { name, ttl } = read(body).await?;
            json(&leases.renew(&name, ttl.map(Duration::from_secs)).map_err(refused)?)
        }
        "/cdi/leases" => json(&leases.list()),
        "/cdi/exec" => json(&serving.requests.answer(&read(body).await?).await),
        _ => Err((StatusCode::NOT_FOUND, NO_PAGE.to_owned())),
    }
}

async fn read<T: DeserializeOwned>(body: Incoming) -> Result<T, Said> {
    let bad = |why: String| (StatusCode::BAD_REQUEST, why);
    let body = Limited::new(body, MAX_BODY).collect().await;
    let bytes = body.map_err(|error| bad(error.to_string()))?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
}

fn json(what: &impl Serialize) -> Result<String, Said> {
    let failed = |error: serde_json::Error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    serde_json::to_string(what).map_err(failed)
}

fn refused(why: LeaseError) -> Said {
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
