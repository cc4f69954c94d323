//! `devgate explain`: why something is offered, or is not.

mod device;
mod find;
mod summary;
mod text;
mod unit;

pub use find::named;

use crate::cli::ExplainArgs;
use crate::monitoring::Report;
use crate::node::Sources;
use crate::status::ask;
use crate::survey::survey;
use crate::{exit, output, policy};
use anyhow::Context;
use devgate_core::Surveyed;
use devgate_node::Node;
use devgate_policy::{PluginPolicy, Policy};
use devgate_types::escape;
use serde::Serialize;
use std::path::Path;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Explanation {
    what: String,
    /// Whether something of it is offered and can be allocated.
    offered: bool,
    /// The answer in one sentence.
    summary: String,
    /// The node that was asked for, if it was one.
    node: Option<device::ExplainedNode>,
    /// The kernel devices that it is, or belongs to.
    devices: Vec<device::ExplainedDevice>,
    /// The plugins that have to do with it, and how far each gets.
    plugins: Vec<unit::ExplainedPlugin>,
    /// The units that it is, or is part of.
    units: Vec<unit::ExplainedUnit>,
    /// What the gate did not let through.
    rejected: Vec<unit::RejectionFacts>,
    /// What `only` or `except` leaves out.
    left_out: Vec<unit::LeftOutFacts>,
    /// What components said while they were asked, and what they asked for and did not get.
    said: Vec<unit::Said>,
}

/// All that is looked at.
struct World {
    policy: Policy,
    node: Node,
    surveyed: Vec<Surveyed>,
    /// What the host says that runs here, if one does.
    running: Option<Report>,
}

/// Runs the command.
pub(crate) fn explain(args: &ExplainArgs, sources: Sources) -> anyhow::Result<u8> {
    let world = World::look(args, sources)?;
    let explanation = world.explain(&args.what)?;
    let next = format!("\nnext: {} check --run{}\n", output::program(), args.place.options());
    let next = if explanation.offered { "" } else { &next };
    output::show(args.output, &explanation, |it| text::of_explanation(it) + next)?;
    Ok(if explanation.offered { exit::OK } else { exit::FOUND })
}

impl World {
    fn look(args: &ExplainArgs, sources: Sources) -> anyhow::Result<Self> {
        let running = args.running().and_then(|socket| ask_running(&socket));
        let args = &args.place;
        let (policy, _) = policy::read_of(args)?;
        let node = (sources.node)(&args.node_root)?;
        let components = args.looking((sources.puller)());
        Ok(Self { surveyed: survey(sources.runners(None)?, components, &policy, &node), policy, node, running })
    }

    /// The plugins in the policy's order, each with what it would do here.
    fn plugins(&self) -> impl Iterator<Item = (&PluginPolicy, &Surveyed)> {
        self.policy.plugins.values().zip(&self.surveyed)
    }

    fn explain(&self, what: &str) -> anyhow::Result<Explanation> {
        let target = find::find(self, what);
        let devices = target.devices.iter().map(|device| {
            let facts = device::device_facts(self, device);
            facts.with_context(|| device.name().to_owned())
        });
        let units = unit::units(self, &target);
        let mut explanation = Explanation {
            what: escape(what, 256),
            offered: units.iter().any(|unit| unit.unhealthy.is_none()),
            summary: String::new(),
            node: target.node.as_deref().map(|path| device::node_facts(self, path)),
            devices: devices.collect::<anyhow::Result<_>>()?,
            plugins: unit::plugins(self, &target),
            units,
            rejected: Vec::new(),
            left_out: unit::left_out(self, &target),
            said: Vec::new(),
        };
        // What was rejected is known by its id alone: of a device, that of the plugins that see it is shown.
        let mut rejected = unit::rejected(self, &target);
        rejected.retain(|it| it.what.contains(target.id()) || explanation.concerns(&it.plugin));
        explanation.rejected = rejected;
        explanation.said = unit::said(self, &explanation);
        explanation.summary = summary::of(&explanation, &target);
        Ok(explanation)
    }
}

/// What the host behind a socket says. Without one there is nothing that it would remember.
fn ask_running(socket: &Path) -> Option<Report> {
    if !socket.exists() {
        return None;
    }
    ask::block_on(ask::ask(socket)).flatten().inspect_err(exit::say).ok()
}

impl Explanation {
    /// Whether a plugin may have to do with it. One that does not work may be why an id is not known, but not why a device is
    /// not offered that it does not see.
    fn concerns(&self, plugin: &str) -> bool {
        if self.devices.is_empty() && self.node.is_none() {
            return true;
        }
        let mut sights = self.devices.iter().flat_map(|device| &device.plugins);
        let mut listed = self.node.iter().flat_map(|node| &node.plugins);
        sights.any(|sight| sight.usage.is_some() && sight.plugin == plugin)
            || listed.any(|listed| listed.plugin == plugin)
    }
}
