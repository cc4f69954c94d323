//! What kubectl and Helm make of the sources.

use super::choices::Case;
use super::{Programs, relative, work};
use crate::process;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Both the release and its namespace.
const NAME: &str = "devgate";

/// The base with overlays, by a kustomization as an admin would write it.
pub(super) fn overlays(programs: &Programs, kustomize: &Path, case: &Case) -> Result<Vec<Value>> {
    let folder = work("case")?;
    let way = |part: &str| format!("  - {}\n", relative(&folder, &kustomize.join(part)).display());
    let components: String = case.0.iter().map(|o| way(&format!("overlays/{}", o.name))).collect();
    let mut text = format!("resources:\n{}", way("base"));
    if !components.is_empty() {
        text += &format!("components:\n{components}");
    }
    let file = folder.join("kustomization.yaml");
    std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
    whole(programs, &folder)
}

/// A kustomization as it is.
pub(super) fn whole(programs: &Programs, folder: &Path) -> Result<Vec<Value>> {
    let text = process::read(Command::new(&programs.kubectl).arg("kustomize").arg(folder))?;
    documents(&text).with_context(|| format!("what kubectl made of {}", folder.display()))
}

/// The chart with the values that mean the same.
pub(super) fn chart(programs: &Programs, chart: &Path, case: &Case) -> Result<Vec<Value>> {
    let mut command = template(programs, chart);
    for overlay in &case.0 {
        command.args(["--set", overlay.value]);
    }
    documents(&process::read(&mut command)?).with_context(|| format!("what helm made with {}", case.name()))
}

/// `helm template`, still without values.
pub(super) fn template(programs: &Programs, chart: &Path) -> Command {
    let mut command = Command::new(&programs.helm);
    command.args(["template", NAME]).arg(chart).args(["--namespace", NAME]);
    command
}

/// The documents in a text.
pub(super) fn documents(text: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_of_a_text_is_read() {
        let read = documents("# Source: x\n---\nkind: A\n---\n---\nkind: B\nn: 10%\n").unwrap();
        assert_eq!(
            read,
            [
                serde_json::json!({"kind": "A"}),
                serde_json::json!({"kind": "B", "n": "10%"})
            ]
        );
        assert!(documents("a: [").is_err());
    }
}
