//! The chart rendered by Helm, for who applies files or has a kustomization: once plain and once for each of its profiles.

use super::choices::OLDEST;
use super::render;
use crate::process;
use anyhow::{Context, Result};
use std::path::Path;

/// One rendering of the chart that a release carries.
pub(super) struct Profile {
    /// Its folder in a release, and its values in the chart's profiles, if it has some.
    pub(super) name: &'static str,
    has_values: bool,
    /// The release of Helm that it would be, and its namespace.
    pub(super) release: &'static str,
    /// The one template of which it is made, if it is something beside a devgate.
    pub(super) only: Option<&'static str>,
    /// What it may have: lists of deploy/allowed.yaml.
    pub(super) lists: &'static [&'static str],
    /// The first Kubernetes whose API server takes it.
    pub(super) least: u32,
}

const fn profile(name: &'static str, lists: &'static [&'static str]) -> Profile {
    Profile { name, has_values: true, release: render::NAME, only: None, lists, least: OLDEST }
}

/// All of them, which docs/install.md lists.
pub(super) const PROFILES: &[Profile] = &[
    Profile { has_values: false, ..profile("plain", &["base"]) },
    profile("gpu", &["base", "kernel-log"]),
    Profile { least: 30, ..profile("nic", &["base", "nics", "device-info", "recent"]) },
    profile("storage", &["base"]),
    Profile { only: Some("templates/podmonitor.yaml"), ..profile("monitoring", &["monitoring"]) },
    Profile { only: Some("templates/prometheusrule.yaml"), ..profile("alerts", &["alerts"]) },
    Profile { release: "devgate-cleanup", ..profile("cleanup", &["cleanup"]) },
];

/// The manifests in a profile's folder.
pub(super) const FILE: &str = "devgate.yaml";

/// Makes them a base of other kustomizations.
const KUSTOMIZATION: &str = "\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - devgate.yaml
";

/// Writes each profile into a folder of its name, beneath one that must be there.
pub(crate) fn write(helm: &Path, chart: &Path, folder: &Path) -> Result<()> {
    for profile in PROFILES {
        let own = folder.join(profile.name);
        std::fs::create_dir_all(&own).with_context(|| format!("create {}", own.display()))?;
        for (name, text) in [(FILE, profile.text(helm, chart)?), ("kustomization.yaml", KUSTOMIZATION.to_owned())] {
            let file = own.join(name);
            std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
        }
    }
    Ok(())
}

impl Profile {
    fn text(&self, helm: &Path, chart: &Path) -> Result<String> {
        let mut command = render::template(helm, chart, self.release);
        if self.has_values {
            let values = format!("{}.yaml", self.name);
            command.arg("--values").arg(chart.join("profiles").join(values));
        }
        let Some(template) = self.only else {
            return render::whole(&mut command, self.release);
        };
        Ok(render::of_nobody(&process::read(command.args(["--show-only", template]))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_profile_is_known_and_nothing_else_is_there() {
        let found = std::fs::read_dir(crate::manifests::chart().join("profiles")).unwrap();
        let found: BTreeSet<_> = found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let known = PROFILES.iter().filter(|profile| profile.has_values);
        let known: BTreeSet<_> = known.map(|profile| format!("{}.yaml", profile.name)).collect();
        assert_eq!(found, known, "nothing checks what is not in the table");
    }
}
