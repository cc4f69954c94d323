//! What every plugin's labels are now, for whoever writes them down.

use crate::status::Board;
use devgate_policy::{Derived, Labels};
use devgate_types::PluginName;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// One host's. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Desk(Arc<Inner>);

#[derive(Default)]
struct Inner {
    known: Mutex<BTreeMap<PluginName, Entry>>,
    news: Notify,
}

/// One plugin's.
#[derive(Clone)]
pub(super) struct Entry {
    /// What its policy lets it tell.
    pub(super) rules: Labels,
    /// What it tells; nothing while nothing is known of its units.
    pub(super) told: Option<Arc<Derived>>,
    pub(super) board: Arc<Board>,
}

impl Desk {
    /// A plugin with these rules is there; nothing is known of its units yet, unless something was already.
    pub(crate) fn expects(&self, plugin: &PluginName, rules: &Labels, board: &Arc<Board>) {
        let mut known = self.known();
        if rules.is_empty() {
            board.labelled(Arc::default());
            board.labels_fail(None);
            known.remove(plugin);
        } else {
            let told = known.remove(plugin).and_then(|before| before.told);
            let entry = Entry {
                rules: rules.clone(),
                told,
                board: Arc::clone(board),
            };
            known.insert(plugin.clone(), entry);
        }
        drop(known);
        self.0.news.notify_one();
    }

    /// What a plugin's labels are now.
    pub(crate) fn tells(&self, plugin: &PluginName, derived: Derived) {
        let mut known = self.known();
        let Some(entry) = known.get_mut(plugin) else { return };
        if entry.told.as_deref() == Some(&derived) {
            return;
        }
        for missing in &derived.missing {
            let is_news = entry.told.as_ref().is_none_or(|told| !told.missing.contains(missing));
            if is_news {
                let (name, why) = (&missing.name, &missing.why);
                tracing::warn!(
                    plugin = plugin.as_str(),
                    "plugin {plugin}: the node gets no label {name}: {why} (labels)"
                );
            }
        }
        let derived = Arc::new(derived);
        entry.board.labelled(Arc::clone(&derived));
        entry.told = Some(derived);
        drop(known);
        self.0.news.notify_one();
    }

    /// A plugin is not in the policy any more.
    pub(crate) fn forgets(&self, plugin: &PluginName) {
        if self.known().remove(plugin).is_some() {
            self.0.news.notify_one();
        }
    }

    /// Everything that is known now.
    pub(super) fn look(&self) -> BTreeMap<PluginName, Entry> {
        self.known().clone()
    }

    /// Waits until something else is known.
    pub(super) async fn news(&self) {
        self.0.news.notified().await;
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<PluginName, Entry>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
