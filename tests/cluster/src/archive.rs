//! Images of files of this machine, as archives that containerd reads.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Writes an image whose root has these files (path in the image, file here), each executable.
///
/// # Errors
/// Where a file cannot be read or written.
pub(crate) fn write(out: &Path, reference: &str, files: &[(&str, &Path)], entrypoint: &[&str]) -> Result<()> {
    let mut layer = tar::Builder::new(Vec::new());
    for (path, file) in files {
        let bytes = std::fs::read(file).with_context(|| format!("read {}", file.display()))?;
        add(&mut layer, path, &bytes)?;
    }
    let mut blobs = Vec::new();
    let layer = blob(&mut blobs, "layer.v1.tar", layer.into_inner()?);
    let config = json!({
        "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
        "os": "linux",
        "config": {"Entrypoint": entrypoint},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
    });
    let config = blob(&mut blobs, "config.v1+json", serde_json::to_vec(&config)?);
    let media = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({"schemaVersion": 2, "mediaType": media, "config": config, "layers": [layer]});
    let mut manifest = blob(&mut blobs, "manifest.v1+json", serde_json::to_vec(&manifest)?);
    if let Some(manifest) = manifest.as_object_mut() {
        manifest.insert("annotations".to_owned(), json!({"io.containerd.image.name": reference}));
    }
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    let mut archive = tar::Builder::new(Vec::new());
    add(&mut archive, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    add(&mut archive, "index.json", &serde_json::to_vec(&index)?)?;
    for (digest, bytes) in blobs {
        add(&mut archive, &format!("blobs/sha256/{digest}"), &bytes)?;
    }
    std::fs::write(out, archive.into_inner()?).with_context(|| format!("write {}", out.display()))
}

/// The SHA-256 of bytes, as digests are written.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn blob(blobs: &mut Vec<(String, Vec<u8>)>, kind: &str, bytes: Vec<u8>) -> Value {
    let digest = digest(&bytes);
    let descriptor = json!({
        "mediaType": format!("application/vnd.oci.image.{kind}"),
        "digest": format!("sha256:{digest}"),
        "size": bytes.len(),
    });
    blobs.push((digest, bytes));
    descriptor
}

fn add(archive: &mut tar::Builder<Vec<u8>>, path: &str, bytes: &[u8]) -> Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(u64::try_from(bytes.len())?);
    header.set_mode(0o755);
    archive.append_data(&mut header, path, bytes)?;
    Ok(())
}
