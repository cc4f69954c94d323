//! Looking at what a registry has of an artifact and beside it, without fetching the artifact: for `devgatectl`.

use crate::beside::{FoundSignatures, Referrer};
use crate::session::Session;
use devgate_oci::child::{NotSigned, PAYLOAD, check};
use devgate_oci::{Descriptor, Error, PublicKey};
use devgate_types::Digest;

impl Session {
    /// What refers to an artifact, as far as a registry lists it.
    ///
    /// # Errors
    /// When the registry cannot be asked.
    pub async fn referring(&mut self, artifact: Digest) -> Result<Vec<Referrer>, Error> {
        self.referrers(artifact, &mut FoundSignatures::default()).await
    }

    /// How many signatures there are under the tag where cosign puts them; whose they are is not looked at.
    ///
    /// # Errors
    /// When the registry cannot be asked.
    pub async fn tagged_signatures(&mut self, artifact: Digest) -> Result<usize, Error> {
        let layers = self.layers(&format!("sha256-{}.sig", artifact.hex())).await?;
        Ok(layers.iter().filter(|layer| layer.media_type == PAYLOAD).count())
    }

    /// Whether one of the keys has signed an artifact.
    ///
    /// # Errors
    /// When none of the signatures that can be had convinces, and not all of them can be had.
    pub async fn signed_by(&mut self, artifact: Digest, keys: &[PublicKey]) -> Result<Result<(), NotSigned>, Error> {
        let signatures = self.signatures(artifact, keys).await?;
        Ok(check(&signatures, keys, &artifact))
    }

    /// A blob that is no larger than this.
    ///
    /// # Errors
    /// When it cannot be had, or is larger.
    pub async fn small(&mut self, blob: &Descriptor, most: u64) -> Result<Vec<u8>, Error> {
        let refused = |what: String| Error::Refused(self.host(&what).to_string());
        let digest = blob.sha256().map_err(|why| refused(why.to_string()))?;
        if blob.size > most {
            return Err(refused(format!(
                "{digest} has {} bytes, and {most} are the most that is read of it",
                blob.size
            )));
        }
        let mut bytes = Vec::new();
        let mut take = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Ok(())
        };
        self.blob(digest, blob.size, &mut take).await?;
        Ok(bytes)
    }
}
