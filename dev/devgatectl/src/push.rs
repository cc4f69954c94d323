//! `devgatectl push`: a component into a registry.

mod attestations;
mod wit;

use crate::cli::PushArgs;
use crate::inspect;
use crate::registry::{self, About, Artifact, layout};
use crate::signing_key::SigningKey;
use anyhow::Context;
use devgate::cli::Output;
use devgate::progress::Progress;
use devgate::transfer::{LARGEST, Transferred, coded, show};
use devgate::{exit, output};
use devgate_types::{Digest, escape};
use std::collections::BTreeMap;

/// Runs the command.
pub(crate) fn push(args: &PushArgs) -> anyhow::Result<u8> {
    let key = args.key.as_deref().map(SigningKey::read).transpose()?;
    let (bytes, mut about) = if args.file.is_dir() { wit::package(&args.file)? } else { component(args)? };
    about.annotations.extend(args.annotation.iter().cloned());
    let (size, sha256) = (bytes.len(), Digest(devgate_runner::digest(&bytes)).hex());
    let artifact = Artifact::new(bytes, &about).context("artifact")?;
    let attested =
        args.attest.as_deref().map(|file| attestations::of(file, &sha256, &artifact.manifest)).transpose()?;
    let (registries, progress) = (args.registry.registries(), devgate_oci::Progress::default());
    let pushed = match &args.layout {
        Some(folder) => layout::push(folder, &artifact, &args.reference)?,
        None => {
            let _progress = Progress::begin(format!("pushing {} to {}", args.file.display(), args.reference));
            registry::push(&registries, &artifact, &args.reference, args.replace, &progress).map_err(coded)?
        }
    };
    match (&key, &args.layout) {
        (Some(key), Some(folder)) => layout::sign(folder, &pushed.reference, key)?,
        (Some(key), None) => registry::sign(&registries, &pushed.reference, key)?,
        (None, _) => {}
    }
    if let Some(attested) = &attested {
        attestations::push(&registries, &pushed.reference, attested)?;
    }
    if args.file.is_dir() && args.output == Output::Text {
        // No policy names it.
        return output::print(&format!("{}\n", pushed.reference)).map(|()| exit::OK);
    }
    show(
        args.output,
        &Transferred {
            oci: pushed.reference.to_string(),
            file: escape(&args.file.to_string_lossy(), 1024),
            size,
            sha256,
            signed: key.is_some().then_some(true),
            was_there: Some(pushed.was_there),
            attested: attested.map(|attested| attested.len()),
        },
    )?;
    Ok(exit::OK)
}

/// A component that a host could run, and what is said of it.
fn component(args: &PushArgs) -> anyhow::Result<(Vec<u8>, About)> {
    let bytes = inspect::read(&args.file, LARGEST.0)?;
    let report = inspect::of(&args.file, &bytes)?;
    if !report.runs() {
        let problems = report.problems().join("\n  ");
        let message = format!("{}: this host could not run it; nothing was pushed:\n  {problems}", args.file.display());
        return Err(exit::with_code(exit::FOUND, message));
    }
    let about = about(&report);
    Ok((bytes, about))
}

/// What the component says of itself, in the words of OCI's annotations.
fn about(report: &inspect::Report) -> About {
    let said = report.words();
    let mut annotations: BTreeMap<String, String> = said
        .annotations
        .into_iter()
        .filter_map(|(name, value)| Some((format!("org.opencontainers.image.{name}"), value?)))
        .collect();
    let carried = [report.author().is_some(), report.config_schema().is_some()];
    let carried: Vec<_> =
        registry::CARRIED.into_iter().zip(carried).filter(|(_, is)| *is).map(|(what, _)| what).collect();
    if !carried.is_empty() {
        annotations.insert(registry::CARRIES.to_owned(), carried.join(","));
    }
    let optional: Vec<_> = report.optional().into_iter().map(|(name, _)| name).collect();
    if !optional.is_empty() {
        annotations.insert(registry::OPTIONAL.to_owned(), optional.join(","));
    }
    About { imports: said.imports, exports: said.exports, author: said.author, annotations }
}
