//! The chart in `deploy/`: rendered by Helm, held against Kubernetes' schemas, and all that a pod gets against the list of what it may
//! have (`deploy/allowed.yaml`); and its renderings that a release carries, which kubectl takes as kustomizations, too.

mod allowed;
mod bases;
mod choices;
mod null_values;
mod pod_rights;
pub(crate) mod profiles;
mod render;
mod selectors;
mod sockets;
#[cfg(test)]
mod tests;
mod values;
mod versions;

use crate::workspace::root;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The programs that render and check.
pub(crate) struct Programs {
    pub(crate) kubectl: PathBuf,
    pub(crate) helm: PathBuf,
    pub(crate) validate: PathBuf,
}

/// The chart's folder.
pub(crate) fn chart() -> PathBuf {
    root().join("deploy/helm/devgate")
}

/// Checks all of it. The error names everything that is wrong, at once; or what could not be rendered.
pub(crate) fn check(programs: &Programs) -> Result<()> {
    let allowed = allowed::read(&root().join("deploy/allowed.yaml"))?;
    let mut problems = choices::problems(&chart())?;
    let mut sorted = versions::Sorted::default();

    let cases = choices::cases();
    for case in &cases {
        let name = case.name();
        let documents = render::chart(programs, &chart(), case)?;
        let mut wrong = allowed.problems(&case.lists(), &pod_rights::of(&documents));
        wrong.extend(selectors::problems(&documents));
        wrong.extend(sockets::problems(&documents));
        problems.extend(wrong.into_iter().map(|wrong| format!("{name}: {wrong}")));
        sorted.add(&name, case.least(), documents);
    }
    let rendered = work("rendered")?;
    profiles::write(&programs.helm, &chart(), &rendered)?;
    let plain = read(&rendered, "plain")?;
    for profile in profiles::PROFILES {
        let documents = read(&rendered, profile.name)?;
        let mut wrong = allowed.problems(profile.lists, &pod_rights::of(&documents));
        // What is nothing without a devgate is held against the one that it goes with.
        let beside = if profile.only.is_some() { &plain[..] } else { &[] };
        wrong.extend(selectors::problems(&[&documents, beside].concat()));
        wrong.extend(sockets::problems(&documents));
        if profile.lists == ["cleanup"] {
            wrong.extend(selectors::apart(&documents, &plain));
        }
        problems.extend(wrong.into_iter().map(|wrong| format!("profile {}: {wrong}", profile.name)));
        sorted.add(&format!("profile {}", profile.name), profile.least, documents);
    }
    println!("{} choices of overlays and {} profiles, rendered by helm", cases.len(), profiles::PROFILES.len());
    problems.extend(bases::problems(programs, &rendered, &work("own")?)?);
    problems.extend(values::problems(programs, &chart())?);
    problems.extend(null_values::problems(programs, &chart())?);
    let packed = crate::chart::pack(&chart(), &work("chart")?, 0)?;
    let from_file = render::chart(programs, &packed, &choices::nothing())?;
    if from_file != render::chart(programs, &chart(), &choices::nothing())? {
        problems.push("chart, as a file: it makes something else than the folder".to_owned());
    }
    problems.extend(sorted.problems(&programs.validate, &work("documents")?)?);
    if problems.is_empty() {
        return Ok(());
    }
    bail!("manifests:\n  {}", problems.join("\n  "))
}

/// The documents of a rendered profile.
fn read(rendered: &Path, name: &str) -> Result<Vec<Value>> {
    let file = rendered.join(name).join(profiles::FILE);
    let text = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    render::documents(&text).with_context(|| file.display().to_string())
}

/// What is at a place in a document, such as `/metadata/name`.
fn at<'a>(document: &'a Value, place: &str) -> &'a Value {
    document.pointer(place).unwrap_or(&Value::Null)
}

/// A folder of our own beneath cargo's.
fn work(name: &str) -> Result<PathBuf> {
    let folder = crate::workspace::target()?.join("manifests").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
