//! What an admin can choose: overlays, and the chart's values that mean the same.

use anyhow::{Context, Result};
use std::path::Path;

/// The oldest and the newest Kubernetes that manifests are held against: minor versions of 1.
pub(super) const OLDEST: u32 = 28;
pub(super) const NEWEST: u32 = 37;

/// A component of deploy/kustomize/overlays.
#[derive(Debug, PartialEq)]
pub(super) struct Overlay {
    pub(super) name: &'static str,
    /// The chart's value that chooses the same, as `--set` takes it.
    pub(super) value: &'static str,
    /// The first Kubernetes whose API server takes it.
    pub(super) least: u32,
    /// Another one that it is nothing without.
    needs: Option<&'static str>,
    /// Whether it says where components come from, which one does.
    pub(super) is_source: bool,
}

const fn overlay(name: &'static str, value: &'static str) -> Overlay {
    Overlay {
        name,
        value,
        least: OLDEST,
        needs: None,
        is_source: false,
    }
}

/// All of them, in the order in which they are to be given: `control` after `nics`.
pub(super) const OVERLAYS: &[Overlay] = &[
    overlay("nics", "overlays.nics=true"),
    overlay("control", "overlays.control=true"),
    overlay("kernel-log", "overlays.kernelLog=true"),
    overlay("cdi", "overlays.cdi=true"),
    overlay("nfd", "overlays.nfd=true"),
    overlay("device-info", "overlays.deviceInfo=true"),
    overlay("oci", "overlays.oci=true"),
    Overlay {
        needs: Some("oci"),
        ..overlay("oci-credentials", "oci.credentialsSecret=devgate-registry")
    },
    Overlay {
        needs: Some("oci"),
        ..overlay("oci-ca", "oci.caConfigMap=devgate-registry-ca")
    },
    Overlay {
        least: 31,
        is_source: true,
        ..overlay("image-volume", "components.source=image")
    },
    Overlay {
        is_source: true,
        ..overlay("config-map", "components.source=configMap")
    },
    Overlay {
        least: 30,
        ..overlay("recent", "overlays.recent=true")
    },
    overlay("monitoring", "overlays.monitoring=true"),
    overlay("alerts", "overlays.alerts=true"),
];

/// A kustomization that is whole by itself.
pub(super) struct Whole {
    pub(super) folder: &'static str,
    /// What it may have: lists of deploy/allowed.yaml.
    pub(super) lists: &'static [&'static str],
    pub(super) least: u32,
}

pub(super) const WHOLE: &[Whole] = &[
    Whole {
        folder: "overlays/example",
        lists: &["base", "nics", "device-info", "monitoring", "alerts", "recent"],
        least: 30,
    },
    Whole {
        folder: "overlays/group",
        lists: &["base", "kernel-log"],
        least: OLDEST,
    },
    Whole {
        folder: "cleanup",
        lists: &["cleanup"],
        least: OLDEST,
    },
];

/// Overlays that are chosen together.
pub(super) struct Case(pub(super) Vec<&'static Overlay>);

impl Case {
    pub(super) fn name(&self) -> String {
        if self.0.is_empty() {
            return "base".to_owned();
        }
        let names: Vec<&str> = self.0.iter().map(|overlay| overlay.name).collect();
        names.join("+")
    }

    /// What its pod may have: lists of deploy/allowed.yaml.
    pub(super) fn lists(&self) -> Vec<&'static str> {
        let names = self.0.iter().map(|overlay| overlay.name);
        std::iter::once("base").chain(names).collect()
    }

    pub(super) fn least(&self) -> u32 {
        self.0.iter().map(|overlay| overlay.least).max().unwrap_or(OLDEST)
    }
}

/// Which act on the same, one upon the other.
const TOGETHER: &[[&str; 2]] = &[["nics", "control"], ["image-volume", "recent"]];

/// None of them, each, those that touch each other, and all.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![nothing()];
    cases.extend(OVERLAYS.iter().map(|one| case(&|other| other == one)));
    cases.extend(
        TOGETHER
            .iter()
            .map(|names| case(&|overlay| names.contains(&overlay.name))),
    );
    let sources = OVERLAYS.iter().filter(|overlay| overlay.is_source);
    cases.extend(sources.map(|source| case(&|overlay| !overlay.is_source || overlay == source)));
    cases
}

/// The base alone.
pub(super) fn nothing() -> Case {
    Case(Vec::new())
}

/// With what they need, in the order of the table.
fn case(is_wanted: &dyn Fn(&Overlay) -> bool) -> Case {
    let brings = |name| {
        OVERLAYS
            .iter()
            .any(|overlay| is_wanted(overlay) && overlay.needs == Some(name))
    };
    let chosen = |overlay: &&Overlay| is_wanted(overlay) || brings(overlay.name);
    Case(OVERLAYS.iter().filter(chosen).collect())
}

/// Folders of overlays that the table does not know, and the other way round.
pub(super) fn problems(kustomize: &Path) -> Result<Vec<String>> {
    let folder = kustomize.join("overlays");
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
        found.push(entry?.file_name().to_string_lossy().into_owned());
    }
    found.sort();
    let whole = |name: &str| WHOLE.iter().any(|whole| whole.folder == format!("overlays/{name}"));
    for name in &found {
        if !whole(name) && !OVERLAYS.iter().any(|overlay| overlay.name == name) {
            problems.push(format!(
                "overlay {name}: nothing checks it; name it in xtask/src/manifests/choices.rs"
            ));
        }
    }
    for overlay in OVERLAYS {
        if !found.iter().any(|name| name == overlay.name) {
            problems.push(format!("overlay {}: it is not in {}", overlay.name, folder.display()));
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_overlay_is_alone_once_and_with_all_others() {
        let names: Vec<String> = cases().iter().map(Case::name).collect();
        for wanted in ["base", "nics", "oci+oci-ca", "nics+control", "monitoring"] {
            assert_eq!(names.iter().filter(|name| *name == wanted).count(), 1, "{wanted}");
        }
        assert!(
            names.iter().all(|name| !name.contains("image-volume+config-map")),
            "{names:?}"
        );
        let all = names
            .iter()
            .filter(|name| name.split('+').count() == OVERLAYS.len() - 1);
        assert_eq!(all.count(), 2, "with one source of components each");
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
    }

    #[test]
    fn the_newest_thing_in_a_case_decides() {
        let least = |name: &str| cases().iter().find(|case| case.name() == name).unwrap().least();
        assert_eq!(least("nics"), 28);
        assert_eq!(least("image-volume+recent"), 31);
    }

    #[test]
    fn an_overlay_that_nobody_checks_is_found() {
        let dir = tempfile::tempdir().unwrap();
        for overlay in OVERLAYS.iter().skip(1) {
            std::fs::create_dir_all(dir.path().join("overlays").join(overlay.name)).unwrap();
        }
        std::fs::create_dir_all(dir.path().join("overlays/backdoor")).unwrap();
        let problems = problems(dir.path()).unwrap();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(
            problems[0].starts_with("overlay backdoor: nothing checks it"),
            "{problems:?}"
        );
        assert!(problems[1].starts_with("overlay nics: it is not in "), "{problems:?}");
    }
}
