//! Where a plugin's component comes from.

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::key;
use devgate_types::{Digest, PinnedReference, Reference, escape};

/// The most keys of one component.
const MOST_KEYS: usize = 8;

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

/// A component, and who must have signed it.
pub(crate) struct Component {
    pub(crate) source: ComponentSource,
    /// Files with public keys, of which one must fit; nothing where no signature is asked for.
    pub(crate) cosign_keys: Option<Vec<String>>,
}

impl Component {
    pub(crate) fn read(item: &Item<'_>, plugin: &str, report: &mut Report) -> Option<Self> {
        let place = format!("component of {plugin}");
        let fields = Fields::open(item.node, &place, &key::COMPONENT, report)?;
        let cosign_keys = fields.get("signature").map(|item| keys(&item, plugin, report));
        if let Some(oci) = fields.get("oci") {
            for (other, why) in [
                (
                    "file",
                    "must not be there beside \"oci\": a component comes from one place",
                ),
                (
                    "sha256",
                    "must not be there beside \"oci\", whose digest says what is meant",
                ),
            ] {
                if let Some(item) = fields.get(other) {
                    item.error(report, why);
                }
            }
            let source = ComponentSource::Oci(artifact(&oci, report)?);
            return Some(Self { source, cosign_keys });
        }
        if fields.get("file").is_none() {
            report.error(fields.at(), format!("{place} has neither \"file\" nor \"oci\""));
        }
        let path = fields.get("file").and_then(|item| file(&item, report));
        let mut sha256 = None;
        if let Some(item) = fields.get("sha256") {
            let text = item.text(report)?;
            sha256 = Digest::from_hex(text).map(|digest| digest.0);
            if sha256.is_none() {
                let shown = escape(text, 72);
                item.error(
                    report,
                    format!("must be 64 hexadecimal digits, as sha256sum prints them, not \"{shown}\""),
                );
            }
        }
        let path = path?.to_owned();
        let source = ComponentSource::File { path, sha256 };
        Some(Self { source, cosign_keys })
    }
}

fn artifact(item: &Item<'_>, report: &mut Report) -> Option<PinnedReference> {
    let text = item.text(report)?;
    let reference = match text.parse::<Reference>() {
        Ok(reference) => reference,
        Err(error) => {
            item.error(report, format!("{error}; it is \"{}\"", escape(text, 120)));
            return None;
        }
    };
    let pinned = reference.pinned();
    if pinned.is_none() {
        let shown = escape(text, 120);
        item.error_with_hint(
            report,
            format!("must have the digest of what is meant, such as {shown}@sha256:9f2c…, because a tag can be given to something else"),
            format!("`devgate pull {shown}` prints it"),
        );
    }
    pinned
}

fn keys(item: &Item<'_>, plugin: &str, report: &mut Report) -> Vec<String> {
    let place = format!("signature of {plugin}");
    let Some(fields) = Fields::open(item.node, &place, &key::SIGNATURE, report) else {
        return Vec::new();
    };
    let Some(item) = fields.need("cosign-key", report) else {
        return Vec::new();
    };
    let files = item.texts(report);
    if files.len() > MOST_KEYS {
        item.error(
            report,
            format!("must have at most {MOST_KEYS} keys, not {}", files.len()),
        );
    }
    let files = files.into_iter().filter_map(|(item, _)| file(&item, report));
    files.map(str::to_owned).collect()
}

fn file<'a>(item: &Item<'a>, report: &mut Report) -> Option<&'a str> {
    let text = item.text(report)?;
    let plain = !text.split('/').any(|component| matches!(component, "" | "." | ".."));
    if plain && !text.contains(char::is_control) {
        return Some(text);
    }
    let shown = escape(text, 80);
    item.error(
        report,
        format!("must be a path in the directory of components, not absolute and without \"..\", not \"{shown}\""),
    );
    None
}
