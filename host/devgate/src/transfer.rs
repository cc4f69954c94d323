//! `devgate pull` and `devgate push`: components out of a registry and into one.

use crate::cli::{Output, PullArgs, PushArgs, RegistryArgs};
use crate::progress::Progress;
use crate::{exit, inspect, output, pack};
use anyhow::Context;
use devgate_oci::{About, Artifact, Error, PublicKey, Wanted};
use devgate_sandbox::hex;
use devgate_types::{ByteSize, PinnedReference, Reference, escape};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Transferred {
    /// The artifact with its digest, ready for a policy.
    oci: String,
    /// The component's file.
    file: String,
    /// Its bytes.
    size: usize,
    /// Its digest, as `sha256sum` prints it.
    sha256: String,
    /// Whether a key was asked for, and has signed it; for a pull.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed: Option<bool>,
    /// Whether the tag was given to this very artifact before; for a push.
    #[serde(skip_serializing_if = "Option::is_none")]
    was_there: Option<bool>,
}

fn coded(error: Error) -> anyhow::Error {
    match error {
        Error::Refused(text) => exit::with_code(exit::FOUND, text),
        Error::Host(text) => anyhow::anyhow!(text),
    }
}

/// Runs `devgate pull`.
pub(crate) fn pull(args: &PullArgs) -> anyhow::Result<u8> {
    let keys = args
        .cosign_key
        .iter()
        .map(|file| key(file))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let keys = (!keys.is_empty()).then_some(keys);
    let (pinned, bytes) = get_from(&args.reference, &args.registry, keys.as_deref())?;
    let out = args.out.clone().unwrap_or_else(|| file_name(&args.reference));
    pack::write(&out, &bytes)?;
    show(
        args.output,
        &Transferred {
            oci: pinned.to_string(),
            file: escape(&out.to_string_lossy(), 1024),
            size: bytes.len(),
            sha256: hex(&devgate_sandbox::digest(&bytes)),
            signed: Some(keys.is_some()),
            was_there: None,
        },
    )?;
    Ok(exit::OK)
}

/// A component from the cache or its registry, by a reference that may have a tag alone.
pub(crate) fn get(
    reference: &str,
    registry: &RegistryArgs,
    keys: Option<&[PublicKey]>,
) -> anyhow::Result<(PinnedReference, Vec<u8>)> {
    let parsed = reference.parse::<Reference>();
    let parsed = parsed.map_err(|why| exit::with_code(exit::USAGE, format!("{}: {why}", escape(reference, 120))))?;
    get_from(&parsed, registry, keys)
}

fn get_from(
    reference: &Reference,
    registry: &RegistryArgs,
    keys: Option<&[PublicKey]>,
) -> anyhow::Result<(PinnedReference, Vec<u8>)> {
    let store = Arc::new(registry.store(None, true));
    let pinned = store.registries().resolve(reference).map_err(coded)?;
    let wanted = Wanted {
        most: ByteSize(inspect::most()?),
        keys,
    };
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

fn key(file: &Path) -> anyhow::Result<PublicKey> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    PublicKey::from_pem(&text).map_err(|why| anyhow::anyhow!("{}: {why} (--cosign-key)", file.display()))
}

/// Runs `devgate push`.
pub(crate) fn push(args: &PushArgs) -> anyhow::Result<u8> {
    let bytes = inspect::read(&args.file, inspect::most()?)?;
    let report = inspect::of(&args.file, &bytes)?;
    if !report.runs() {
        let problems = report.problems().join("\n  ");
        let message = format!(
            "{}: this host could not run it; nothing was pushed:\n  {problems}",
            args.file.display()
        );
        return Err(exit::with_code(exit::FOUND, message));
    }
    let about = about(&report, &args.annotation);
    let (size, sha256) = (bytes.len(), hex(&devgate_sandbox::digest(&bytes)));
    let artifact = Artifact::new(bytes, &about).map_err(coded)?;
    let store = args.registry.store(None, true);
    let progress = devgate_oci::Progress::default();
    let pushed = {
        let _progress = Progress::begin(format!("pushing {} to {}", args.file.display(), args.reference));
        let pushed = store
            .registries()
            .push(&artifact, &args.reference, args.replace, &progress);
        pushed.map_err(coded)?
    };
    show(
        args.output,
        &Transferred {
            oci: pushed.reference.to_string(),
            file: escape(&args.file.to_string_lossy(), 1024),
            size,
            sha256,
            signed: None,
            was_there: Some(pushed.was_there),
        },
    )?;
    Ok(exit::OK)
}

/// What the component says of itself, in the words of OCI's annotations.
fn about(report: &inspect::Report, more: &[(String, String)]) -> About {
    let said = report.words();
    let mut annotations: BTreeMap<String, String> = said
        .annotations
        .into_iter()
        .filter_map(|(name, value)| Some((format!("org.opencontainers.image.{name}"), value?)))
        .collect();
    annotations.extend(more.iter().cloned());
    About {
        imports: said.imports,
        exports: said.exports,
        author: said.author,
        annotations,
    }
}

fn show(form: Output, what: &Transferred) -> anyhow::Result<()> {
    if form == Output::Json {
        return output::print_json(what);
    }
    let notes = match (what.signed, what.was_there) {
        (Some(true), _) => ", signed",
        (_, Some(true)) => ", was there already",
        _ => "",
    };
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
