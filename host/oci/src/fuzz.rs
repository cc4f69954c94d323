//! What is read of a registry's answers and of an admin's files, without either: what `tests/fuzz` calls, and nothing else.

use crate::manifest::{NotUsable, Packed};
use crate::signature::{NotSigned, PublicKey, Signed, check};
use crate::{Error, archive, credentials};
use devgate_types::{ByteSize, Digest, Repository};
use std::path::Path;

/// The component in a layer.
pub fn component(layer: &[u8], packed: Packed, most: ByteSize) -> Result<Vec<u8>, NotUsable> {
    archive::component(layer, packed, most).map(std::borrow::Cow::into_owned)
}

/// Whether one of the keys has signed an artifact, by what a registry has beside it: a bundle, or a payload and its signature.
pub fn signed(
    bundle: String,
    simple: (String, String),
    keys: &[PublicKey],
    artifact: &Digest,
) -> Result<(), NotSigned> {
    let (payload, signature) = simple;
    let all = [Signed::Bundle { bundle }, Signed::Simple { payload, signature }];
    check(&all, keys, artifact)
}

/// Whether a file of credentials can be read.
pub fn credentials(file: &Path, repository: &Repository) -> Result<(), Error> {
    credentials::of(Some(file), repository).map(drop)
}
