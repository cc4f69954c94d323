//! Labels of the node, by way of Node Feature Discovery: a file that its worker reads and makes labels of.
//!
//! After its documentation (`docs/usage/customization-guide.md`, feature files) and `source/local/local.go`: regular files of one
//! directory, dot-files ignored, at most 65,536 bytes each.

mod text;
mod writer;

#[cfg(test)]
pub(crate) use text::HEADER;
pub use writer::{DEFAULT_DIR, FILE};
pub(crate) use writer::{LOCK, TEMPORARY, is_ours};

use crate::inventory::Inventory;
use crate::status::StatusRecorder;
use devgate_policy::{Derived, LabelUnit, Labels, PluginPolicy, UnitFacts};
use devgate_types::{PluginName, UnitId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use writer::Writer;

/// How often it is looked whether the file is still what was written.
const LOOK: Duration = Duration::from_secs(5);
/// Changes that come within this are one.
const TOGETHER: Duration = Duration::from_millis(500);

/// What every plugin's labels are now.
type Known = BTreeMap<PluginName, Entry>;

/// One plugin's.
#[derive(Clone)]
struct Entry {
    /// What its policy lets it tell.
    rules: Labels,
    /// What it tells; nothing while nothing is known of its units.
    told: Option<Arc<Derived>>,
    recorder: Arc<StatusRecorder>,
}

/// What every plugin's labels are now, for the one that writes them down. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct NodeLabels(watch::Sender<Known>);

impl NodeLabels {
    /// A plugin with these rules is there; nothing is known of its units yet, unless something was already.
    pub(crate) fn expects(&self, plugin: &PluginName, rules: &Labels, recorder: &Arc<StatusRecorder>) {
        self.0.send_modify(|known| {
            let told = known.remove(plugin).and_then(|before| before.told);
            if rules.is_empty() {
                recorder.set_labels(Arc::default());
                recorder.set_labels_problem(None);
                return;
            }
            let (rules, recorder) = (rules.clone(), Arc::clone(recorder));
            known.insert(plugin.clone(), Entry { rules, told, recorder });
        });
    }

    /// What a plugin's labels are now.
    pub(crate) fn tells(&self, plugin: &PluginName, derived: Derived) {
        self.0.send_if_modified(|known| {
            let entry = known.get_mut(plugin);
            let Some(entry) = entry.filter(|entry| entry.told.as_deref() != Some(&derived)) else {
                return false;
            };
            for missing in &derived.missing {
                if entry.told.as_ref().is_none_or(|told| !told.missing.contains(missing)) {
                    let (name, why) = (&missing.name, &missing.why);
                    tracing::warn!(
                        plugin = plugin.as_str(),
                        "plugin {plugin}: the node gets no label {name}: {why} (labels)"
                    );
                }
            }
            let derived = Arc::new(derived);
            entry.recorder.set_labels(Arc::clone(&derived));
            entry.told = Some(derived);
            true
        });
    }

    /// A plugin is not in the policy any more.
    pub(crate) fn forgets(&self, plugin: &PluginName) {
        self.0.send_if_modified(|known| known.remove(plugin).is_some());
    }
}

/// The labels that a policy's rules make of an inventory. `health` says of a unit whether it may be handed out; nothing of one
/// that is not shown.
pub(crate) fn of(policy: &PluginPolicy, inventory: &Inventory, health: impl Fn(&UnitId) -> Option<bool>) -> Derived {
    if policy.labels.is_empty() {
        return Derived::default();
    }
    let mut units = Vec::new();
    for (offered, pool) in &inventory.pools {
        for unit in &pool.units {
            let Some(healthy) = health(&unit.id) else { continue };
            let devices: Vec<_> = unit.devices().map(|device| device.location()).collect();
            units.push((offered, pool.asked(offered), unit, devices, healthy));
        }
    }
    let units = units.iter().map(|(offered, asked, unit, devices, healthy)| LabelUnit {
        facts: UnitFacts { id: unit.id.as_str(), resource: asked, devices, properties: &unit.properties },
        offered,
        healthy: *healthy,
        numa_nodes: &unit.numa_nodes,
    });
    policy.labels.of(&units.collect::<Vec<_>>(), policy.replicas)
}

/// Keeps the file in `dir` until it is dropped. The file stays then.
///
/// Its lines expire: a host that is gone for good leaves labels for a quarter of an hour, and one that is replaced in a rolling update
/// leaves them for its successor, which goes on from them. What other hosts and other people do with the file and its directory is looked
/// at every few seconds.
pub(crate) async fn keep(labels: NodeLabels, dir: PathBuf) {
    let (mut news, mut writer) = (labels.0.subscribe(), Writer::new(dir));
    loop {
        let known = news.borrow_and_update().clone();
        let turn = move || {
            let again = writer.turn(&known, SystemTime::now());
            (writer, again)
        };
        // Only a bug of the host ends it otherwise.
        let Ok((back, again)) = tokio::task::spawn_blocking(turn).await else {
            tracing::error!(family = "host", "labels: the task that writes them has failed; restart devgate");
            return;
        };
        writer = back;
        tokio::select! {
            _ = news.changed() => tokio::time::sleep(TOGETHER).await,
            () = tokio::time::sleep(LOOK), if again => {}
        }
    }
}

#[cfg(test)]
mod tests;
