//! Whether each Kubernetes takes the manifests, by its own schemas, unknown fields refused.

use super::at;
use super::choices::{NEWEST, OLDEST};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kinds of the Prometheus operator and of OpenShift, which are no part of Kubernetes and have no schema here.
const FOREIGN: [&str; 3] = ["PodMonitor", "PrometheusRule", "SecurityContextConstraints"];

/// Kinds that came with a version of Kubernetes.
const LATER: [(&str, u32); 2] = [("ValidatingAdmissionPolicy", 30), ("ValidatingAdmissionPolicyBinding", 30)];

/// The only kind that overlays write something newer into.
const PODS: &str = "DaemonSet";

/// Each different document once, with where it comes from and the first version that has to take it.
#[derive(Default)]
pub(super) struct Sorted(BTreeMap<String, (String, u32)>);

impl Sorted {
    /// Takes documents of one rendering, of which the first version is known.
    pub(super) fn add(&mut self, from: &str, least: u32, documents: Vec<Value>) {
        for document in documents {
            if at(&document, "/kind").as_str().is_some_and(|kind| FOREIGN.contains(&kind)) {
                continue;
            }
            let later =
                LATER.iter().find(|(kind, _)| at(&document, "/kind") == kind).map_or(OLDEST, |(_, least)| *least);
            let least = if at(&document, "/kind") == PODS { least } else { later };
            let origin = format!("{} of {from}", at(&document, "/kind").as_str().unwrap_or("a document"));
            let known = self.0.entry(document.to_string()).or_insert((origin, least));
            known.1 = known.1.min(least);
        }
    }

    /// Holds them against all versions: from the first one on they pass, and before it they do not, or it would be an earlier one.
    pub(super) fn problems(&self, validate: &Path, folder: &Path) -> Result<Vec<String>> {
        let mut files: BTreeMap<PathBuf, &(String, u32)> = BTreeMap::new();
        for (at, (text, known)) in self.0.iter().enumerate() {
            let file = folder.join(format!("{at}.yaml"));
            std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
            files.insert(file, known);
        }
        let mut problems = Vec::new();
        for minor in OLDEST..=NEWEST {
            let said = ask(validate, minor, files.keys())?;
            for (file, (origin, least)) in &files {
                let shown = file.display().to_string();
                let complaint = said.iter().find(|line| line.contains(&shown));
                match complaint {
                    Some(line) if minor >= *least => problems.push(format!("{origin}: Kubernetes 1.{minor}: {line}")),
                    None if minor < *least => {
                        problems.push(format!(
                            "{origin}: Kubernetes 1.{minor} takes it, before its least version 1.{least}"
                        ));
                    }
                    _ => {}
                }
            }
        }
        println!("{} different documents, each against Kubernetes 1.{OLDEST} to 1.{NEWEST}", files.len());
        Ok(problems)
    }
}

/// The lines in which kubernetes-validate complains.
fn ask<'a>(validate: &Path, minor: u32, files: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<String>> {
    let mut command = Command::new(validate);
    command.args(["--quiet", "--strict", "--kubernetes-version", &format!("1.{minor}")]);
    let output = command.args(files).output().with_context(|| format!("start {}", validate.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let lines: Vec<String> = text.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect();
    if output.status.success() != lines.is_empty() {
        bail!("kubernetes-validate for 1.{minor}: {}: {text}", output.status);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;

    /// In place of the real one: complains about whatever says `new`, before 1.31.
    fn stand_in(dir: &Path) -> PathBuf {
        let file = dir.join("validate");
        let script = "#!/bin/sh\nversion=${4#1.}; shift 4; rc=0\nfor f in \"$@\"; do\n\
            if grep -q new \"$f\" && [ $version -lt 31 ]; then echo \"ERROR $f did not validate\"; rc=1; fi\ndone\nexit $rc\n";
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    #[test]
    fn each_document_passes_from_its_first_version_on_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let validate = stand_in(dir.path());
        let problems = |least: u32, key: &str| {
            let mut sorted = Sorted::default();
            sorted.add(
                "x",
                least,
                vec![
                    json!({"kind": "DaemonSet", key: 1}),
                    json!({"kind": "ConfigMap"}),
                    json!({"kind": "PodMonitor", "new": 1}),
                ],
            );
            sorted.problems(&validate, dir.path()).unwrap()
        };
        assert_eq!(problems(31, "new"), Vec::<String>::new());
        assert_eq!(problems(28, "old"), Vec::<String>::new());
        let early = problems(30, "new");
        assert_eq!(early.len(), 1, "{early:?}");
        assert!(early[0].starts_with("DaemonSet of x: Kubernetes 1.30: ERROR "), "{early:?}");
        assert_eq!(problems(29, "old"), ["DaemonSet of x: Kubernetes 1.28 takes it, before its least version 1.29"]);
    }

    #[test]
    fn the_same_document_counts_once_and_for_the_earliest() {
        let mut sorted = Sorted::default();
        for least in [31, 28] {
            sorted.add("x", least, vec![json!({"kind": "DaemonSet"})]);
        }
        assert_eq!(sorted.0.values().collect::<Vec<_>>(), [&("DaemonSet of x".to_owned(), 28)]);
    }

    #[test]
    fn a_validator_that_fails_in_silence_is_no_pass() {
        let file = PathBuf::from("/x");
        assert!(ask(Path::new("false"), 28, std::iter::once(&file)).is_err());
    }
}
