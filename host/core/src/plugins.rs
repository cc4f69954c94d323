//! All plugins of a policy on one node.

mod reload;

use crate::allocations;
use crate::calls::Calls;
use crate::devices::{self, AllDevices, Devices};
use crate::failures::Failures;
use crate::grants::Grants;
use crate::health_store::HealthStore;
use crate::holders::HoldersFeed;
use crate::keyed_lock::KeyedLock;
use crate::labels::{self, NodeLabels};
use crate::ledger::{Ledger, PluginIndex};
use crate::look::Found;
use crate::offer::Offers;
use crate::plugin::{Command, Plugin, Shared, StatusReader, Surroundings};
use crate::plugin_services::PluginServices;
use crate::reclaim::reclaim;
use crate::registry::Registry;
use crate::survey::Surveyed;
use crate::watcher::Watcher;
use devgate_policy::{PluginPolicy, Policy};
use devgate_types::{PluginName, ResourceName};
use reload::Work;
pub use reload::{Fewer, NotReloaded, Reloaded};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Commands that a plugin may have before it: the reload waits for each of them.
const COMMANDS: usize = 4;

/// The running plugins. Dropping this ends their tasks; calls that block are not waited for.
pub struct Plugins {
    shared: Shared,
    running: BTreeMap<PluginName, Running>,
    /// The policy's order of them.
    order: Vec<PluginName>,
    /// How many places there are.
    indexes: usize,
    /// Tasks end with their place when they were told to leave.
    tasks: JoinSet<PluginIndex>,
    leaving: BTreeMap<PluginIndex, PluginName>,
    failures: Failures,
    /// Leave to read or compile a component for a reload.
    loads: KeyedLock<(Work, PluginName)>,
    /// Each plugin has its place in the ledger for itself.
    places: KeyedLock<PluginIndex>,
    /// What is saved and forgotten besides.
    keepers: JoinSet<()>,
    devices: Arc<AllDevices>,
}

/// A plugin that is in the policy.
struct Running {
    index: PluginIndex,
    calls: Arc<Calls>,
    commands: mpsc::Sender<Command>,
}

impl Plugins {
    /// Starts one task for each entry of the policy. Needs a tokio runtime.
    #[must_use]
    pub fn start(policy: &Policy, around: Surroundings) -> Self {
        Self::start_from(policy, around, BTreeMap::new())
    }

    /// The same, of plugins that offer at once what a trial in this process has found a moment before.
    #[must_use]
    pub fn start_from(policy: &Policy, around: Surroundings, mut found: BTreeMap<PluginName, Found>) -> Self {
        let watcher = Watcher::new(around.node.clone());
        around.allocations.is_in_boot(around.node.boot_id());
        let health_store = HealthStore::open(around.allocations.dir(), around.node.boot_id());
        let keep = health_store.clone().keep_saved();
        let failures = Failures::default();
        let save = around.allocations.clone().keep_saved();
        let learn = {
            let (allocations, feed, node) = (around.allocations.clone(), around.holders.clone(), around.node.clone());
            let policy = policy.clone();
            let is_ours = move |resource: &ResourceName| {
                let mut plugins = policy.plugins.values();
                plugins.any(|plugin| plugin.grants_resource(resource))
            };
            allocations::learn(allocations, feed, node, is_ours)
        };
        let registry = Registry::default();
        let reclaim = reclaim(registry.clone(), around.allocations.clone(), around.holders.clone());
        let devices = Arc::new(AllDevices::new(registry.clone(), around.allocations.clone()));
        let mut plugins = Self {
            failures,
            shared: Shared {
                health_store,
                around,
                watcher,
                labels: NodeLabels::default(),
                ledger: Ledger::new(policy.plugins.keys().map(ToString::to_string)),
                registry,
                born: Instant::now(),
            },
            running: BTreeMap::new(),
            order: policy.plugins.keys().cloned().collect(),
            indexes: 0,
            tasks: JoinSet::new(),
            leaving: BTreeMap::new(),
            loads: KeyedLock::default(),
            places: KeyedLock::default(),
            keepers: JoinSet::new(),
            devices,
        };
        plugins.keepers.spawn(keep);
        plugins.keepers.spawn(reclaim);
        plugins.keepers.spawn(save);
        plugins.keepers.spawn(learn);
        plugins.keepers.spawn(devices::expire(Arc::clone(&plugins.devices)));
        for policy in policy.plugins.values() {
            let calls = plugins.calls(policy, None);
            let index = plugins.next_index();
            plugins.begin(index, calls, found.remove(&policy.name));
        }
        plugins
    }

    /// The means to call a component that is not loaded yet.
    fn calls(&self, policy: &PluginPolicy, before: Option<&Arc<Calls>>) -> Arc<Calls> {
        let Shared { around, ledger, watcher, .. } = &self.shared;
        let recorder = before.map(|calls| Arc::clone(&calls.grants.recorder)).unwrap_or_default();
        let grants = Arc::new(Grants::new(around.node.clone(), Arc::new(policy.clone())).noting(recorder));
        Arc::new(match before {
            Some(before) => before.under(grants),
            None => {
                let (allocations, ledger, uevents) = (&around.allocations, ledger.clone(), watcher.uevents());
                let services = PluginServices::new(policy, &around.node, allocations, ledger, uevents);
                Calls::new(grants, Arc::new(services))
            }
        })
    }

    fn next_index(&mut self) -> PluginIndex {
        self.indexes += 1;
        PluginIndex(self.indexes - 1)
    }

    fn begin(&mut self, index: PluginIndex, calls: Arc<Calls>, found: Option<Found>) {
        let (commands, obeyed) = mpsc::channel(COMMANDS);
        let name = calls.grants.policy.name.clone();
        let watched = self.failures.of_task(name.clone());
        let (shared, order, of_plugin) = (self.shared.clone(), self.order.clone(), Arc::clone(&calls));
        let new = move || Plugin::new(index, of_plugin, obeyed, shared, found);
        // One that is back before the one that was told to leave has ended begins where that ends.
        let begun = match self.places.try_lock(&[index]) {
            Some(place) => Ok((place, new())),
            None => Err(new),
        };
        let (places, registry) = (self.places.clone(), self.shared.registry.clone());
        self.tasks.spawn(async move {
            let (place, plugin) = match begun {
                Ok(begun) => begun,
                Err(new) => (places.lock(&[index]).await, new()),
            };
            registry.arrange(&order);
            plugin.run().await;
            drop(place);
            watched.has_left();
            index
        });
        let running = Running { index, calls, commands };
        self.running.insert(name, running);
    }

    /// What tells when the host must end.
    #[must_use]
    pub fn failures(&self) -> Failures {
        self.failures.clone()
    }

    /// Ends the tasks of all plugins, as a bug of the host would.
    #[cfg(test)]
    pub(crate) fn break_all(&mut self) {
        self.tasks.abort_all();
    }

    /// Forgets the places of those that were told to leave, and have.
    fn reap(&mut self) {
        while let Some(ended) = self.tasks.try_join_next() {
            if let Ok(index) = ended {
                self.leaving.remove(&index);
            }
        }
    }

    /// Has a plugin begin anew with what is in force (look for something to do, load, enumerate, ask for health) and waits for what
    /// comes of it: for tools and tests that change a node and want to see the effect. Nothing where the policy has no such plugin.
    pub async fn look(&self, plugin: &PluginName) -> Option<Surveyed> {
        let (answer, found) = oneshot::channel();
        let commands = self.running.get(plugin)?.commands.clone();
        commands.send(Command::Look { answer }).await.ok()?;
        found.await.ok()
    }

    /// Tells Node Feature Discovery of the node's labels from now on, by a file in `dir`; for as long as the plugins are there. The
    /// file stays for a while then, and the labels with it.
    pub fn label_in(&mut self, dir: &Path) {
        let labels = labels::keep(self.shared.labels.clone(), dir.to_owned());
        self.keepers.spawn(labels);
    }

    /// Hears of nothing that happens to the node any more, for a host that is about to end: the kernel takes some 40 ms to let go of a watch
    /// of directories.
    pub fn stop_listening(&self) {
        self.shared.watcher.end();
    }

    /// Saves what is not saved yet, before the host ends, on a thread of its own, as all others may hang. Whether it is saved within
    /// `patience`; a disk that takes longer does not keep the host from its end.
    pub async fn flush(&self, patience: Duration) -> bool {
        let (health_store, allocations) = (self.shared.health_store.clone(), self.shared.around.allocations.clone());
        let (done, saved) = oneshot::channel();
        let save = move || {
            health_store.flush();
            if let Err(error) = allocations.leave() {
                tracing::warn!(
                    family = "host",
                    "state directory: what was handed out is not left for a host of version 0.1, which would ask the kubelet: {}",
                    devgate_types::escape(&error.to_string(), 256)
                );
            }
            let _ = done.send(());
        };
        let begun = std::thread::Builder::new().name("flush".into()).spawn(save);
        begun.is_ok() && matches!(tokio::time::timeout(patience, saved).await, Ok(Ok(())))
    }

    /// What is known about every plugin.
    #[must_use]
    pub fn status_reader(&self) -> StatusReader {
        StatusReader(Arc::clone(&self.shared.registry.plugins))
    }

    /// Which container has which device, as far as the kubelet tells.
    #[must_use]
    pub fn holders(&self) -> &HoldersFeed {
        &self.shared.around.holders
    }

    /// All devices, for consumers that say themselves when they are done with what they have.
    #[must_use]
    pub fn devices(&self) -> Arc<dyn Devices> {
        Arc::clone(&self.devices) as Arc<dyn Devices>
    }

    /// What is offered now, and a way to be told when there is more.
    #[must_use]
    pub fn offers(&self) -> Offers {
        self.shared.registry.offers()
    }
}
