//! Envelopes of DSSE 1.0 with a statement of in-toto: what is said about an artifact, and who has signed that.

use super::{PublicKey, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// What an envelope has in it (in-toto attestation framework, "Envelope layer").
pub const STATEMENT: &str = "application/vnd.in-toto+json";

/// What an envelope states, whoever has signed it; `None` if it states nothing that can be read.
#[must_use]
pub fn stated(envelope: &Value) -> Option<Value> {
    statement(envelope, &payload(envelope)?)
}

/// What an envelope states, if one of the keys has signed that.
#[must_use]
pub fn signed(envelope: &Value, keys: &[PublicKey]) -> Option<Value> {
    let payload = payload(envelope)?;
    let message = to_be_signed(text(envelope, "/payloadType")?, &payload);
    let is_signed = |one: &Value| {
        let signature = text(one, "/sig").and_then(|sig| STANDARD.decode(sig).ok());
        signature.is_some_and(|signature| keys.iter().any(|key| key.has_signed(&message, &signature)))
    };
    // Only what a key has signed is worth reading.
    envelope.get("signatures")?.as_array()?.iter().any(is_signed).then_some(())?;
    statement(envelope, &payload)
}

fn payload(envelope: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(text(envelope, "/payload")?).ok()
}

fn statement(envelope: &Value, payload: &[u8]) -> Option<Value> {
    (text(envelope, "/payloadType")? == STATEMENT).then_some(())?;
    serde_json::from_slice(payload).ok()
}

/// The SHA-256 digests of what is stated about, in hexadecimal digits (in-toto attestation framework, "Statement layer").
pub fn subjects(statement: &Value) -> impl Iterator<Item = &str> {
    let subjects = statement.get("subject").and_then(Value::as_array);
    subjects.into_iter().flatten().filter_map(|subject| text(subject, "/digest/sha256"))
}

/// What an envelope's signature is over (DSSE 1.0, "Signature Definition").
#[must_use]
pub fn to_be_signed(kind: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len());
    [head.as_bytes(), payload].concat()
}
