//! What a host would offer, before another one is asked to make way for it.

use crate::cli::RunArgs;
use crate::components::Components;
use crate::loader::ComponentLoader;
use crate::node::Sources;
use crate::reload::Start;
use anyhow::{Context, ensure};
use devgate_core::state::Dir;
use devgate_core::{Found, Outcome, Recorded, Surveyed, survey};
use devgate_node::Node;
use devgate_runner::CodeCache;
use devgate_types::{PluginName, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long what was found may be offered, before the components are asked again: what is gone since is seen at once, and what a component
/// knows of health some tenths of a second later.
const FRESH: Duration = Duration::from_secs(3);

/// What a trial has found.
pub(super) struct Looked {
    start: Start,
    pub(super) surveyed: Vec<Surveyed>,
    loader: ComponentLoader,
    /// When it began to ask the components.
    since: Instant,
}

/// What a host takes over with.
pub(crate) struct Tried {
    pub(crate) start: Start,
    /// With a runner for each of its plugins.
    pub(crate) loader: ComponentLoader,
    pub(crate) plugins: TriedPlugins,
}

/// What came of each plugin in the trial.
pub(crate) struct TriedPlugins {
    /// Those that failed, as they do in the host that serves.
    pub(crate) fail: BTreeSet<PluginName>,
    /// What the others offered, and when that was asked.
    found: BTreeMap<PluginName, Found>,
    since: Instant,
}

impl Looked {
    /// Looks by the policy of now, with code that is kept for the start that follows. Blocks.
    pub(super) fn at(args: &RunArgs, node: &Node, sources: Sources) -> anyhow::Result<Self> {
        let start = Start::read(args)?;
        let recorded = Recorded::read(&args.state_dir).context("state directory")?;
        if let Some(why) = recorded.incomplete {
            ensure!(recorded.is_absent, "this version does not know what was handed out: {}", escape(&why, 256));
        }
        let kept = CodeCache::beside(&args.state_dir.join(crate::run::COMPILED));
        let kept =
            kept.context("machine code cannot be kept, and the start would take as long as components compile")?;
        let store = Arc::new(args.registry.store(Some(&args.state_dir), !args.no_pull, (sources.puller)()));
        let components = Components::new(args.components.clone(), store);
        let loader = ComponentLoader::new(sources.runners(Some(kept))?, components);
        let state = Dir::look(&args.state_dir).context("state directory")?;
        let look = || survey(&start.policy, node, &loader, state.as_ref());
        let mut since = Instant::now();
        let mut surveyed = look();
        if since.elapsed() > FRESH / 2 {
            // Something was compiled: what was found first is of then.
            since = Instant::now();
            surveyed = look();
        }
        Ok(Self { start, surveyed, loader, since })
    }

    /// With runners for the plugins that answer: those that were called in the trial have seen a state that goes with it. Blocks.
    pub(super) fn with_runners(mut self, fail: BTreeSet<PluginName>) -> Tried {
        let answer = self.surveyed.iter().filter(|plugin| plugin.outcome == Outcome::Answered);
        self.loader.load_beforehand(answer.filter_map(|plugin| self.start.policy.plugins.get(&plugin.name)));
        let found = self.surveyed.iter_mut().filter_map(|plugin| Some((plugin.name.clone(), plugin.found.take()?)));
        let plugins = TriedPlugins { fail, found: found.collect(), since: self.since };
        Tried { start: self.start, loader: self.loader, plugins }
    }
}

impl TriedPlugins {
    /// What they go on from, where that was found a moment ago.
    pub(crate) fn take_found(&mut self) -> BTreeMap<PluginName, Found> {
        let found = std::mem::take(&mut self.found);
        if self.since.elapsed() < FRESH { found } else { BTreeMap::new() }
    }
}
