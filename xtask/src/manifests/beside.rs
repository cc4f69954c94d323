//! A container of somebody else's beside devgate's, such as one that a mesh or a log shipper adds: every overlay goes to devgate's all
//! the same, whichever comes first.

use super::choices::{OVERLAYS, Overlay};
use super::{Programs, facts, relative, render, work};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// Puts it first, before all overlays.
const BESIDE: &str = "\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
  - target: {kind: DaemonSet}
    patch: |
      - op: add
        path: /spec/template/spec/containers/0
        value: {name: beside, image: example.com/beside}
";

/// What it changes but for itself, with all overlays that go together.
pub(super) fn problems(programs: &Programs, kustomize: &Path) -> Result<Vec<String>> {
    let mut facts = Vec::new();
    for first in [None, Some("beside")] {
        let folder = work("beside")?;
        let own = folder.join("beside");
        std::fs::create_dir_all(&own).with_context(|| format!("make {}", own.display()))?;
        let write = |path: &Path, text: &str| std::fs::write(path, text).with_context(|| path.display().to_string());
        write(&own.join("kustomization.yaml"), BESIDE)?;
        let way = |part: &Path| relative(&folder, part).display().to_string();
        let overlays = OVERLAYS.iter().filter(|overlay| !overlay.is_source);
        let overlays = overlays.map(|Overlay { name, .. }| way(&kustomize.join("overlays").join(name)));
        let components: Vec<String> = first.map(str::to_owned).into_iter().chain(overlays).collect();
        let text = format!(
            "resources: [\"{}\"]\ncomponents: {components:?}\n",
            way(&kustomize.join("base"))
        );
        write(&folder.join("kustomization.yaml"), &text)?;
        facts.push(facts::of(&render::whole(programs, &folder)?));
    }
    let [without, with] = facts.as_slice() else {
        return Ok(Vec::new());
    };
    Ok(differences(without, with))
}

fn differences(without: &BTreeSet<String>, with: &BTreeSet<String>) -> Vec<String> {
    let own = "container beside".to_owned();
    let with: BTreeSet<_> = with.iter().filter(|fact| **fact != own).cloned().collect();
    let changed = without.symmetric_difference(&with);
    changed
        .map(|fact| format!("kustomize, with another container before devgate's: an overlay misses it: \"{fact}\""))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_other_container_itself_may_be_new() {
        let set = |facts: &[&str]| facts.iter().map(|fact| (*fact).to_owned()).collect::<BTreeSet<_>>();
        let without = set(&["container devgate", "devgate: option --x"]);
        let with = set(&["container devgate", "container beside", "devgate: option --x"]);
        assert_eq!(differences(&without, &with), [""; 0]);
        let missed = set(&["container devgate", "container beside", "beside: option --x"]);
        assert_eq!(differences(&without, &missed).len(), 2);
    }
}
