//! A folder in the OCI image layout, which skopeo, oras and cosign take to any registry.

use crate::registry::Artifact;
use anyhow::{Context, bail};
use devgate::exit;
use devgate_oci::Descriptor;
use devgate_oci::manifest::{INDEX, MANIFEST};
use serde_json::json;
use std::fs;
use std::path::Path;

/// Refuses a folder that has something in it: what is there is not written over.
pub(super) fn must_be_empty(folder: &Path) -> anyhow::Result<()> {
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

/// Writes an artifact there, under the name `latest`.
pub(super) fn write(folder: &Path, artifact: &Artifact) -> anyhow::Result<()> {
    let blobs = folder.join("blobs/sha256");
    let named = |path: &Path| format!("write {}", path.display());
    fs::create_dir_all(&blobs).with_context(|| named(&blobs))?;
    for blob in [&artifact.config, &artifact.layer, &artifact.manifest] {
        let file = blobs.join(devgate_oci::digest(blob).hex());
        fs::write(&file, blob).with_context(|| named(&file))?;
    }
    let mut one = Descriptor::of(MANIFEST, &artifact.manifest);
    one.annotations = Some([("org.opencontainers.image.ref.name".to_owned(), "latest".to_owned())].into());
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [one]});
    for (name, text) in [("index.json", index), ("oci-layout", json!({"imageLayoutVersion": "1.0.0"}))] {
        let file = folder.join(name);
        fs::write(&file, text.to_string()).with_context(|| named(&file))?;
    }
    Ok(())
}
