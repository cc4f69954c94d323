//! A folder in the OCI image layout, which skopeo, oras and cosign take to any registry.

use super::upload::{Pushed, checked};
use super::{Artifact, Raw, sign as signing};
use crate::signing_key::SigningKey;
use anyhow::{Context, bail};
use devgate::exit;
use devgate::transfer::coded;
use devgate_oci::manifest::{INDEX, MANIFEST};
use devgate_oci::{Descriptor, Error};
use devgate_types::{PinnedReference, Reference};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Where an index has an artifact's name.
const NAME: &str = "org.opencontainers.image.ref.name";

/// Refuses a folder that has something in it: what is there is not written over.
pub(crate) fn must_be_empty(folder: &Path) -> anyhow::Result<()> {
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Ok(false) => {
            let why = "has something in it; name another folder (--layout)";
            bail!(exit::with_code(exit::USAGE, format!("layout {}: {why}", folder.display())))
        }
        Err(error) => Err(error).with_context(|| format!("layout {}", folder.display())),
    }
}

/// Writes an artifact there, under a name, beside what has other names.
pub(crate) fn write(folder: &Path, name: &str, artifact: &Artifact) -> anyhow::Result<()> {
    let mut manifests = manifests(folder)?;
    let blobs = folder.join("blobs/sha256");
    let named = |path: &Path| format!("write {}", path.display());
    fs::create_dir_all(&blobs).with_context(|| named(&blobs))?;
    for blob in [&artifact.config, &artifact.layer, &artifact.manifest] {
        let file = blobs.join(devgate_oci::digest(blob).hex());
        fs::write(&file, blob).with_context(|| named(&file))?;
    }
    let mut one = Descriptor::of(MANIFEST, &artifact.manifest);
    one.annotations = Some([(NAME.to_owned(), name.to_owned())].into());
    manifests.retain(|other| !is_named(other, name));
    manifests.push(json!(one));
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests});
    for (name, text) in [("index.json", index), ("oci-layout", json!({"imageLayoutVersion": "1.0.0"}))] {
        let file = folder.join(name);
        fs::write(&file, text.to_string()).with_context(|| named(&file))?;
    }
    Ok(())
}

/// Writes an artifact there, in place of pushing it: under its repository's name and tag, without the registry.
pub(crate) fn push(folder: &Path, artifact: &Artifact, to: &Reference) -> anyhow::Result<Pushed> {
    let (reference, tag) = checked(artifact, to).map_err(coded)?;
    if !folder.join("oci-layout").exists() {
        must_be_empty(folder)?;
    }
    let name = format!("{}:{tag}", to.repository.name);
    let digest = Value::from(reference.digest.to_string());
    let is_it = |other: &Value| is_named(other, &name) && other.get("digest") == Some(&digest);
    let was_there = manifests(folder)?.iter().any(is_it);
    write(folder, &name, artifact)?;
    Ok(Pushed { reference, was_there })
}

/// Puts a signature beside an artifact, and leaves those that are there.
pub(crate) fn sign(folder: &Path, artifact: &PinnedReference, key: &SigningKey) -> anyhow::Result<()> {
    let name = format!("{}:{}", artifact.repository.name, signing::tag(artifact));
    let manifests = manifests(folder)?;
    let there = manifests.iter().find(|other| is_named(other, &name)).and_then(|other| other.get("digest")?.as_str());
    let there = there.and_then(|digest| digest.strip_prefix("sha256:"));
    let there = match there.map(|hex| folder.join("blobs/sha256").join(hex)) {
        Some(file) => fs::read(&file).with_context(|| format!("read {}", file.display()))?,
        None => Vec::new(),
    };
    let signatures = signing::added(artifact, key, Raw::read(&there).layers).map_err(coded)?;
    write(folder, &name, &signatures)
}

/// What the folder has; nothing where there is none.
fn manifests(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let file = folder.join("index.json");
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("read {}", file.display())),
    };
    let index: Value = serde_json::from_slice(&text).with_context(|| format!("layout {}", folder.display()))?;
    let manifests = index.get("manifests").and_then(Value::as_array);
    let none = || Error::Refused(format!("layout {}: its index.json lists no manifests", folder.display()));
    Ok(manifests.ok_or_else(none).map_err(coded)?.clone())
}

fn is_named(manifest: &Value, name: &str) -> bool {
    manifest.get("annotations").and_then(|all| all.get(NAME)).and_then(Value::as_str) == Some(name)
}
