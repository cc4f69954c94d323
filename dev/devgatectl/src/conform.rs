//! `devgatectl conform`: a fixed battery against any component, and a scorecard.
//!
//! ```text
//!   policy + recorded node ─► Workbench (grants, gate) ─► FaultInjector (records, answers in the host's place) ─► sandbox ─► component
//!                               └── copies of the node, changed between two questions
//! ```
//!
//! Everything happens in this process, in a fixed order and without chance: the same component on the same node has the same
//! score.

mod answers;
mod attest;
mod conditions;
mod empty;
mod error_quality;
mod exclusive;
mod garbage;
mod harness;
mod health_transitions;
mod ids;
mod junit;
mod lifecycle;
mod limits;
mod loads;
mod optional;
mod parameters;
mod preference;
mod scale;
mod scorecard;
mod synthetic_devices;
mod text;
mod unplug;
mod values;

use crate::cli::ConformArgs;
use crate::signing_key::SigningKey;
use anyhow::Context;
use devgate::cli::Output;
use devgate::components::Components;
use devgate::help::Code;
use devgate::loader::ComponentLoader;
use devgate::progress::Progress;
use devgate::{exit, output, policy};
use devgate_core::Loader;
use devgate_fake_node::{Opened, RecordedNode};
use devgate_policy::PluginPolicy;
use devgate_runner::{Program, Programs, Runners};
use devgate_types::escape;
use harness::Harness;
use scorecard::{Grade, Group, Scorecard};
use serde::Serialize;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Report {
    /// The recorded node's file.
    node: String,
    plugins: Vec<PluginReport>,
}

#[derive(Debug, Serialize)]
struct PluginReport {
    plugin: String,
    groups: Vec<Group>,
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// Does a group's checks. Returns why those that it did not do could not be done, where that is not for lack of units.
type Run = fn(&Harness, &mut Scorecard) -> anyhow::Result<Option<String>>;

/// The groups of checks that need a component that answers, in the order of `checks.txt`.
const GROUPS: [(&str, Run); 14] = [
    ("answers", answers::run),
    ("empty", empty::run),
    ("unplug", unplug::run),
    ("garbage", garbage::run),
    ("health", health_transitions::run),
    ("exclusive", exclusive::run),
    ("ids", ids::run),
    ("limits", limits::run),
    ("scale", scale::run),
    ("preference", preference::run),
    ("lifecycle", lifecycle::run),
    ("parameters", parameters::run),
    ("conditions", conditions::run),
    // Last: about all that was said before.
    ("errors", error_quality::run),
];

/// What `help` says of the checks.
pub(crate) fn codes() -> Vec<Code> {
    let checks = scorecard::groups().into_iter().flat_map(|group| group.checks);
    let code = |check: scorecard::Check| Code {
        code: check.id,
        kind: "checked by `conform`",
        meaning: check.expected,
        remedy: check.remedy.unwrap_or_default(),
    };
    checks.map(code).collect()
}

/// Runs the command.
pub(crate) fn conform(args: &ConformArgs) -> anyhow::Result<u8> {
    if let Some(only) = &args.only {
        known(only)?;
    }
    let key = args.attest.as_deref().map(SigningKey::read).transpose()?;
    let (policy, _) = policy::read_of(&args.place)?;
    let root = &args.place.node_root;
    let opened = crate::node::either(root)?;
    let Opened::Recorded(node) = opened else {
        let message = format!(
            "node {}: is a live one; the battery takes devices away and changes attributes, so it needs a recorded node's file (--node-root FILE)",
            root.display()
        );
        return Err(exit::with_code(exit::NODE, message));
    };
    let is_meant = |plugin: &&PluginPolicy| args.plugin.as_ref().is_none_or(|name| plugin.name.as_str() == name);
    let plugins: Vec<_> = policy.plugins.values().filter(is_meant).collect();
    if plugins.is_empty() {
        let message = match &args.plugin {
            Some(name) => format!("the policy has no plugin {} (--plugin)", escape(name, 80)),
            None => "the policy has no plugin whose component could be tested".to_owned(),
        };
        return Err(exit::with_code(exit::POLICY, message));
    }
    let components = Components::looking(
        args.place.components().as_ref(),
        &args.place.registry,
        args.place.pull,
        Program::puller_or_own(),
    );
    let loader = ComponentLoader::new(Runners::new(Programs::beside_or_own()?, None)?, components.clone());
    let mut report = Report { node: escape(&root.to_string_lossy(), 1024), plugins: Vec::new() };
    for plugin in &plugins {
        let _progress = Progress::begin(format!("testing the component of plugin {}", plugin.name));
        report.plugins.push(PluginReport::of(args, plugin, &node, &components, &loader)?);
    }
    if let Some(file) = &args.junit {
        std::fs::write(file, junit::of(&report)).with_context(|| file.display().to_string())?;
    }
    if let Some(key) = &key {
        let subjects = plugins.iter().map(|plugin| attest::Subject::of(plugin, root, &components));
        attest::write(&args.attest_out, key, &report, &subjects.collect::<anyhow::Result<Vec<_>>>()?)?;
    }
    match args.output {
        Output::Text => output::print(&text::of(&report, &args.place.options()))?,
        Output::Json => output::print_json(&report)?,
    }
    let failed = report.plugins.iter().any(|card| card.failed > 0);
    Ok(if failed { exit::FOUND } else { exit::OK })
}

/// Refuses what names neither a group nor a check.
fn known(only: &str) -> anyhow::Result<()> {
    if !Scorecard::new(Some(only)).groups.is_empty() {
        return Ok(());
    }
    let groups: Vec<_> = scorecard::groups().iter().map(|group| group.name).collect();
    let message = format!(
        "there is no check or group {} (--only); the groups are {}, and docs/components.md says what each tries",
        escape(only, 80),
        groups.join(", ")
    );
    Err(exit::with_code(exit::USAGE, message))
}

impl PluginReport {
    fn of(
        args: &ConformArgs,
        plugin: &PluginPolicy,
        node: &RecordedNode,
        components: &Components,
        loader: &ComponentLoader,
    ) -> anyhow::Result<Self> {
        let mut card = Scorecard::new(args.only.as_deref());
        loads::run(loader.runners(), components, plugin, &mut card);
        let loaded = loader.load(plugin);
        let refused = loaded.as_ref().err().map(ToString::to_string);
        let starts = scorecard::Outcome::of("compiled, linked and instantiated", refused);
        card.record("loads.starts", starts);
        card.skip_rest("loads", "the file could not be read as a component");
        if loaded.is_ok() {
            optional::run(loader, components, plugin, node, &mut card)?;
        }
        card.skip_rest("optional", "nothing can be tried: the component is not loaded");
        let harness = match loaded {
            Err(_) => Err("the component is not loaded".to_owned()),
            Ok(component) => {
                let harness = Harness::new(plugin, node.clone(), component)?;
                if let Err(why) = &harness {
                    answers::failed(&mut card, why);
                }
                harness
            }
        };
        for (name, run) in GROUPS {
            if !card.groups.iter().any(|group| group.name == name) {
                continue;
            }
            let why = match &harness {
                Ok(harness) => run(harness, &mut card)?,
                Err(why) => Some(format!("nothing can be tried: {why}")),
            };
            card.skip_rest(name, why.as_deref().unwrap_or("there is no unit that it could be tried with"));
        }
        let count = |grade| card.groups.iter().map(|group| group.count(grade)).sum();
        Ok(Self {
            plugin: plugin.name.to_string(),
            passed: count(Grade::Passed),
            failed: count(Grade::Failed),
            skipped: count(Grade::Skipped),
            groups: card.groups,
        })
    }
}
