//! `devgate pull`: a component out of a registry; and what `devgatectl` shares with it.

use crate::cli::{Output, PullArgs, RegistryArgs};
use crate::components::MAX_KEY;
use crate::node::Sources;
use crate::progress::Progress;
use crate::{exit, output};
use anyhow::Context;
use devgate_oci::{Error, PublicKey, Wanted};
use devgate_runner::{Program, ProgramError};
use devgate_types::{ByteSize, Digest, PinnedReference, Reference, escape};
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest component that a policy can allow, as `limits.component-size`.
pub const LARGEST: ByteSize = ByteSize::mib(64);

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
pub struct Transferred {
    /// The artifact with its digest, ready for a policy.
    pub oci: String,
    /// The component's file.
    pub file: String,
    /// Its bytes.
    pub size: usize,
    /// Its digest, as `sha256sum` prints it.
    pub sha256: String,
    /// Whether a key has signed it: one that was asked for by a pull, or given to a push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed: Option<bool>,
    /// Whether the tag was given to this very artifact before; for a push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was_there: Option<bool>,
    /// How many statements about it were put beside it; for a push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attested: Option<usize>,
}

/// An error of the registry with its exit code.
pub fn coded(error: Error) -> anyhow::Error {
    match error {
        Error::Refused(text) => exit::with_code(exit::FOUND, text),
        Error::Host(text) => anyhow::anyhow!(text),
    }
}

/// Runs `devgate pull`.
pub fn pull(args: &PullArgs, sources: Sources) -> anyhow::Result<u8> {
    let keys = args.cosign_key.iter().map(|file| Key::read(file).map(|key| key.key));
    let keys: Vec<_> = keys.collect::<anyhow::Result<_>>()?;
    let keys = (!keys.is_empty()).then_some(keys);
    let (pinned, bytes) = get(&args.reference, &args.registry, keys.as_deref(), (sources.puller)())?;
    let out = args.out.clone().unwrap_or_else(|| file_name(&args.reference));
    output::write_file(&out, &bytes)?;
    show(
        args.output,
        &Transferred {
            oci: pinned.to_string(),
            file: escape(&out.to_string_lossy(), 1024),
            size: bytes.len(),
            sha256: Digest(devgate_runner::digest(&bytes)).hex(),
            signed: Some(keys.is_some()),
            was_there: None,
            attested: None,
        },
    )?;
    Ok(exit::OK)
}

/// A component from the cache or its registry, by a reference that may have a tag alone.
pub fn get(
    reference: &Reference,
    registry: &RegistryArgs,
    keys: Option<&[PublicKey]>,
    puller: Result<Program, ProgramError>,
) -> anyhow::Result<(PinnedReference, Vec<u8>)> {
    let store = Arc::new(registry.store(None, true, puller));
    let pinned = store.resolve(reference).map_err(coded)?;
    let wanted = Wanted { most: LARGEST, keys };
    let (asked, digest) = (Arc::clone(&store), pinned.digest);
    let _progress = Progress::following(format!("pulling {pinned}"), move || asked.progress(digest));
    let bytes = store.get(&pinned, wanted).map_err(coded)?;
    Ok((pinned, bytes))
}

/// `gpu.wasm` for `registry.example.com/vendor/gpu`.
fn file_name(reference: &Reference) -> PathBuf {
    let name = &reference.repository.name;
    let last = name.rsplit('/').next().unwrap_or(name);
    format!("{last}.wasm").into()
}

/// A public key that an admin names.
pub struct Key {
    /// The name of its file.
    pub name: String,
    /// What stands in it.
    pub text: String,
    /// What that is.
    pub key: PublicKey,
}

impl Key {
    /// Reads one.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let named = || file.display().to_string();
        let mut text = String::new();
        let opened = File::open(file).with_context(named)?;
        opened.take(MAX_KEY).read_to_string(&mut text).with_context(named)?;
        let key = PublicKey::from_pem(&text).map_err(|why| anyhow::anyhow!("{}: {why} (--cosign-key)", named()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, text, key })
    }
}

/// Shows what was pulled or pushed.
pub fn show(form: Output, what: &Transferred) -> anyhow::Result<()> {
    if form == Output::Json {
        return output::print_json(what);
    }
    let mut notes = String::new();
    notes += if what.was_there == Some(true) { ", was there already" } else { "" };
    notes += if what.signed == Some(true) { ", signed" } else { "" };
    notes += if what.attested.is_some() { ", attested" } else { "" };
    output::print(&format!(
        "{}: {} bytes, sha256 {}{notes}\ncomponent: {{oci: \"{}\"}}\n",
        what.file, what.size, what.sha256, what.oci
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_as_the_last_part_of_its_name() {
        let named = |text: &str| file_name(&text.parse().unwrap());
        assert_eq!(named("registry.example.com/vendor/gpu:1.2"), PathBuf::from("gpu.wasm"));
        assert_eq!(named("localhost:5000/gpu"), PathBuf::from("gpu.wasm"));
    }
}
