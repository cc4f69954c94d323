//! Where a plugin's component comes from.

use crate::error::Problem;
use crate::fields::Item;
use crate::key;
use devgate_types::{Digest, PinnedReference, Reference, escape};

/// The most keys of one component.
const MAX_KEYS: usize = 8;

/// Where a plugin's component comes from: `component:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComponentSource {
    /// A file.
    File {
        /// Relative to the directory of components; without `..`.
        path: String,
        /// The SHA-256 digest that the file must have.
        sha256: Option<[u8; 32]>,
    },
    /// An artifact in a registry.
    Oci(PinnedReference),
}

/// A component, and files with public keys, of which one must fit; nothing where no signature is asked for.
pub(crate) fn read(item: &Item<'_>, plugin: &str) -> Option<(ComponentSource, Option<Vec<String>>)> {
    let place = format!("component of {plugin}");
    let fields = item.open(&place, &key::COMPONENT)?;
    let cosign_keys = fields.get("signature").map(|item| keys(&item, plugin));
    if let Some(oci) = fields.get("oci") {
        for (other, why) in
            [("file", ": a component comes from one place"), ("sha256", ", whose digest says what is meant")]
        {
            if let Some(item) = fields.get(other) {
                item.error(format!("must not be there beside \"oci\"{why}"));
            }
        }
        return Some((ComponentSource::Oci(oci.parse(artifact)?), cosign_keys));
    }
    if fields.get("file").is_none() {
        fields.error(format!("{place} has neither \"file\" nor \"oci\""));
    }
    let path = fields.get("file").and_then(|item| item.parse(file));
    let sha256 = fields.get("sha256").and_then(|item| item.parse(digest));
    Some((ComponentSource::File { path: path?, sha256 }, cosign_keys))
}

fn artifact(text: &str) -> Result<PinnedReference, Problem> {
    let shown = escape(text, 120);
    let reference = text.parse::<Reference>();
    let reference = reference.map_err(|error| Problem(format!("{error}; it is \"{shown}\"")))?;
    reference.pinned().ok_or_else(|| {
        Problem(format!(
            "must have the digest of what is meant, such as {shown}@sha256:9f2c…, because a tag can be given to something else; \
             `devgate pull {shown}` prints it"
        ))
    })
}

fn digest(text: &str) -> Result<[u8; 32], Problem> {
    let digest = Digest::from_hex(text).map(|digest| digest.0);
    digest.ok_or_else(|| {
        let shown = escape(text, 72);
        Problem(format!("must be 64 hexadecimal digits, as sha256sum prints them, not \"{shown}\""))
    })
}

fn keys(item: &Item<'_>, plugin: &str) -> Vec<String> {
    let place = format!("signature of {plugin}");
    let fields = item.open(&place, &key::SIGNATURE);
    let Some(item) = fields.and_then(|fields| fields.need("cosign-key")) else {
        return Vec::new();
    };
    let files = item.each(usize::MAX, file);
    if files.len() > MAX_KEYS {
        item.error(format!("must have at most {MAX_KEYS} keys, not {}", files.len()));
    }
    files
}

fn file(text: &str) -> Result<String, Problem> {
    let plain = !text.split('/').any(|component| matches!(component, "" | "." | ".."));
    if plain && !text.contains(char::is_control) {
        return Ok(text.to_owned());
    }
    let shown = escape(text, 80);
    Err(Problem(format!(
        "must be a path in the directory of components, not absolute and without \"..\", not \"{shown}\""
    )))
}
