//! The manifests in `deploy/`: rendered by the real programs, the chart held against the kustomization, both against Kubernetes'
//! schemas, and all that a pod gets against the list of what it may have (`deploy/allowed.yaml`).

mod allowed;
mod beside;
mod choices;
mod facts;
mod nulls;
#[cfg(test)]
mod page;
mod readme;
mod render;
#[cfg(test)]
mod rules;
mod same;
mod selectors;
mod sockets;
mod values;
mod versions;

use crate::workspace::root;
use anyhow::{Result, bail};
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

fn kustomize() -> PathBuf {
    root().join("deploy/kustomize")
}

/// Checks all of it.
///
/// # Errors
/// Names everything that is wrong, at once; or what could not be rendered.
pub(crate) fn check(programs: &Programs) -> Result<()> {
    let allowed = allowed::read(&root().join("deploy/allowed.yaml"))?;
    let mut problems = choices::problems(&kustomize())?;
    let mut sorted = versions::Sorted::default();

    let cases = choices::cases();
    for case in &cases {
        let name = case.name();
        let ours = render::overlays(programs, &kustomize(), case)?;
        let theirs = render::chart(programs, &chart(), case)?;
        let wrong = allowed.problems(&case.lists(), &facts::of(&ours));
        problems.extend(wrong.into_iter().map(|wrong| format!("kustomize, {name}: {wrong}")));
        let mut wrong = selectors::problems(&ours);
        wrong.extend(sockets::problems(&ours));
        problems.extend(wrong.into_iter().map(|wrong| format!("kustomize, {name}: {wrong}")));
        let different = same::differences(&ours, &theirs);
        problems.extend(different.into_iter().map(|wrong| format!("chart, {name}: {wrong}")));
        sorted.add(&name, case.least(), ours);
        sorted.add(&format!("{name}, by the chart"), case.least(), theirs);
    }
    for whole in choices::WHOLE {
        let documents = render::whole(programs, &kustomize().join(whole.folder))?;
        let mut wrong = allowed.problems(whole.lists, &facts::of(&documents));
        wrong.extend(selectors::problems(&documents));
        wrong.extend(sockets::problems(&documents));
        problems.extend(wrong.into_iter().map(|wrong| format!("{}: {wrong}", whole.folder)));
        sorted.add(whole.folder, whole.least, documents);
    }
    println!(
        "{} choices of overlays, each by kubectl and by helm, and {} whole kustomizations",
        cases.len(),
        choices::WHOLE.len()
    );
    problems.extend(beside::problems(programs, &kustomize())?);
    problems.extend(values::problems(programs, &chart())?);
    problems.extend(nulls::problems(programs, &chart())?);
    problems.extend(readme::problems(programs, &chart())?);
    let packed = crate::chart::pack(&chart(), &work("chart")?, 0)?;
    let from_file = render::chart(programs, &packed, &choices::nothing())?;
    let from_folder = render::chart(programs, &chart(), &choices::nothing())?;
    let different = same::differences(&from_folder, &from_file);
    problems.extend(different.into_iter().map(|wrong| format!("chart, as a file: {wrong}")));
    problems.extend(sorted.problems(&programs.validate, &work("documents")?)?);
    if problems.is_empty() {
        return Ok(());
    }
    bail!("manifests:\n  {}", problems.join("\n  "))
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

/// The way from one folder to another, by names alone. Both are absolute and plain.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let common = from
        .components()
        .zip(to.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.components().skip(common).map(|_| Path::new(".."));
    let down = to.components().skip(common).map(|part| Path::new(part.as_os_str()));
    up.chain(down).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_folder_is_found_from_another() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(way("/a/b", "/a/c/d"), "../c/d");
        assert_eq!(way("/t", "/r/x"), "../r/x");
        assert_eq!(way("/a", "/a/b"), "b");
    }

    #[test]
    fn the_chart_has_the_version_of_devgate() {
        let text = std::fs::read_to_string(chart().join("Chart.yaml")).unwrap();
        let chart: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        for key in ["version", "appVersion"] {
            assert_eq!(chart[key], env!("CARGO_PKG_VERSION"), "{key}");
        }
    }
}
