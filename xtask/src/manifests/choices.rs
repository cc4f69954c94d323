//! What an admin can choose: overlays, by the chart's values.

use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// The oldest and the newest Kubernetes that manifests are held against: minor versions of 1.
pub(super) const OLDEST: u32 = 28;
pub(super) const NEWEST: u32 = 37;

/// Something that the pod may have besides.
#[derive(Debug, PartialEq)]
pub(super) struct Overlay {
    pub(super) name: &'static str,
    /// The chart's value that chooses it, as `--set` takes it.
    pub(super) value: &'static str,
    /// The first Kubernetes whose API server takes it.
    pub(super) least: u32,
    /// Another one that it is nothing without.
    needs: Option<&'static str>,
    /// Whether it says where components come from, which one does.
    pub(super) is_source: bool,
}

const fn overlay(name: &'static str, value: &'static str) -> Overlay {
    Overlay { name, value, least: OLDEST, needs: None, is_source: false }
}

/// All of them.
pub(super) const OVERLAYS: &[Overlay] = &[
    overlay("nics", "overlays.nics=true"),
    overlay("control", "overlays.control=true"),
    overlay("kernel-log", "overlays.kernelLog=true"),
    overlay("cdi", "overlays.cdi=true"),
    overlay("cdi-edits", "overlays.cdiEdits=true"),
    overlay("nfd", "overlays.nfd=true"),
    overlay("device-info", "overlays.deviceInfo=true"),
    overlay("oci", "overlays.oci=true"),
    Overlay { needs: Some("oci"), ..overlay("oci-credentials", "oci.credentialsSecret=devgate-registry") },
    Overlay { needs: Some("oci"), ..overlay("oci-ca", "oci.caConfigMap=devgate-registry-ca") },
    Overlay { least: 31, is_source: true, ..overlay("image-volume", "components.source=image") },
    Overlay { is_source: true, ..overlay("config-map", "components.source=configMap") },
    overlay("dra", "overlays.dra=true"),
    overlay("events", "overlays.events=true"),
    overlay("node-condition", "overlays.nodeCondition=true"),
    Overlay { least: 30, ..overlay("recent", "overlays.recent=true") },
    overlay("monitoring", "overlays.monitoring=true"),
    overlay("alerts", "overlays.alerts=true"),
    overlay("scc", "scc.create=true"),
];

/// The list of what each has that brings an agent.
pub(super) const AGENT: &str = "agent";

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
        let agent = names.clone().any(|name| ["dra", "events", "node-condition"].contains(&name)).then_some(AGENT);
        std::iter::once("base").chain(agent).chain(names).collect()
    }

    pub(super) fn least(&self) -> u32 {
        self.0.iter().map(|overlay| overlay.least).max().unwrap_or(OLDEST)
    }
}

/// Which act on the same, one upon the other.
const TOGETHER: &[[&str; 2]] = &[["nics", "control"], ["image-volume", "recent"], ["dra", "node-condition"]];

/// None of them, each, those that touch each other, and all.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![nothing()];
    cases.extend(OVERLAYS.iter().map(|one| case(&|other| other == one)));
    cases.extend(TOGETHER.iter().map(|names| case(&|overlay| names.contains(&overlay.name))));
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
    let brings = |name| OVERLAYS.iter().any(|overlay| is_wanted(overlay) && overlay.needs == Some(name));
    let chosen = |overlay: &&Overlay| is_wanted(overlay) || brings(overlay.name);
    Case(OVERLAYS.iter().filter(chosen).collect())
}

/// Overlays in the chart's values that the table does not know.
pub(super) fn problems(chart: &Path) -> Result<Vec<String>> {
    let file = chart.join("values.yaml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let values: Value = serde_saphyr::from_str(&text).with_context(|| file.display().to_string())?;
    let found = values.pointer("/overlays").and_then(Value::as_object);
    let found = found.with_context(|| format!("{} has no overlays", file.display()))?;
    let is_known = |name: &str| {
        let value = format!("overlays.{name}=true");
        OVERLAYS.iter().any(|overlay| overlay.value == value)
    };
    let unknown = found.keys().filter(|name| !is_known(name));
    let told =
        unknown.map(|name| format!("overlays.{name}: nothing checks it; name it in xtask/src/manifests/choices.rs"));
    Ok(told.collect())
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
        assert!(names.iter().all(|name| !name.contains("image-volume+config-map")), "{names:?}");
        let all = names.iter().filter(|name| name.split('+').count() == OVERLAYS.len() - 1);
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
        std::fs::write(dir.path().join("values.yaml"), "overlays: {nics: false, backdoor: false}").unwrap();
        let problems = problems(dir.path()).unwrap();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("overlays.backdoor: nothing checks it"), "{problems:?}");
    }
}
