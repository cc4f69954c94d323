//! What Helm and kubectl make of the sources.

use super::Programs;
use super::choices::Case;
use crate::process;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Both the release and its namespace.
pub(super) const NAME: &str = "devgate";

/// What Helm says of all that it makes, and what is not so where kubectl applies it.
const MANAGED: &str = "app.kubernetes.io/managed-by: Helm";

/// The chart with overlays, whole.
pub(super) fn chart(programs: &Programs, chart: &Path, case: &Case) -> Result<Vec<Value>> {
    let mut command = template(&programs.helm, chart, NAME);
    for overlay in &case.0 {
        command.args(["--set", overlay.value]);
    }
    documents(&whole(&mut command, NAME)?).with_context(|| format!("what helm made with {}", case.name()))
}

/// `helm template`, still without values, into a namespace of the release's name.
pub(super) fn template(helm: &Path, chart: &Path, release: &str) -> Command {
    let mut command = Command::new(helm);
    command.args(["template", release]).arg(chart).args(["--namespace", release]);
    command
}

/// What it makes, with the namespace, which Helm leaves to the admin and a file cannot do without.
pub(super) fn whole(template: &mut Command, release: &str) -> Result<String> {
    let namespace = format!(
        "\
# Every device plugin mounts directories of the node, which the levels `baseline` and `restricted` forbid whatever else the pod does
# without.
apiVersion: v1
kind: Namespace
metadata:
  name: {release}
  labels:
    app.kubernetes.io/name: {release}
    app.kubernetes.io/instance: {release}
    pod-security.kubernetes.io/enforce: privileged
"
    );
    Ok(namespace + &of_nobody(&process::read(template)?))
}

/// A text of Helm's without its claim to what is in it.
pub(super) fn of_nobody(text: &str) -> String {
    let lines = text.lines().filter(|line| line.trim() != MANAGED);
    lines.map(|line| format!("{line}\n")).collect()
}

/// What kubectl makes of a kustomization.
pub(super) fn kustomization(kubectl: &Path, folder: &Path) -> Result<Vec<Value>> {
    let text = process::read(Command::new(kubectl).arg("kustomize").arg(folder))?;
    documents(&text).with_context(|| format!("what kubectl made of {}", folder.display()))
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
        assert_eq!(read, [serde_json::json!({"kind": "A"}), serde_json::json!({"kind": "B", "n": "10%"})]);
        assert!(documents("a: [").is_err());
    }

    #[test]
    fn what_is_applied_is_not_called_helms() {
        let text = "labels:\n    app.kubernetes.io/managed-by: Helm\n    a: b\n";
        assert_eq!(of_nobody(text), "labels:\n    a: b\n");
    }
}
