//! A scenario as it is written: what is played, and step by step what happens and what is expected.

mod expect;
mod pod;
mod read;
mod step;
#[cfg(test)]
mod tests;

pub(super) use expect::{Amount, Choice, Expect, LogLine, MountExpect, NodeExpect, PodExpect, Resource};
pub(super) use pod::PodSpec;
pub(super) use step::{Reload, Step, Verb};

use devgate::exit;
use devgate_fake_kubelet::KubeletVersion;
use devgate_policy::yaml;
use read::{Fields, Item, Report};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `kind` of every scenario.
const KIND: &str = "Scenario";
/// How long what is expected may take to come, where nothing else is said.
const WITHIN: Duration = Duration::from_secs(10);
/// The keys of a scenario.
const KEYS: [&str; 10] = [
    "apiVersion",
    "kind",
    "about",
    "policy",
    "policy-patch",
    "node",
    "components",
    "kubelet",
    "within",
    "steps",
];

/// One scenario. Its paths are ready to be opened.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) file: PathBuf,
    /// One line.
    pub(super) about: String,
    pub(super) policy: PathBuf,
    /// A merge patch over the policy.
    pub(super) patch: Option<yaml::Node>,
    pub(super) node: PathBuf,
    pub(super) components: Option<PathBuf>,
    pub(super) kubelet: KubeletVersion,
    pub(super) steps: Vec<Step>,
}

/// Reads a scenario.
///
/// # Errors
/// Everything that is wrong with it, with file, line and column; the exit code is that of a wrong command line.
pub(super) fn open(file: &Path) -> anyhow::Result<Scenario> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| exit::with_code(exit::USAGE, format!("scenario {}: {error}", file.display())))?;
    parse(file, &text).map_err(|wrong| exit::with_code(exit::USAGE, wrong))
}

/// The scenario that `text` is; `file` is for messages, and what its paths are relative to.
fn parse(file: &Path, text: &str) -> Result<Scenario, String> {
    let mut report = Report::new(file);
    let scenario = match yaml::read_as("a scenario", text) {
        Ok(node) => scenario(file, &node, &mut report),
        Err((at, message)) => {
            report.error(at, message);
            None
        }
    };
    match (scenario, report.text()) {
        (Some(scenario), None) => Ok(scenario),
        (_, wrong) => Err(wrong.unwrap_or_else(|| format!("{}: is no scenario", file.display()))),
    }
}

fn scenario(file: &Path, node: &yaml::Node, report: &mut Report<'_>) -> Option<Scenario> {
    let fields = Fields::open(node, "a scenario", &KEYS, report)?;
    for (key, wanted) in [("apiVersion", devgate_policy::API_VERSION), ("kind", KIND)] {
        if let Some(item) = fields.need(key, report)
            && item.text(report).is_some_and(|text| text != wanted)
        {
            item.wrong(&format!("\"{wanted}\""), report);
        }
    }
    let beside = |path: String| match file.parent() {
        Some(parent) => parent.join(path),
        None => PathBuf::from(path),
    };
    let about = fields.text("about", report).unwrap_or_default();
    let policy = fields.need_text("policy", report).map(beside);
    let on = fields.need_text("node", report).map(beside);
    let components = fields.text("components", report).map(beside);
    let patch = fields.get("policy-patch").filter(|item| {
        let mapping = matches!(item.node.value, yaml::Value::Map(_));
        if !mapping {
            item.wrong("a mapping", report);
        }
        mapping
    });
    let kubelet = fields.get("kubelet").map(|item| kubelet(&item, report));
    let within = fields.duration("within", report).unwrap_or(WITHIN);
    let mut steps = Vec::new();
    if let Some(item) = fields.need("steps", report) {
        for (n, node) in (1..).zip(item.list(report).unwrap_or_default()) {
            steps.extend(step::read(n, node, within, &beside, report));
        }
        if matches!(&item.node.value, yaml::Value::List(list) if list.is_empty()) {
            report.error(item.at, "a scenario has at least one step");
        }
    }
    Some(Scenario {
        file: file.to_owned(),
        about: about.lines().next().unwrap_or_default().to_owned(),
        policy: policy?,
        patch: patch.map(|item| item.node.clone()),
        node: on?,
        components,
        kubelet: kubelet.flatten().unwrap_or_default(),
        steps,
    })
}

fn kubelet(item: &Item<'_>, report: &mut Report<'_>) -> Option<KubeletVersion> {
    let fields = Fields::open(item.node, "\"kubelet\"", &["version"], report)?;
    let version = fields.get("version")?;
    let minor = |text: &str| text.strip_prefix("1.")?.parse().ok().map(KubeletVersion::minor);
    let known = |version: &KubeletVersion| (KubeletVersion::OLDEST..=KubeletVersion::NEWEST).contains(version);
    let parsed = minor(version.text(report)?).filter(known);
    if parsed.is_none() {
        version.wrong("a version from \"1.26\" to \"1.37\"", report);
    }
    parsed
}
