//! Everything that belongs to one artifact, and whether it is what its digest says.

use crate::archive;
use crate::manifest::{Manifest, NotUsable, Packed};
use crate::signature::Signed;
use devgate_types::{ByteSize, Digest};

/// What was pulled, or is kept. Nothing in it is believed before [`Entry::component`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The manifest, behind an index if that is what the digest names.
    pub(crate) manifests: Vec<Vec<u8>>,
    pub(crate) layer: Vec<u8>,
    pub(crate) signatures: Vec<Signed>,
}

/// An index, and what it has one of.
pub(crate) const MAX_MANIFESTS: usize = 2;

/// The layer that a chain of manifests leads to from this digest, or the next manifest that is missing. Fails when one is other bytes than
/// its digest says, or names no component of at most `most` bytes.
pub fn follow(manifests: &[Vec<u8>], from: Digest, most: ByteSize) -> Result<Next, NotUsable> {
    let mut wanted = from;
    for bytes in manifests.iter().take(MAX_MANIFESTS) {
        if crate::digest(bytes) != wanted {
            return Err(NotUsable("has a manifest with other bytes than its digest says".to_owned()));
        }
        match Manifest::read(bytes, most)? {
            Manifest::One(layer, packed) => {
                return Ok(Next::Layer { digest: layer.sha256()?, size: layer.size, packed });
            }
            Manifest::Other(next) => wanted = next.sha256()?,
        }
    }
    if manifests.len() >= MAX_MANIFESTS {
        return Err(NotUsable("is an index of an index; name the digest of the artifact that is meant".to_owned()));
    }
    Ok(Next::Manifest(wanted))
}

/// What comes next on the way to a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A manifest.
    Manifest(Digest),
    /// The component's layer.
    Layer {
        /// What it is.
        digest: Digest,
        /// Its bytes.
        size: u64,
        /// How the component lies in it.
        packed: Packed,
    },
}

impl Entry {
    /// The component, if everything on the way to it is what its digest says.
    pub(crate) fn component(&self, digest: Digest, most: ByteSize) -> Result<Vec<u8>, NotUsable> {
        let Next::Layer { digest, packed, .. } = follow(&self.manifests, digest, most)? else {
            return Err(NotUsable("is not whole".to_owned()));
        };
        if crate::digest(&self.layer) != digest {
            return Err(NotUsable("has a layer with other bytes than its manifest says".to_owned()));
        }
        archive::component(&self.layer, packed, most).map(std::borrow::Cow::into_owned)
    }

    /// Its bytes, for what it takes of a disk.
    pub(crate) fn size(&self) -> usize {
        let signatures = self.signatures.iter().map(Signed::len);
        self.manifests.iter().map(Vec::len).sum::<usize>() + self.layer.len() + signatures.sum::<usize>()
    }
}
