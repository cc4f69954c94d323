//! What was taken of a puller's answers: no more than was asked for, in the order in which each part can be checked.

use super::{Ended, nonsense};
use crate::cache::MAX_MANIFEST;
use crate::entry::{Entry, Next, follow};
use crate::error::Error;
use crate::progress::Progress;
use crate::signature::{MAX_SIGNATURE, MAX_SIGNATURES, Signed, check};
use crate::store::Wanted;
use devgate_types::PinnedReference;

/// As many as are read of a registry in both places.
const MAX_OF_BOTH: usize = 2 * MAX_SIGNATURES;
/// A payload, its signature and a bundle.
const LARGEST: u64 = 2 * MAX_SIGNATURE;

pub(super) struct Taken<'a> {
    pub(super) entry: Entry,
    what: What<'a>,
}

enum What<'a> {
    /// One manifest, whichever it is.
    Manifest,
    Artifact {
        reference: &'a PinnedReference,
        wanted: Wanted<'a>,
        progress: &'a Progress,
        /// The bytes of the layer, once a manifest says it.
        layer: Option<u64>,
    },
    Signatures,
}

impl<'a> Taken<'a> {
    pub(super) fn manifest() -> Self {
        Self::new(What::Manifest)
    }

    pub(super) fn signatures() -> Self {
        Self::new(What::Signatures)
    }

    pub(super) fn artifact(reference: &'a PinnedReference, wanted: Wanted<'a>, progress: &'a Progress) -> Self {
        Self::new(What::Artifact { reference, wanted, progress, layer: None })
    }

    fn new(what: What<'a>) -> Self {
        let entry = Entry::default();
        Self { entry, what }
    }

    pub(super) fn manifest_is(&mut self, bytes: Vec<u8>) -> Result<(), Ended> {
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_MANIFEST {
            return Err(nonsense("a manifest that is too long"));
        }
        self.entry.manifests.push(bytes);
        match &mut self.what {
            What::Manifest if self.entry.manifests.len() == 1 => Ok(()),
            What::Artifact { reference, wanted, layer, .. } if layer.is_none() => {
                let next = follow(&self.entry.manifests, reference.digest, wanted.most);
                let next = next.map_err(|why| Error::Refused(format!("{reference}: {why}")))?;
                if let Next::Layer { size, .. } = next {
                    *layer = Some(size);
                }
                Ok(())
            }
            _ => Err(nonsense("a manifest that was not asked for")),
        }
    }

    pub(super) fn signature_is(&mut self, signed: Signed) -> Result<(), Ended> {
        let is_asked = match &self.what {
            What::Manifest => false,
            What::Artifact { wanted, .. } => wanted.keys.is_some() && self.entry.layer.is_empty(),
            What::Signatures => true,
        };
        if !is_asked || self.entry.signatures.len() >= MAX_OF_BOTH {
            return Err(nonsense("a signature that was not asked for"));
        }
        if u64::try_from(signed.len()).unwrap_or(u64::MAX) > LARGEST {
            return Err(nonsense("a signature that is too long"));
        }
        self.entry.signatures.push(signed);
        Ok(())
    }

    pub(super) fn piece_is(&mut self, bytes: &[u8]) -> Result<(), Ended> {
        let What::Artifact { reference, wanted, progress, layer: Some(size) } = &self.what else {
            return Err(nonsense("a piece of a layer that was not asked for"));
        };
        let come = &mut self.entry.layer;
        // Before anything of it is taken: a layer whose artifact is not signed is none.
        if come.is_empty() {
            if let Some(keys) = wanted.keys {
                let checked = check(&self.entry.signatures, keys, &reference.digest);
                checked.map_err(|why| Error::Refused(format!("{reference}: {why}")))?;
            }
            progress.begin(*size);
        }
        let length = u64::try_from(come.len().saturating_add(bytes.len())).unwrap_or(u64::MAX);
        if bytes.is_empty() || length > *size {
            return Err(nonsense("more of the layer than its manifest says"));
        }
        come.extend_from_slice(bytes);
        progress.add(bytes.len());
        Ok(())
    }
}
