//! A scenario as it is written: what is played, and step by step what happens and what is expected.

mod expect;
mod pod;
mod read;
mod step;
#[cfg(test)]
mod tests;

pub(super) use expect::{Amount, Choice, Expect, LogLine, PathExpect, PodExpect, Resource, mount_mode};
pub(super) use step::{Step, Verb};

use devgate::exit;
use devgate_fake_kubelet::KubeletVersion;
use devgate_policy::yaml;
use read::{Fields, Item, Read, Report};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `kind` of every scenario.
const KIND: &str = "Scenario";
/// How long what is expected may take to come, where nothing else is said.
const WITHIN: Duration = Duration::from_secs(10);
/// The keys of a scenario.
const KEYS: &str = "apiVersion kind about policy policy-patch node components kubelet within steps";

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
    let report = Report::default();
    let scenario = match yaml::read_as("a scenario", text) {
        Ok(node) => scenario(file, &node, &report),
        Err((at, message)) => {
            report.error(at, message);
            None
        }
    };
    let wrong = report.text(file);
    scenario.filter(|_| wrong.is_empty()).ok_or(wrong)
}

fn scenario(file: &Path, node: &yaml::Node, report: &Report) -> Option<Scenario> {
    let (key, at) = ("", node.at);
    let all = Item { key, at, node, report };
    let fields = all.fields("a scenario", KEYS)?;
    for (key, wanted) in [("apiVersion", devgate_policy::API_VERSION), ("kind", KIND)] {
        if let Some(item) = fields.need_item(key)
            && String::read(item).is_some_and(|text| text != wanted)
        {
            item.wrong::<()>(&format!("\"{wanted}\""));
        }
    }
    let beside = |path: String| file.parent().unwrap_or(Path::new("")).join(path);
    let about: String = fields.get("about").unwrap_or_default();
    let policy = fields.need("policy").map(beside);
    let on = fields.need("node").map(beside);
    let kubelet = fields.item("kubelet").and_then(|item| item.fields("\"kubelet\"", "version"));
    let kubelet = kubelet.and_then(|fields| fields.get("version"));
    let within = fields.get("within").unwrap_or(WITHIN);
    let list = fields.need_item("steps").and_then(|item| Some((item.at, item.list()?)));
    let (at, list) = list.unwrap_or_default();
    let steps: Vec<_> = list.iter().zip(1..).filter_map(|(item, n)| step::read(n, item, within, &beside)).collect();
    if at.line > 0 && list.is_empty() {
        report.error(at, "a scenario has at least one step");
    }
    Some(Scenario {
        file: file.to_owned(),
        about: about.lines().next().unwrap_or_default().to_owned(),
        patch: patch(&fields),
        components: fields.get("components").map(beside),
        kubelet: kubelet.unwrap_or_default(),
        policy: policy?,
        node: on?,
        steps,
    })
}

/// A merge patch over a policy.
fn patch(fields: &Fields<'_>) -> Option<yaml::Node> {
    let item = fields.item("policy-patch")?;
    if item.is_map() { Read::read(item) } else { item.wrong("a mapping") }
}

impl Read for KubeletVersion {
    fn read(item: &Item<'_>) -> Option<Self> {
        let text = String::read(item)?;
        let minor = text.strip_prefix("1.").and_then(|minor| minor.parse().ok());
        let known = |version: &Self| (Self::OLDEST..=Self::NEWEST).contains(version);
        let version = minor.map(Self::minor).filter(known);
        version.or_else(|| item.wrong("a version from \"1.26\" to \"1.37\""))
    }
}
