//! Finds components in an index.

use super::{Entry, Index, MAX_BYTES};
use crate::cli::SearchArgs;
use crate::registry::{self, INDEX, wait};
use devgate::cli::Output;
use devgate::transfer::{Key, coded};
use devgate::{exit, output};
use devgate_oci::{Error, PublicKey};
use devgate_pull::Session;
use devgate_types::PinnedReference;
use serde::Serialize;
use std::fmt::Write as _;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Found {
    /// The index, with its digest.
    index: String,
    /// Whether a key was asked for, and has signed it.
    signed: bool,
    components: Vec<Entry>,
}

/// Runs the command.
pub(crate) fn search(args: &SearchArgs) -> anyhow::Result<u8> {
    let keys = args.cosign_key.iter().map(|file| Key::read(file).map(|key| key.key));
    let keys: Vec<_> = keys.collect::<anyhow::Result<_>>()?;
    let (pinned, index) = wait(async {
        let mut session = registry::open(&args.registry.registries(), &args.index.repository, false)?;
        get(&mut session, args, &keys).await
    })
    .map_err(coded)?;
    let words: Vec<_> = args.words.iter().map(|word| word.to_lowercase()).collect();
    let components = index.components.iter().filter(|entry| entry.has(&words)).map(Entry::shown);
    let found = Found { index: pinned.to_string(), signed: !keys.is_empty(), components: components.collect() };
    match args.output {
        Output::Text => output::print(&found.text(index.components.len()))?,
        Output::Json => output::print_json(&found)?,
    }
    Ok(if found.components.is_empty() { exit::FOUND } else { exit::OK })
}

async fn get(session: &mut Session, args: &SearchArgs, keys: &[PublicKey]) -> Result<(PinnedReference, Index), Error> {
    let (pinned, manifest) = registry::manifest(session, &args.index).await?;
    let refused = |why: String| Error::Refused(format!("index {pinned}: {why}"));
    if !keys.is_empty() {
        let signed = registry::signed_by(session, pinned.digest, keys).await?;
        signed.map_err(|why| refused(why.to_string()))?;
    }
    let text = registry::document(session, &pinned, &manifest, (INDEX, MAX_BYTES)).await?;
    let index = Index::parse(&text).map_err(refused)?;
    Ok((pinned, index))
}

impl Found {
    fn text(&self, of: usize) -> String {
        let mut text = String::new();
        for entry in &self.components {
            let maybe = |text: &Option<String>| text.clone().unwrap_or_default();
            let _ = writeln!(text, "{} {}  {}", entry.name, maybe(&entry.version), maybe(&entry.description));
            let size = format!("{} bytes", entry.size);
            let facts = [entry.resources.join(", "), maybe(&entry.vendor), maybe(&entry.licence), size];
            let facts: Vec<_> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
            let _ = writeln!(text, "  {}\n  oci:{}", facts.join("; "), entry.oci);
        }
        let signed = if self.signed { ", signed" } else { "" };
        let _ =
            writeln!(text, "{} of {} in {}{signed}", self.components.len(), output::count(of, "component"), self.index);
        if let [one] = &*self.components {
            let _ = writeln!(text, "next: {} add oci:{}", output::program(), one.oci);
        }
        text
    }
}
