//! What a manifest says, and which layer of it is the component.
//!
//! The form that `devgatectl push` makes is the CNCF's ("Wasm OCI Artifact layout", TAG Runtime, Wasm working group); older and plainer ones
//! are read.

use devgate_types::{ByteSize, Digest, escape};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The manifest of one artifact or image (OCI image specification 1.1, "Image Manifest").
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Several manifests (the same, "Image Index").
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// Docker's word for a manifest.
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// Docker's word for an index.
pub const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// What is known about a component before it is read.
pub const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// A component, as it is.
pub const LAYER: &str = "application/wasm";
/// The same, as it was called before the CNCF's layout.
const OLD_LAYER: &str = "application/vnd.wasm.content.layer.v1+wasm";
/// Layers of images: archives, and compressed ones.
const TAR: &[&str] = &["application/vnd.oci.image.layer.v1.tar"];
const TAR_GZIP: &[&str] =
    &["application/vnd.oci.image.layer.v1.tar+gzip", "application/vnd.docker.image.rootfs.diff.tar.gzip"];
/// How much of a name is shown.
const SHOWN: usize = 80;

/// Something that a registry has, by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What it is.
    pub media_type: String,
    /// Its digest, such as `sha256:9f2c…`.
    pub digest: String,
    /// Bytes.
    pub size: u64,
    /// What else is said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

impl Descriptor {
    /// That of these bytes.
    #[must_use]
    pub fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: crate::digest(bytes).to_string(),
            size: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            annotations: None,
        }
    }

    /// Its digest, where it is one that can be checked.
    pub fn sha256(&self) -> Result<Digest, NotUsable> {
        let wrong = || NotUsable(format!("names {}, which is no SHA-256 digest", escape(&self.digest, SHOWN)));
        self.digest.parse().map_err(|_| wrong())
    }
}

/// How a component lies in its layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    /// As it is.
    Plain,
    /// The one file of an archive.
    Tar,
    /// The one file of an archive that gzip compressed.
    TarGzip,
}

/// Why an artifact cannot be used: `has 3 layers; …`, without its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotUsable(pub(crate) String);

/// What a manifest's bytes say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manifest {
    /// One artifact: the layer with the component, and how it lies there.
    One(Descriptor, Packed),
    /// Another manifest that is meant: the only one of an index.
    Other(Descriptor),
}

/// A manifest or an index, as far as it matters here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    schema_version: u32,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
}

impl Manifest {
    /// Reads a manifest or an index. Fails when it is none, or names no single layer that may be a component of at most `most` bytes.
    pub fn read(bytes: &[u8], most: ByteSize) -> Result<Self, NotUsable> {
        let refuse = |why: String| Err(NotUsable(why));
        let raw: Raw =
            serde_json::from_slice(bytes).map_err(|_| NotUsable("has a manifest that cannot be read".to_owned()))?;
        if raw.schema_version != 2 {
            return refuse(format!("has a manifest of version {}, and only 2 is known", raw.schema_version));
        }
        match (raw.layers, raw.manifests) {
            (None, Some(manifests)) => match <[_; 1]>::try_from(manifests) {
                Ok([one]) => {
                    one.sha256()?;
                    Ok(Self::Other(one))
                }
                Err(several) => refuse(format!(
                    "is an index of {} artifacts; name the digest of the one that is meant",
                    several.len()
                )),
            },
            (Some(layers), None) => match <[_; 1]>::try_from(layers) {
                Ok([layer]) => Self::of_layer(layer, most),
                Err(several) => refuse(format!(
                    "has {} layers, and a component is one; push it with `devgatectl push`",
                    several.len()
                )),
            },
            _ => refuse("has a manifest that is neither an artifact's nor an index".to_owned()),
        }
    }

    fn of_layer(layer: Descriptor, most: ByteSize) -> Result<Self, NotUsable> {
        let packed = match layer.media_type.as_str() {
            LAYER | OLD_LAYER => Packed::Plain,
            archive if TAR.contains(&archive) => Packed::Tar,
            archive if TAR_GZIP.contains(&archive) => Packed::TarGzip,
            other => {
                let shown = escape(other, SHOWN);
                return Err(NotUsable(format!(
                    "has a layer of type {shown}, which is no component ({LAYER}); push it with `devgatectl push`"
                )));
            }
        };
        layer.sha256()?;
        let over = if packed == Packed::Plain { 0 } else { ARCHIVE };
        if layer.size > most.0.saturating_add(over) {
            return Err(NotUsable(format!("has {} bytes, more than {most} (limits.component-size)", layer.size)));
        }
        Ok(Self::One(layer, packed))
    }
}

/// What an archive may have besides its file: headers, padding and its end.
pub const ARCHIVE: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    fn read(text: &str) -> Result<Manifest, String> {
        let text = text.replace("HEX", HEX);
        Manifest::read(text.as_bytes(), ByteSize::kib(1)).map_err(|error| error.to_string())
    }

    fn layer(media_type: &str, size: u64) -> String {
        format!(r#"{{"mediaType": "{media_type}", "digest": "sha256:HEX", "size": {size}}}"#)
    }

    fn artifact(layers: &[String]) -> String {
        let layers = layers.join(", ");
        format!(r#"{{"schemaVersion": 2, "config": {{}}, "layers": [{layers}]}}"#)
    }

    #[test]
    fn a_component_is_found_in_every_form_that_is_pushed() {
        for (media_type, expected) in [
            (LAYER, Packed::Plain),
            (OLD_LAYER, Packed::Plain),
            ("application/vnd.oci.image.layer.v1.tar", Packed::Tar),
            ("application/vnd.oci.image.layer.v1.tar+gzip", Packed::TarGzip),
            ("application/vnd.docker.image.rootfs.diff.tar.gzip", Packed::TarGzip),
        ] {
            let Manifest::One(layer, packed) = read(&artifact(&[layer(media_type, 1_024)])).unwrap() else {
                panic!("{media_type}");
            };
            assert_eq!((packed, layer.sha256().unwrap().hex().as_str()), (expected, HEX));
        }
    }

    #[test]
    fn an_index_with_one_entry_is_that_entry() {
        let index = |entries: &[String]| format!(r#"{{"schemaVersion": 2, "manifests": [{}]}}"#, entries.join(", "));
        let entry = layer(MANIFEST, 300);
        assert!(matches!(read(&index(std::slice::from_ref(&entry))), Ok(Manifest::Other(_))));
        insta::assert_snapshot!(read(&index(&[entry.clone(), entry])).unwrap_err(), @"is an index of 2 artifacts; name the digest of the one that is meant");
        insta::assert_snapshot!(read(&index(&[])).unwrap_err(), @"is an index of 0 artifacts; name the digest of the one that is meant");
    }

    #[test]
    fn what_is_no_component_is_refused_with_what_to_do() {
        let one = |media_type: &str, size: u64| artifact(&[layer(media_type, size)]);
        let refused = |text: &str| read(text).unwrap_err();
        insta::assert_snapshot!(refused("{"), @"has a manifest that cannot be read");
        insta::assert_snapshot!(refused("[]"), @"has a manifest that cannot be read");
        insta::assert_snapshot!(refused(r#"{"schemaVersion": 1, "layers": []}"#), @"has a manifest of version 1, and only 2 is known");
        insta::assert_snapshot!(refused(r#"{"schemaVersion": 2}"#), @"has a manifest that is neither an artifact's nor an index");
        insta::assert_snapshot!(refused(r#"{"schemaVersion": 2, "layers": [], "manifests": []}"#), @"has a manifest that is neither an artifact's nor an index");
        insta::assert_snapshot!(refused(&artifact(&[])), @"has 0 layers, and a component is one; push it with `devgatectl push`");
        insta::assert_snapshot!(refused(&one("text/plain\\u001b[31m", 1)), @r"has a layer of type text/plain\u{1b}[31m, which is no component (application/wasm); push it with `devgatectl push`");
        insta::assert_snapshot!(refused(&one(LAYER, 1_025)), @"has 1025 bytes, more than 1KiB (limits.component-size)");
        let other = one(LAYER, 1).replace("sha256:HEX", "sha512:12");
        insta::assert_snapshot!(refused(&other), @"names sha512:12, which is no SHA-256 digest");
    }
}
