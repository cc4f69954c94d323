//! `devgatectl push`: a component into a registry.

mod artifact;
mod upload;

use crate::cli::PushArgs;
use crate::inspect;
use anyhow::Context;
use artifact::{About, Artifact};
use devgate::exit;
use devgate::progress::Progress;
use devgate::transfer::{LARGEST, Transferred, coded, show};
use devgate_types::{Digest, escape};
use std::collections::BTreeMap;

/// Runs the command.
pub(crate) fn push(args: &PushArgs) -> anyhow::Result<u8> {
    let bytes = inspect::read(&args.file, LARGEST.0)?;
    let report = inspect::of(&args.file, &bytes)?;
    if !report.runs() {
        let problems = report.problems().join("\n  ");
        let message = format!("{}: this host could not run it; nothing was pushed:\n  {problems}", args.file.display());
        return Err(exit::with_code(exit::FOUND, message));
    }
    let about = about(&report, &args.annotation);
    let (size, sha256) = (bytes.len(), Digest(devgate_runner::digest(&bytes)).hex());
    let artifact = Artifact::new(bytes, &about).context("artifact")?;
    let progress = devgate_oci::Progress::default();
    let pushed = {
        let _progress = Progress::begin(format!("pushing {} to {}", args.file.display(), args.reference));
        let registries = args.registry.registries();
        upload::push(&registries, &artifact, &args.reference, args.replace, &progress).map_err(coded)?
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
    About { imports: said.imports, exports: said.exports, author: said.author, annotations }
}
