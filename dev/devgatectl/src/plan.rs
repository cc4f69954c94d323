//! `devgatectl plan`: what a change of the policy does on recorded nodes, before it is done.
//!
//! ```text
//!   OLD ─► Side ─┐                      ┌─ text
//!                ├─ on each node ─► NodePlan ─ markdown
//!   NEW ─► Side ─┘   (survey, bench)    └─ JSON
//! ```

mod change;
mod costs;
mod nodes;
mod offered;
mod side;
mod text;

pub(crate) use change::NodePlan;
pub(crate) use costs::CallCost;
pub(crate) use nodes::KnownNode;
pub(crate) use offered::Offered;
pub(crate) use side::Side;
pub(crate) use text::changes;

use crate::cli::{PlanArgs, PlanOutput};
use devgate::components::Components;
use devgate::progress::Progress;
use devgate::{exit, output, policy};
use devgate_runner::{CodeCache, Program};
use devgate_types::escape;
use nodes::PlannedNode;
use serde::Serialize;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Something changes, and nothing that is held goes.
const CHANGES: u8 = 10;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Plan {
    old: String,
    new: String,
    nodes: Vec<NodePlan>,
    /// The options that name the new policy to another command; `None` where it is in no file.
    #[serde(skip)]
    options: Option<String>,
}

/// Runs the command.
pub(crate) fn plan(args: &PlanArgs) -> anyhow::Result<u8> {
    let nodes = nodes::read(&args.nodes)?;
    let kept = Kept::new()?;
    let side = |path: &Path, components: Option<&PathBuf>| {
        let components = Components::looking(components, &args.registry, args.pull, Program::puller_or_own());
        Side::new(policy::read(&[path.to_owned()])?, components, kept.code()?)
    };
    let old = side(&args.old, args.old_components.as_ref().or(args.components.as_ref()))?;
    let new = side(&args.new, args.components.as_ref())?;
    let components = args.components.as_ref().map(|dir| format!(" --components {}", output::quoted(dir)));
    let options = format!(" --policy {}{}", output::quoted(&args.new), components.unwrap_or_default());
    let plan = Plan {
        old: named(&args.old),
        new: named(&args.new),
        nodes: compared(&nodes, &old, &new)?,
        options: Some(options),
    };
    match args.output {
        PlanOutput::Text => output::print(&text::plain(&plan))?,
        PlanOutput::Markdown => output::print(&text::markdown(&plan))?,
        PlanOutput::Json => output::print_json(&plan)?,
    }
    Ok(plan.code())
}

/// A plan for people, of two policies of which the new one is in no file yet.
pub(crate) fn shown(old: (&Path, &Side), new: (&str, &Side), nodes: &[PathBuf]) -> anyhow::Result<String> {
    let nodes = compared(&nodes::read(nodes)?, old.1, new.1)?;
    Ok(text::plain(&Plan { old: named(old.0), new: new.0.to_owned(), nodes, options: None }))
}

/// What changes on each node.
fn compared(nodes: &[PlannedNode], old: &Side, new: &Side) -> anyhow::Result<Vec<NodePlan>> {
    let mut plans = Vec::new();
    for PlannedNode { known, recorded } in nodes {
        let _progress = Progress::begin(format!("asking the components of both policies on node {}", known.name));
        let (before, after) = (old.on(recorded)?, new.on(recorded)?);
        // What is not known of the old policy cannot be said to change.
        if let Some(plugin) = before.plugins.values().find(|plugin| plugin.is_missing) {
            let why = plugin.why.as_deref().unwrap_or_default();
            let help = "the old policy's components must be there, too: --old-components, --components, --pull";
            return Err(exit::with_code(exit::NODE, format!("{why}\n{help}")));
        }
        plans.push(NodePlan::of(known, &before, &after));
    }
    Ok(plans)
}

/// Where machine code is kept while a command runs, for components that are loaded again.
pub(crate) struct Kept(TempDir);

impl Kept {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    pub(crate) fn code(&self) -> anyhow::Result<CodeCache> {
        Ok(CodeCache::open(&self.0.path().join("code"))?)
    }
}

impl Plan {
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
