//! A component as an artifact in the CNCF's layout, the same bytes for the same component; and what is no component as one.

use devgate_oci::manifest::{CONFIG, Descriptor, LAYER, MANIFEST};
use devgate_types::Digest;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

/// The configuration of what needs none (OCI image specification 1.1, "Guidance for an Empty Descriptor"), and an image's.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const NOTHING: &[u8] = b"{}";
const IMAGE_CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// What is said of a component besides its bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    /// Names of what it imports.
    pub(crate) imports: Vec<String>,
    /// Names of what it exports.
    pub(crate) exports: Vec<String>,
    /// Who is responsible for it.
    pub(crate) author: Option<String>,
    /// Annotations of the manifest, such as `org.opencontainers.image.version`.
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A component as an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Artifact {
    pub(crate) config: Vec<u8>,
    pub(crate) layer: Vec<u8>,
    pub(crate) manifest: Vec<u8>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    created: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<&'a str>,
    architecture: &'a str,
    os: &'a str,
    layer_digests: [String; 1],
    component: Component<'a>,
}

#[derive(Serialize)]
struct Component<'a> {
    exports: &'a [String],
    imports: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    schema_version: u32,
    media_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<&'a str>,
    config: Descriptor,
    layers: &'a [Descriptor],
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a Descriptor>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: &'a BTreeMap<String, String>,
}

/// A text that is no component: one about a component, or a list of them.
pub(crate) struct Document<'a> {
    /// What it is.
    pub(crate) kind: &'a str,
    /// The type of its text.
    pub(crate) media_type: &'a str,
    pub(crate) text: Vec<u8>,
    /// What it refers to, if it does.
    pub(crate) subject: Option<Descriptor>,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Artifact {
    /// Makes an artifact of a component. The layout wants a time of creation: it is the beginning of all times, so that the same
    /// component has the same digest whenever it is pushed.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub(crate) fn new(component: Vec<u8>, about: &About) -> Result<Self, serde_json::Error> {
        let layer = Descriptor::of(LAYER, &component);
        let config = Config {
            created: "1970-01-01T00:00:00Z",
            author: about.author.as_deref(),
            architecture: "wasm",
            os: "wasip2",
            layer_digests: [layer.digest.clone()],
            component: Component { exports: &about.exports, imports: &about.imports },
        };
        let config = serde_json::to_vec(&config)?;
        let manifest = Manifest {
            schema_version: 2,
            media_type: MANIFEST,
            artifact_type: None,
            config: Descriptor::of(CONFIG, &config),
            layers: &[layer],
            subject: None,
            annotations: &about.annotations,
        };
        let manifest = serde_json::to_vec(&manifest)?;
        Ok(Self { config, layer: component, manifest })
    }

    /// Makes an artifact of a document (OCI image specification 1.1, "Guidelines for Artifact Usage").
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub(crate) fn of_document(document: Document<'_>) -> Result<Self, serde_json::Error> {
        let manifest = Manifest {
            schema_version: 2,
            media_type: MANIFEST,
            artifact_type: Some(document.kind),
            config: Descriptor::of(EMPTY, NOTHING),
            layers: &[Descriptor::of(document.media_type, &document.text)],
            subject: document.subject.as_ref(),
            annotations: &document.annotations,
        };
        let manifest = serde_json::to_vec(&manifest)?;
        Ok(Self { config: NOTHING.to_vec(), layer: document.text, manifest })
    }

    /// Makes what cosign keeps signatures in, of which one is new (cosign, "Signature Specification").
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub(crate) fn of_signatures(new: Vec<u8>, layers: &[Descriptor]) -> Result<Self, serde_json::Error> {
        let digests: Vec<_> = layers.iter().map(|layer| &layer.digest).collect();
        let config =
            json!({"architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": digests}});
        let config = serde_json::to_vec(&config)?;
        let manifest = Manifest {
            schema_version: 2,
            media_type: MANIFEST,
            artifact_type: None,
            config: Descriptor::of(IMAGE_CONFIG, &config),
            layers,
            subject: None,
            annotations: &BTreeMap::new(),
        };
        let manifest = serde_json::to_vec(&manifest)?;
        Ok(Self { config, layer: new, manifest })
    }

    /// What it is named by.
    pub(crate) fn digest(&self) -> Digest {
        devgate_oci::digest(&self.manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_oci::{Manifest, Packed};
    use devgate_types::ByteSize;
    use serde_json::Value;

    fn about() -> About {
        About {
            imports: vec!["devgate:plugin/types@0.1.0".to_owned()],
            exports: vec!["devgate:plugin/plugin@0.1.0".to_owned()],
            author: Some("A Vendor".to_owned()),
            annotations: BTreeMap::from([("org.opencontainers.image.title".to_owned(), "vendor".to_owned())]),
        }
    }

    #[test]
    fn an_artifact_has_the_layout_and_always_the_same_bytes() {
        let artifact = Artifact::new(b"component".to_vec(), &about()).unwrap();
        insta::assert_snapshot!(String::from_utf8_lossy(&artifact.config), @r#"{"created":"1970-01-01T00:00:00Z","author":"A Vendor","architecture":"wasm","os":"wasip2","layerDigests":["sha256:6985ca1f4daa5a584a28eae043a239cb96689af1337ea13afb63e00c2bf512fa"],"component":{"exports":["devgate:plugin/plugin@0.1.0"],"imports":["devgate:plugin/types@0.1.0"]}}"#);
        insta::assert_snapshot!(String::from_utf8_lossy(&artifact.manifest), @r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":"sha256:feb5b51439746e7b09d69938c25380011ab075ec6b2a4cb491eac82fc9019a0b","size":278},"layers":[{"mediaType":"application/wasm","digest":"sha256:6985ca1f4daa5a584a28eae043a239cb96689af1337ea13afb63e00c2bf512fa","size":9}],"annotations":{"org.opencontainers.image.title":"vendor"}}"#);
        assert_eq!(Artifact::new(b"component".to_vec(), &about()).unwrap(), artifact);
        let other = Artifact::new(b"components".to_vec(), &about()).unwrap();
        assert_ne!(other.digest(), artifact.digest());
        // As a host reads it.
        let read = |most| Manifest::read(&artifact.manifest, most);
        let layer = Descriptor::of(LAYER, b"component");
        assert_eq!(read(ByteSize::kib(1)), Ok(Manifest::One(layer, Packed::Plain)));
        assert!(read(ByteSize(8)).is_err());
    }

    /// What oci-wasm 0.6 asks of an artifact, by which wkg 0.16 pulls: a configuration and one layer of these types, and in the
    /// configuration what it has no default for.
    #[test]
    fn wkg_takes_what_is_pushed_here() {
        let artifact = Artifact::new(b"component".to_vec(), &about()).unwrap();
        let read = |bytes| serde_json::from_slice::<Value>(bytes).unwrap();
        let (manifest, config) = (read(&artifact.manifest), read(&artifact.config));
        assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
        assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
        assert_eq!(manifest["layers"].as_array().map(Vec::len), Some(1));
        assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
        let created = config["created"].as_str().unwrap();
        assert!(humantime::parse_rfc3339(created).is_ok(), "{created}");
        assert_eq!((&config["architecture"], &config["os"]), (&json!("wasm"), &json!("wasip2")));
        assert_eq!(config["layerDigests"], json!([manifest["layers"][0]["digest"]]));
        let is_list =
            |key: &str| config["component"][key].as_array().is_some_and(|list| list.iter().all(Value::is_string));
        assert!(is_list("exports") && is_list("imports"), "{config}");
        let target = config["component"].get("target");
        assert!(target.is_none_or(Value::is_string) && config.get("author").is_none_or(Value::is_string), "{config}");
    }

    /// A manifest that wkg 0.16.1 made with `wkg oci push`.
    #[test]
    fn what_wkg_pushes_is_taken_here() {
        let theirs = br#"{"config":{"digest":"sha256:a2c4295bce91df6e9feac06a1da5eb0328630d8c6b64b6b2fd9c937cbc139d95","mediaType":"application/vnd.wasm.config.v0+json","size":453},"layers":[{"annotations":{"org.opencontainers.image.title":"generic.wasm"},"digest":"sha256:59a8a2b1682498612370737680397ea96a13a7ff77bc6d4931727ddfa27fbbf9","mediaType":"application/wasm","size":124882}],"mediaType":"application/vnd.oci.image.manifest.v1+json","schemaVersion":2}"#;
        let Ok(Manifest::One(layer, Packed::Plain)) = Manifest::read(theirs, ByteSize::mib(1)) else { panic!() };
        assert_eq!((layer.media_type.as_str(), layer.size), (LAYER, 124_882));
    }
}
