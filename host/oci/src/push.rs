//! Pushing a component: an artifact in the CNCF's layout, the same bytes for the same component.

use crate::error::Error;
use crate::http::{Registries, Session};
use crate::manifest::{CONFIG, Descriptor, LAYER, MANIFEST};
use crate::progress::Progress;
use crate::pull::wait;
use devgate_types::{Digest, PinnedReference, Reference};
use reqwest::StatusCode;
use reqwest::header::LOCATION;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is said of a component besides its bytes.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Names of what it imports.
    pub imports: Vec<String>,
    /// Names of what it exports.
    pub exports: Vec<String>,
    /// Who is responsible for it.
    pub author: Option<String>,
    /// Annotations of the manifest, such as `org.opencontainers.image.version`.
    pub annotations: BTreeMap<String, String>,
}

/// A component as an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    config: Vec<u8>,
    layer: Vec<u8>,
    manifest: Vec<u8>,
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
    config: Descriptor,
    layers: [Descriptor; 1],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: &'a BTreeMap<String, String>,
}

impl Artifact {
    /// Makes an artifact of a component. The layout wants a time of creation: it is the beginning of all times, so that the same
    /// component has the same digest whenever it is pushed.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn new(component: Vec<u8>, about: &About) -> Result<Self, Error> {
        let failed = |error: serde_json::Error| Error::Host(format!("artifact: {error}"));
        let layer = Descriptor::of(LAYER, &component);
        let config = Config {
            created: "1970-01-01T00:00:00Z",
            author: about.author.as_deref(),
            architecture: "wasm",
            os: "wasip2",
            layer_digests: [layer.digest.clone()],
            component: Component {
                exports: &about.exports,
                imports: &about.imports,
            },
        };
        let config = serde_json::to_vec(&config).map_err(failed)?;
        let manifest = Manifest {
            schema_version: 2,
            media_type: MANIFEST,
            config: Descriptor::of(CONFIG, &config),
            layers: [layer],
            annotations: &about.annotations,
        };
        let manifest = serde_json::to_vec(&manifest).map_err(failed)?;
        Ok(Self {
            config,
            layer: component,
            manifest,
        })
    }

    /// What it is named by.
    #[must_use]
    pub fn digest(&self) -> Digest {
        crate::digest(&self.manifest)
    }
}

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// What to write into a policy.
    pub reference: PinnedReference,
    /// Whether the tag was given to this very artifact before.
    pub was_there: bool,
}

impl Registries {
    /// Pushes an artifact, and gives it the tag.
    ///
    /// # Errors
    /// When the tag is given to something else and `replace` is not set, when there is no tag, or when the registry cannot be asked.
    pub fn push(
        &self,
        artifact: &Artifact,
        to: &Reference,
        replace: bool,
        progress: &Progress,
    ) -> Result<Pushed, Error> {
        let Some(tag) = &to.tag else {
            return Err(Error::Refused(format!(
                "{to}: has no tag; write one behind it, such as :1.2.0"
            )));
        };
        let pinned = to.clone().pinned_to(artifact.digest());
        if to.digest.is_some_and(|digest| digest != pinned.digest) {
            return Err(Error::Refused(format!(
                "{to}: this component has another digest, {}",
                pinned.digest
            )));
        }
        wait(async {
            let mut session = self.session(&to.repository, true)?;
            let there = session.manifest(tag).await?.map(|manifest| crate::digest(&manifest));
            if there == Some(pinned.digest) {
                return Ok(Pushed {
                    reference: pinned.clone(),
                    was_there: true,
                });
            }
            if let Some(other) = there.filter(|_| !replace) {
                return Err(Error::Refused(format!(
                    "{to}: the tag is given to {other}; push with another tag, or with --replace to take it away from that"
                )));
            }
            progress.begin(u64::try_from(artifact.layer.len()).unwrap_or(0));
            session.push_blob(&artifact.config).await?;
            session.push_blob(&artifact.layer).await?;
            progress.add(artifact.layer.len());
            session.push_manifest(tag, &artifact.manifest).await?;
            Ok(Pushed {
                reference: pinned.clone(),
                was_there: false,
            })
        })
    }
}

impl Session {
    /// Sends a blob, unless the registry has it (OCI distribution specification 1.1, "Pushing blobs").
    async fn push_blob(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let digest = crate::digest(bytes);
        let url = self.url(&format!("blobs/{digest}"))?;
        let there = self.send(|client| client.head(url.clone())).await?;
        if there.status().is_success() {
            return Ok(());
        }
        let url = self.url("blobs/uploads/")?;
        let begun = self
            .send(|client| client.post(url.clone()).header("Content-Length", 0))
            .await?;
        let location = begun.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let location = location.ok_or_else(|| self.host("its registry gave no address to push to"))?;
        let mut url = self.given(location)?;
        url.query_pairs_mut().append_pair("digest", &digest.to_string());
        let bytes = bytes.to_vec();
        let put = |client: &reqwest::Client| {
            let request = client
                .put(url.clone())
                .header("Content-Type", "application/octet-stream");
            request.body(bytes.clone())
        };
        let sent = self.send(put).await?;
        self.made(sent.status(), "a blob")
    }

    async fn push_manifest(&mut self, tag: &str, manifest: &[u8]) -> Result<(), Error> {
        let url = self.url(&format!("manifests/{tag}"))?;
        let put = |client: &reqwest::Client| {
            let request = client.put(url.clone()).header("Content-Type", MANIFEST);
            request.body(manifest.to_vec())
        };
        let sent = self.send(put).await?;
        self.made(sent.status(), "the manifest")
    }

    fn made(&self, status: StatusCode, what: &str) -> Result<(), Error> {
        if status.is_success() {
            return Ok(());
        }
        Err(self.host(&format!("its registry did not take {what} ({status})")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_types::ByteSize;

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
        let entry = crate::entry::Entry {
            manifests: vec![artifact.manifest.clone()],
            layer: artifact.layer.clone(),
            signatures: Vec::new(),
        };
        assert_eq!(
            entry.component(artifact.digest(), ByteSize::kib(1)).unwrap(),
            b"component"
        );
        assert!(entry.component(artifact.digest(), ByteSize(8)).is_err());
        assert!(entry.component(Digest([0; 32]), ByteSize::kib(1)).is_err());
    }

    #[test]
    fn a_push_without_a_tag_or_to_another_digest_is_refused_before_anything_is_asked() {
        let artifact = Artifact::new(b"component".to_vec(), &about()).unwrap();
        let push = |to: &str| {
            let to = to.parse().unwrap();
            Registries::default()
                .push(&artifact, &to, false, &Progress::default())
                .unwrap_err()
        };
        insta::assert_snapshot!(push("registry.invalid/a"), @"registry.invalid/a: has no tag; write one behind it, such as :1.2.0");
        let error = push(&format!("registry.invalid/a:1@{}", Digest([0; 32]))).to_string();
        assert!(error.contains("this component has another digest, sha256:"), "{error}");
    }
}
