//! What a release has besides what has a command of its own: components with their digests, manifests; and what it says of itself.

use super::{layout, sums};
use crate::components::{self, digest};
use crate::shipped;
use crate::workspace::{guests, root};
use crate::{dist, manifests, manual, tools};
use anyhow::{Context, Result};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// What components.json says of a component.
#[derive(Serialize)]
struct Entry {
    name: String,
    file: String,
    size: usize,
    sha256: String,
}

/// Copies the components that are for nodes, each with a policy to start from that names it by digest, and lists them in components.json.
pub(super) fn components(folder: &Path) -> Result<()> {
    let place = folder.join("components");
    std::fs::create_dir(&place).with_context(|| format!("create {}", place.display()))?;
    let mut entries = Vec::new();
    for name in components::shipped()? {
        let file = format!("{name}.wasm");
        let built = components::folder()?.join(&file);
        let bytes = std::fs::read(&built).with_context(|| format!("read {}", built.display()))?;
        std::fs::write(place.join(&file), &bytes)?;
        let digest = digest(&bytes);
        let policy = guests().join(&name).join("policy.yaml");
        if policy.exists() {
            let text = std::fs::read_to_string(&policy).with_context(|| format!("read {}", policy.display()))?;
            let kept = text.lines().filter(|line| !line.contains("# Add sha256 (as "));
            let text: String = kept.map(|line| format!("{line}\n")).collect();
            let pinned = text.replace(&format!("{{file: {file}}}"), &format!("{{file: {file}, sha256: {digest}}}"));
            std::fs::write(place.join(format!("{name}.policy.yaml")), pinned)?;
        }
        entries.push(Entry { size: bytes.len(), sha256: digest, name, file });
    }
    let text = serde_json::to_string_pretty(&entries)?;
    std::fs::write(place.join("components.json"), text + "\n")?;
    Ok(())
}

/// Packs what `kubectl` and Prometheus are given, with the pages, laid out as in a clone: for admins who have none. The chart is in it
/// as Helm renders it, in deploy/rendered; manual pages and completions are in man and completions.
pub(super) fn manifests(folder: &Path, version: &str, stamp: &layout::Stamp) -> Result<()> {
    let epoch = dist::epoch()?;
    let name = format!("devgate-{version}-manifests");
    let work = tempfile::tempdir()?;
    let inside = work.path().join(&name);
    std::fs::create_dir(&inside)?;
    shipped::copy(&inside)?;
    manual::write(&inside)?;
    let chart = inside.join("deploy/helm/devgate");
    stamp.put(&chart.join("profiles"))?;
    manifests::profiles::write(&tools::helm()?, &chart, &inside.join("deploy/rendered"))?;
    std::fs::copy(root().join("LICENSE"), inside.join("LICENSE"))?;
    let archive = folder.join(format!("{name}.tar"));
    dist::tar(work.path(), &archive, epoch)?;
    // Neither the file's name nor its time.
    crate::process::run(Command::new("gzip").args(["--no-name", "--best", "--force"]).arg(&archive))?;
    dist::announce(&archive.with_extension("tar.gz"))
}

/// What is in a release: a line for each file, but for what another one lists.
pub(super) fn table(folder: &Path) -> Result<String> {
    let mut text = String::new();
    let files = sums::files(folder)?.into_iter().filter(|name| !name.contains("/blobs/"));
    for name in files.chain([sums::NAME.to_owned()]) {
        let bytes = std::fs::read(folder.join(&name)).with_context(|| format!("read {name}"))?;
        let digest = digest(&bytes);
        let _infallible = writeln!(text, "{:>10}  {}…  {name}", bytes.len(), digest.get(..16).unwrap_or_default());
    }
    Ok(text)
}
