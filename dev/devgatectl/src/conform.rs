//! `devgatectl conform`: a fixed battery against any component, and a scorecard.
//!
//! ```text
//!   policy + recorded node ─► Bench (grants, gate) ─► Meddler (records, answers in the host's place) ─► sandbox ─► component
//!                               └── copies of the node, changed between two questions
//! ```
//!
//! Everything happens in this process, in a fixed order and without chance: the same component on the same node has the same
//! score, figures of time aside.

mod answers;
mod clone;
mod complaints;
mod empty;
mod exclusive;
mod flips;
mod garbage;
mod headroom;
mod ids;
mod junit;
mod loads;
mod meddler;
mod optional;
mod scale;
mod sheet;
mod subject;
mod text;
mod thing;
mod unplug;
mod values;

use crate::cli::ConformArgs;
use anyhow::Context;
use devgate::cli::Output;
use devgate::components::Components;
use devgate::loader::SandboxLoader;
use devgate::progress::Progress;
use devgate::{exit, output, policy};
use devgate_core::Loader;
use devgate_fake_node::{Opened, RecordedNode};
use devgate_policy::PluginPolicy;
use devgate_sandbox::{Allocation, Engine};
use devgate_types::escape;
use serde::Serialize;
use sheet::{Grade, Group, Rule, Sheet};
use std::time::Duration;
use subject::{Baseline, Call, Subject};

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Report {
    /// The recorded node's file.
    node: String,
    plugins: Vec<Scorecard>,
}

/// One plugin's.
#[derive(Debug, Serialize)]
struct Scorecard {
    plugin: String,
    component: loads::Facts,
    groups: Vec<Group>,
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Nothing where the component does not answer.
    figures: Option<Figures>,
}

/// What the component costs here; not part of the score.
#[derive(Debug, Serialize)]
struct Figures {
    units: usize,
    /// The middle of many calls, each in a fresh instance, in microseconds.
    enumerate_us: u128,
    /// Of one unit; nothing where none can be allocated.
    allocate_us: Option<u128>,
    /// The most linear memory of any call, in bytes.
    memory: u64,
    /// Calls to the host of one `enumerate`.
    host_calls: u32,
}

/// A group of the battery: what it is called, and its rules.
const GROUPS: [(&str, &str, &[&Rule]); 13] = [
    ("loads", "the file, its imports and exports", loads::RULES),
    ("answers", "what it says of the node as recorded", answers::RULES),
    ("empty", "a node without the hardware", empty::RULES),
    ("unplug", "devices that go away, also during a call", unplug::RULES),
    (
        "garbage",
        "attributes, files, links and directories that are not as they should be",
        garbage::RULES,
    ),
    ("health", "what makes a unit unhealthy, and well again", flips::RULES),
    ("exclusive", "no hardware in two units", exclusive::RULES),
    ("ids", "units in any order, again, none, and nobody's", ids::RULES),
    ("limits", "twice the room that it needs", headroom::RULES),
    ("scale", "a thousand devices", scale::RULES),
    ("preference", "which units it chooses, if it does", optional::PREFERENCE),
    (
        "lifecycle",
        "making units ready and releasing them, if it does",
        optional::LIFECYCLE,
    ),
    // Last: about all that was said before.
    ("errors", "what it said of all this", complaints::RULES),
];

/// Runs the command.
pub(crate) fn conform(args: &ConformArgs) -> anyhow::Result<u8> {
    if let Some(only) = &args.only {
        known(only)?;
    }
    let policy = policy::read(&args.place.policy)?;
    let root = &args.place.node_root;
    let opened = crate::node::either(root)?;
    let Opened::Recorded(node) = opened else {
        let message = format!(
            "node {}: is a live one; the battery takes devices away and changes attributes, so it needs a recorded node's file (--node-root FILE)",
            root.display()
        );
        return Err(exit::with_code(exit::NODE, message));
    };
    let plugins: Vec<_> = match &args.plugin {
        None => policy.plugins.values().collect(),
        Some(name) => policy
            .plugins
            .values()
            .filter(|plugin| plugin.name.as_str() == name)
            .collect(),
    };
    if plugins.is_empty() {
        let name = escape(args.plugin.as_deref().unwrap_or_default(), 80);
        return Err(exit::with_code(
            exit::POLICY,
            format!("the policy has no plugin {name} (--plugin)"),
        ));
    }
    let engine = Engine::new(Allocation::OnDemand, None).context("start the sandbox")?;
    let components = Components::looking(args.place.components().as_ref(), &args.place.registry, args.place.pull);
    let loader = SandboxLoader::new(engine, components.clone());
    let mut report = Report {
        node: escape(&root.to_string_lossy(), 1024),
        plugins: Vec::new(),
    };
    for plugin in plugins {
        let _progress = Progress::begin(format!("testing the component of plugin {}", plugin.name));
        report
            .plugins
            .push(Scorecard::of(args, plugin, &node, &components, &loader)?);
    }
    if let Some(file) = &args.junit {
        std::fs::write(file, junit::of(&report)).with_context(|| file.display().to_string())?;
    }
    match args.output {
        Output::Text => output::print(&text::of(&report))?,
        Output::Json => output::print_json(&report)?,
    }
    let failed = report.plugins.iter().any(|card| card.failed > 0);
    Ok(if failed { exit::FOUND } else { exit::OK })
}

/// Whether there is such a group or check.
fn known(only: &str) -> anyhow::Result<()> {
    let is = |(name, _, rules): &(&str, &str, &[&Rule])| *name == only || rules.iter().any(|rule| rule.id == only);
    if GROUPS.iter().any(is) {
        return Ok(());
    }
    let groups: Vec<_> = GROUPS.iter().map(|(name, ..)| *name).collect();
    let message = format!(
        "there is no check or group {} (--only); the groups are {}, and docs/conform.md has their checks",
        escape(only, 80),
        groups.join(", ")
    );
    Err(exit::with_code(exit::USAGE, message))
}

impl Scorecard {
    fn of(
        args: &ConformArgs,
        plugin: &PluginPolicy,
        node: &RecordedNode,
        components: &Components,
        loader: &SandboxLoader,
    ) -> anyhow::Result<Self> {
        let again = again(args, plugin);
        let only = args.only.as_deref();
        let mut sheets = GROUPS.map(|(name, title, rules)| Some(Sheet::new(name, title, rules, only, &again)));
        let mut sheet = |name: &str| {
            let place = GROUPS.iter().position(|(group, ..)| *group == name);
            place.and_then(|place| sheets.get_mut(place)?.take())
        };
        let mut groups = Vec::new();
        let mut facts = loads::Facts::default();
        let mut subject = None;
        if let Some(mut sheet) = sheet("loads") {
            facts = loads::run(components, plugin, &mut sheet);
            let loaded = loader.load(plugin);
            loads::starts(&mut sheet, loaded.as_ref().err().map(ToString::to_string));
            subject = loaded
                .ok()
                .map(|component| Subject::new(plugin, node.clone(), component));
            groups.push(sheet.finish("the file could not be read as a component"));
        }
        let baseline = match &subject {
            None => Err("the component is not loaded".to_owned()),
            Some(subject) => Baseline::of(subject)?,
        };
        let figures = match (&subject, &baseline) {
            (Some(subject), Ok(baseline)) => Figures::of(subject, baseline)?,
            _ => None,
        };
        for (name, ..) in GROUPS.iter().skip(1) {
            let Some(mut sheet) = sheet(name) else { continue };
            let why = match (&subject, &baseline) {
                (Some(subject), Ok(baseline)) => {
                    let why = match sheet.is_wanted() {
                        true => group(name, subject, baseline, &mut sheet)?,
                        false => None,
                    };
                    why.unwrap_or_else(|| "there is no unit that it could be tried with".to_owned())
                }
                (_, Err(why)) => {
                    if subject.is_some() && *name == "answers" {
                        answers::failed(&mut sheet, why);
                    }
                    format!("nothing can be tried: {why}")
                }
                (None, Ok(_)) => String::new(),
            };
            groups.push(sheet.finish(&why));
        }
        groups.retain(|group| !group.checks.is_empty());
        let count = |grade| groups.iter().map(|group| group.count(grade)).sum();
        Ok(Self {
            plugin: plugin.name.to_string(),
            component: facts,
            passed: count(Grade::Passed),
            failed: count(Grade::Failed),
            skipped: count(Grade::Skipped),
            groups,
            figures,
        })
    }
}

/// Does a group's checks. Returns why those that it did not do could not be done, where that is not for lack of units.
fn group(name: &str, subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> anyhow::Result<Option<String>> {
    match name {
        "answers" => answers::run(subject, baseline, sheet)?,
        "empty" => empty::run(subject, baseline, sheet)?,
        "unplug" => unplug::run(subject, baseline, sheet)?,
        "garbage" => garbage::run(subject, baseline, sheet)?,
        "health" => return flips::run(subject, baseline, sheet),
        "exclusive" => return Ok(exclusive::run(subject, baseline, sheet)),
        "ids" => ids::run(subject, baseline, sheet)?,
        "limits" => headroom::run(subject, baseline, sheet)?,
        "scale" => return scale::run(subject, baseline, sheet),
        "preference" => return optional::preference(subject, baseline, sheet),
        "lifecycle" => return optional::lifecycle(subject, baseline, sheet),
        "errors" => complaints::run(subject, baseline, sheet)?,
        _ => {}
    }
    Ok(None)
}

/// The command that was given, without what says how to show it.
fn again(args: &ConformArgs, plugin: &PluginPolicy) -> String {
    let shown = |path: &std::path::Path| escape(&path.to_string_lossy(), 1024);
    let mut command = "devgatectl conform".to_owned();
    for policy in &args.place.policy {
        command += &format!(" --policy {}", shown(policy));
    }
    if let Some(components) = args.place.components() {
        command += &format!(" --components {}", shown(&components));
    }
    command += &format!(" --node-root {} --plugin {}", shown(&args.place.node_root), plugin.name);
    command
}

impl Figures {
    fn of(subject: &Subject, baseline: &Baseline) -> anyhow::Result<Option<Self>> {
        let micros = |time: Duration| time.as_micros();
        let Some(enumerate) = headroom::waited(subject, baseline, &Call::Enumerate)? else {
            return Ok(None);
        };
        let allocate = baseline
            .calls
            .iter()
            .find(|(call, ..)| matches!(call, Call::Allocate(..)));
        let allocate = match allocate {
            Some((call, ..)) => headroom::waited(subject, baseline, call)?,
            None => None,
        };
        let costs = || baseline.calls.iter().filter_map(|(_, _, seen)| seen.cost);
        Ok(Some(Self {
            units: baseline.units().count(),
            enumerate_us: micros(enumerate),
            allocate_us: allocate.map(micros),
            memory: costs().map(|cost| cost.memory.0).max().unwrap_or_default(),
            host_calls: costs().next().map(|cost| cost.host_calls).unwrap_or_default(),
        }))
    }
}
