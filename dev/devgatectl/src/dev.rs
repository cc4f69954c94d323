//! `devgatectl dev`: builds, looks and says what changed, whenever something is saved.
//!
//! ```text
//!   sources ─► build ─┐
//!   policy, node, component ─► Offered ─► what it is now, and what changed since the last look
//! ```

mod sources;
mod text;

use crate::cli::DevArgs;
use crate::plan::{Kept, KnownNode, NodePlan, Offered, Side};
use anyhow::Context;
use devgate::components::Components;
use devgate::{output, policy};
use devgate_runner::Program;
use sources::Sources;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long it takes until a change is seen.
const PACE: Duration = Duration::from_millis(100);
/// How often a live node is looked at, which has no file that changes.
const LIVE: Duration = Duration::from_secs(2);

/// Runs the command. Ends when it is interrupted.
pub(crate) fn dev(args: &DevArgs) -> anyhow::Result<u8> {
    let kept = Kept::new()?;
    let (mut before, mut failed) = (None, String::new());
    let mut is_stale = true;
    loop {
        let built = if is_stale { build(args)? } else { None };
        let seen = (Sources::of(&args.watch, true)?, Sources::of(&looked_at(args), false)?);
        match Round::play(args, &kept) {
            Ok(round) => {
                let plan = before.as_ref().map(|before| NodePlan::of(&KnownNode::default(), before, &round.offered));
                if built.is_some() || plan.as_ref().is_none_or(NodePlan::changes) || !failed.is_empty() {
                    output::print(&text::of(&round, built, plan.as_ref()))?;
                }
                before = Some(round.offered);
                failed.clear();
            }
            Err(error) => {
                let error = format!("{error:#}\n");
                if error != failed {
                    output::print(&error)?;
                }
                failed = error;
            }
        }
        is_stale = wait(args, &seen)?;
    }
}

/// One look.
struct Round {
    offered: Offered,
    costs: Vec<crate::plan::CallCost>,
    took: Duration,
}

impl Round {
    fn play(args: &DevArgs, kept: &Kept) -> anyhow::Result<Self> {
        let begun = Instant::now();
        let place = &args.place;
        let components =
            Components::looking(place.components().as_ref(), &place.registry, place.pull, Program::puller_or_own());
        let side = Side::new(policy::read(&place.policy)?, components, kept.code()?)?;
        let offered = side.on(&crate::node::open(&place.node_root)?)?;
        Ok(Self { offered, costs: side.costs(), took: begun.elapsed() })
    }
}

/// Runs the command, whose output is shown; how long it took where it succeeded.
fn build(args: &DevArgs) -> anyhow::Result<Option<Duration>> {
    let Some((program, rest)) = args.build.split_first() else {
        return Ok(None);
    };
    let begun = Instant::now();
    let status = Command::new(program).args(rest).stdin(Stdio::null()).status().with_context(|| program.clone())?;
    if !status.success() {
        output::print(&format!("{program}: {status}; what was built before is looked at\n"))?;
        return Ok(None);
    }
    Ok(Some(begun.elapsed()))
}

/// The policy's files, the recorded node, the components.
fn looked_at(args: &DevArgs) -> Vec<PathBuf> {
    let mut paths = args.place.policy.clone();
    paths.extend(args.place.node_root.is_file().then(|| args.place.node_root.clone()));
    let read = policy::read(&args.place.policy);
    let components =
        Components::looking(args.place.components().as_ref(), &args.place.registry, false, Program::puller_or_own());
    for plugin in read.iter().flat_map(|policy| policy.plugins.values()) {
        paths.extend(components.files(plugin));
    }
    paths
}

/// Waits until something is another, or a live node is to be looked at again. Returns whether it is to be built anew.
fn wait(args: &DevArgs, (sources, looked): &(Sources, Sources)) -> anyhow::Result<bool> {
    let is_live = !args.place.node_root.is_file();
    let begun = Instant::now();
    loop {
        std::thread::sleep(PACE);
        if !args.build.is_empty() && Sources::of(&args.watch, true)? != *sources {
            return Ok(true);
        }
        if Sources::of(&looked_at(args), false)? != *looked || (is_live && begun.elapsed() >= LIVE) {
            return Ok(false);
        }
    }
}

/// Whether nothing of a folder with this name is a source.
fn is_made(name: &Path) -> bool {
    let name = name.as_os_str().as_encoded_bytes();
    name.starts_with(b".") || [&b"target"[..], b"build", b"node_modules", b"__pycache__"].contains(&name)
}
