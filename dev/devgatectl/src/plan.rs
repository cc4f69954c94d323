//! `devgatectl plan`: what a change of the policy does on recorded nodes, before it is done.
//!
//! ```text
//!   OLD ─► Side ─┐                      ┌─ text
//!                ├─ on each node ─► NodePlan ─ markdown
//!   NEW ─► Side ─┘   (survey, bench)    └─ JSON
//! ```

mod change;
mod nodes;
mod offered;
mod side;
mod text;

use crate::cli::{PlanArgs, PlanOutput};
use change::NodePlan;
use devgate::cli::RegistryArgs;
use devgate::components::Components;
use devgate::progress::Progress;
use devgate::{exit, output};
use devgate_runner::{CodeCache, Program};
use devgate_types::escape;
use serde::Serialize;
use side::Side;
use std::path::{Path, PathBuf};

/// Something changes, and nothing that is held goes.
const CHANGES: u8 = 10;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Plan {
    old: String,
    new: String,
    nodes: Vec<NodePlan>,
}

/// Which policies, on which nodes.
pub(crate) struct Paths<'a> {
    pub(crate) old: &'a Path,
    pub(crate) new: &'a Path,
    pub(crate) nodes: &'a [PathBuf],
    /// Where the components' files are; beside the policies where that is not said.
    pub(crate) components: Option<&'a PathBuf>,
    pub(crate) old_components: Option<&'a PathBuf>,
}

/// Runs the command.
pub(crate) fn plan(args: &PlanArgs) -> anyhow::Result<u8> {
    let paths = Paths {
        old: &args.old,
        new: &args.new,
        nodes: &args.nodes,
        components: args.components.as_ref(),
        old_components: args.old_components.as_ref().or(args.components.as_ref()),
    };
    let plan = Plan::of(&paths, &args.registry, args.pull)?;
    match args.output {
        PlanOutput::Text => output::print(&text::plain(&plan))?,
        PlanOutput::Markdown => output::print(&text::markdown(&plan))?,
        PlanOutput::Json => output::print_json(&plan)?,
    }
    Ok(plan.code())
}

/// A plan for people, for other commands.
pub(crate) fn shown(paths: &Paths<'_>, registry: &RegistryArgs) -> anyhow::Result<String> {
    let plan = Plan::of(paths, registry, true)?;
    Ok(text::plain(&Plan { new: "the same with the other component".to_owned(), ..plan }))
}

impl Plan {
    fn of(paths: &Paths<'_>, registry: &RegistryArgs, pull: bool) -> anyhow::Result<Self> {
        let nodes = nodes::read(paths.nodes)?;
        let kept = tempfile::tempdir()?;
        let side = |policy: &Path, components: Option<&PathBuf>| {
            let code = CodeCache::open(&kept.path().join("code"))?;
            let components = Components::looking(components, registry, pull, Program::puller_or_own());
            Side::read(policy, components, code)
        };
        let (old, new) = (side(paths.old, paths.old_components)?, side(paths.new, paths.components)?);
        let mut plan = Self { old: named(paths.old), new: named(paths.new), nodes: Vec::new() };
        for node in &nodes {
            let _progress = Progress::begin(format!("asking the components of both policies on node {}", node.name));
            plan.nodes.push(NodePlan::of(node, &old.on(&node.recorded)?, &new.on(&node.recorded)?));
        }
        Ok(plan)
    }

    fn code(&self) -> u8 {
        if self.nodes.iter().any(NodePlan::costs) {
            return exit::FOUND;
        }
        if self.nodes.iter().any(NodePlan::changes) { CHANGES } else { exit::OK }
    }
}

fn named(path: &Path) -> String {
    escape(&path.to_string_lossy(), 1024)
}
