//! Makes an index of components, each fetched, checked and looked into.

use super::{API_VERSION, Entry, Index, KIND, MAX_COMPONENTS};
use crate::cli::IndexBuildArgs;
use crate::inspect;
use crate::registry::{self, Artifact, Document, layout};
use crate::signing_key::SigningKey;
use anyhow::ensure;
use devgate::cli::Output;
use devgate::progress::Progress;
use devgate::transfer::{self, Key, coded};
use devgate::{exit, output};
use devgate_oci::PublicKey;
use devgate_runner::Program;
use devgate_types::{Reference, escape};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Built {
    /// Where it is, with its digest; nothing for a layout.
    oci: Option<String>,
    /// The folder of a layout.
    layout: Option<String>,
    digest: String,
    /// Whether it was signed.
    signed: bool,
    components: Vec<Entry>,
}

/// Runs the command.
pub(crate) fn build(args: &IndexBuildArgs) -> anyhow::Result<u8> {
    ensure!(args.components.len() <= MAX_COMPONENTS, "more than {MAX_COMPONENTS} components");
    let signing = args.key.as_deref().map(SigningKey::read).transpose()?;
    let keys = args.cosign_key.iter().map(|file| Key::read(file).map(|key| key.key));
    let keys: Vec<_> = keys.collect::<anyhow::Result<_>>()?;
    let keys = (!keys.is_empty()).then_some(&*keys);
    if let Some(folder) = &args.layout {
        layout::must_be_empty(folder)?;
    }
    let entries = args.components.iter().map(|component| entry(args, component, keys));
    let mut entries: Vec<_> = entries.collect::<anyhow::Result<_>>()?;
    entries.sort();
    entries.dedup();
    let artifact = artifact(&entries)?;
    let mut built = Built {
        oci: None,
        layout: None,
        digest: artifact.digest().to_string(),
        signed: signing.is_some(),
        components: entries.iter().map(Entry::shown).collect(),
    };
    if let Some(folder) = &args.layout {
        layout::write(folder, "latest", &artifact)?;
        built.layout = Some(escape(&folder.to_string_lossy(), 1024));
    }
    if let Some(to) = &args.push {
        let _progress = Progress::begin(format!("pushing the index to {to}"));
        let (registries, progress) = (args.registry.registries(), devgate_oci::Progress::default());
        let pushed = registry::push(&registries, &artifact, to, args.replace, &progress).map_err(coded)?;
        if let Some(key) = &signing {
            registry::sign(&registries, &pushed.reference, key)?;
        }
        built.oci = Some(pushed.reference.to_string());
    }
    match args.output {
        Output::Text => output::print(&built.text())?,
        Output::Json => output::print_json(&built)?,
    }
    Ok(exit::OK)
}

fn entry(args: &IndexBuildArgs, component: &Reference, keys: Option<&[PublicKey]>) -> anyhow::Result<Entry> {
    let (pinned, bytes) = transfer::get(component, &args.registry, keys, Program::puller_or_own())?;
    let report = inspect::of(Path::new(&pinned.to_string()), &bytes)?;
    if !report.runs() {
        let problems = report.problems().join("\n  ");
        let message = format!("{pinned}: no host could run it; no index was made:\n  {problems}");
        return Err(exit::with_code(exit::FOUND, message));
    }
    let words = report.words();
    let said = |name: &str| {
        let mut annotations = words.annotations.iter();
        annotations.find(|(known, _)| *known == name).and_then(|(_, value)| value.clone())
    };
    let last = || pinned.repository.name.rsplit('/').next().unwrap_or_default().to_owned();
    let resources = report.author().map(|author| author.plugin().resources.iter().map(ToString::to_string).collect());
    Ok(Entry {
        name: said("title").unwrap_or_else(last),
        version: said("version"),
        oci: pinned.to_string(),
        description: said("description"),
        vendor: words.author.clone(),
        licence: said("licenses"),
        resources: resources.unwrap_or_default(),
        size: u64::try_from(report.size())?,
    })
}

fn artifact(entries: &[Entry]) -> anyhow::Result<Artifact> {
    let index = Index { api_version: API_VERSION.to_owned(), kind: KIND.to_owned(), components: entries.to_vec() };
    let annotations = BTreeMap::from([("org.opencontainers.image.title".to_owned(), "devgate index".to_owned())]);
    let text = serde_json::to_vec_pretty(&index)?;
    let document = Document { kind: registry::INDEX, media_type: registry::INDEX, text, subject: None, annotations };
    Ok(Artifact::of_document(document)?)
}

impl Built {
    fn text(&self) -> String {
        let signed = if self.signed { ", signed" } else { "" };
        let rows = self.components.iter().map(|entry| {
            [
                entry.name.clone(),
                entry.version.clone().unwrap_or_default(),
                entry.resources.join(", "),
                entry.oci.clone(),
            ]
        });
        let mut text = output::columns(2, &rows.collect::<Vec<_>>());
        text += &output::count(self.components.len(), "component");
        for place in self.oci.iter().chain(&self.layout) {
            text += &format!("{signed}: {place}\n");
        }
        if let Some(oci) = &self.oci {
            text += &format!("next: {} search --index {oci}\n", output::program());
        }
        text
    }
}
