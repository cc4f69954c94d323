//! What components found wrong with units, kept across restarts of the host and of the node: a restart heals nothing by itself.

use crate::state::{Dir, StateFile};
use crate::when::When;
use devgate_types::{Mutex, PluginName, UnitId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const NAME: &str = "unhealthy.json";
const VERSION: u32 = 1;
const MAX_BYTES: u64 = 64 << 20;
/// The most units of one plugin; of more, nothing new is kept.
const MAX_UNITS: usize = 16_384;
/// The least time between two writes: a device that flaps must not wear out a disk.
const PAUSE: Duration = Duration::from_secs(1);

/// What was found wrong with a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnhealthyUnit {
    /// In the component's words, escaped.
    pub(crate) reason: String,
    /// Since when it counts.
    pub(crate) since: When,
    /// The boot that it was found in, where the kernel says which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) boot: Option<String>,
}

type Known = BTreeMap<String, BTreeMap<String, UnhealthyUnit>>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    unhealthy: Known,
}

/// The unhealthy units of a host. Cheap to clone.
#[derive(Clone)]
pub(crate) struct HealthStore(Arc<Inner>);

struct Inner {
    file: Option<StateFile>,
    boot: Option<String>,
    known: Mutex<Known>,
    changed: Notify,
}

impl HealthStore {
    /// Those kept in a directory; none that outlives the process without one. A file that cannot be understood is put aside
    /// and said to be.
    pub(crate) fn open(dir: Option<&Dir>, boot: Option<String>) -> Self {
        let file = dir.map(file);
        let content =
            file.as_ref().and_then(|file| file.read_or_put_aside::<Content>("what was unhealthy before is not known"));
        let known = content.map(|content| content.unhealthy).unwrap_or_default();
        Self(Arc::new(Inner { file, boot, known: Mutex::new(known), changed: Notify::new() }))
    }

    /// What was found wrong with a unit; nothing of another boot where `forgives`.
    pub(crate) fn get(&self, plugin: &PluginName, id: &UnitId, forgives: bool) -> Option<UnhealthyUnit> {
        let known = self.0.known.lock();
        let unhealthy = known.get(plugin.as_str())?.get(id.as_str())?;
        let another_boot = self.0.boot.is_some() && unhealthy.boot != self.0.boot;
        (!(forgives && another_boot)).then(|| unhealthy.clone())
    }

    /// A unit is unhealthy for this reason, or is not any more. Saved soon.
    pub(crate) fn record(&self, plugin: &PluginName, id: &UnitId, unhealthy: Option<(&str, When)>) {
        let mut known = self.0.known.lock();
        let changed = match unhealthy {
            None => known.get_mut(plugin.as_str()).is_some_and(|units| units.remove(id.as_str()).is_some()),
            Some((reason, since)) => {
                let units = known.entry(plugin.to_string()).or_default();
                let unhealthy = UnhealthyUnit { reason: reason.to_string(), since, boot: self.0.boot.clone() };
                let before = units.get(id.as_str());
                let new = before.is_none_or(|before| before.boot != unhealthy.boot);
                if new || before.is_some_and(|before| before.reason != unhealthy.reason) {
                    if before.is_none() && units.len() >= MAX_UNITS {
                        forget_oldest(units);
                    }
                    units.insert(id.to_string(), unhealthy);
                }
                // Another reason alone, such as a temperature, is saved with whatever comes next.
                new
            }
        };
        known.retain(|_, units| !units.is_empty());
        drop(known);
        if changed {
            self.0.changed.notify_one();
        }
    }

    /// Saves what changes, for as long as it is polled.
    pub(crate) async fn keep_saved(self) {
        let mut said = false;
        loop {
            self.0.changed.notified().await;
            let this = self.clone();
            let written = tokio::task::spawn_blocking(move || this.write()).await;
            let written = written.unwrap_or_else(|panic| Err(io::Error::other(panic)));
            if let Err(error) = &written {
                self.0.changed.notify_one();
                if !said {
                    Self::tell(error);
                }
            }
            said = written.is_err();
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn write(&self) -> io::Result<()> {
        let Some(file) = &self.0.file else { return Ok(()) };
        let content = Content { version: VERSION, unhealthy: self.0.known.lock().clone() };
        file.write(&content)
    }

    /// Saves what is not saved yet, before the host ends. Blocks.
    pub(crate) fn flush(&self) {
        if let Err(error) = self.write() {
            Self::tell(&error);
        }
    }

    fn tell(error: &io::Error) {
        tracing::error!(
            family = "host",
            "{NAME}: what is unhealthy could not be saved: {error}; look at the state directory (--state-dir)"
        );
    }
}

/// Makes room: what has been ill longest without being heard of is most likely gone.
fn forget_oldest(units: &mut BTreeMap<String, UnhealthyUnit>) {
    let oldest = units.iter().min_by_key(|(_, unhealthy)| unhealthy.since);
    if let Some(id) = oldest.map(|(id, _)| id.clone()) {
        units.remove(&id);
    }
}

fn file(dir: &Dir) -> StateFile {
    StateFile { dir: dir.clone(), name: NAME, version: VERSION, most: MAX_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names() -> (PluginName, UnitId) {
        (PluginName::try_new("gpus").unwrap(), UnitId::try_new("gpu-0").unwrap())
    }

    fn boot(n: u8) -> Option<String> {
        Some(format!("boot-{n}"))
    }

    #[test]
    fn what_is_unhealthy_is_known_after_a_restart_and_until_it_is_healthy() {
        let dir = tempfile::tempdir().unwrap();
        let (plugin, id) = names();
        let then = When(std::time::UNIX_EPOCH + Duration::from_secs(1_000));
        let first = HealthStore::open(Some(&Dir::open(dir.path()).unwrap()), boot(1));
        first.record(&plugin, &id, Some(("too hot", then)));
        first.record(&plugin, &id, Some(("too hot", When::now())));
        first.write().unwrap();
        let second = HealthStore::open(Some(&Dir::open(dir.path()).unwrap()), boot(1));
        let known = second.get(&plugin, &id, true).unwrap();
        assert_eq!((known.reason.as_str(), known.since), ("too hot", then), "since it was found first");
        second.record(&plugin, &id, None);
        second.write().unwrap();
        assert_eq!(HealthStore::open(Some(&Dir::open(dir.path()).unwrap()), boot(1)).get(&plugin, &id, false), None);
    }

    #[test]
    fn a_new_boot_forgives_only_where_the_policy_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let (plugin, id) = names();
        let first = HealthStore::open(Some(&Dir::open(dir.path()).unwrap()), boot(1));
        first.record(&plugin, &id, Some(("off the bus", When::now())));
        first.write().unwrap();
        let next = HealthStore::open(Some(&Dir::open(dir.path()).unwrap()), boot(2));
        assert!(next.get(&plugin, &id, false).is_some());
        assert_eq!(next.get(&plugin, &id, true), None);
        // Not knowing which boot this is, is no evidence.
        assert!(HealthStore::open(Some(&Dir::open(dir.path()).unwrap()), None).get(&plugin, &id, true).is_some());
    }

    #[test]
    fn what_is_found_again_in_another_boot_is_of_that_boot() {
        let dir = tempfile::tempdir().unwrap();
        let (plugin, id) = names();
        for n in [1, 2] {
            let health_store = HealthStore::open(Some(&Dir::open(dir.path()).unwrap()), boot(n));
            health_store.record(&plugin, &id, Some(("off the bus", When::now())));
            health_store.write().unwrap();
        }
        assert!(HealthStore::open(Some(&Dir::open(dir.path()).unwrap()), boot(2)).get(&plugin, &id, true).is_some());
    }

    #[test]
    fn the_most_that_is_kept_has_room_for_what_is_new() {
        let health_store = HealthStore::open(None, None);
        let (plugin, id) = names();
        for n in 0..MAX_UNITS {
            let old = UnitId::try_new(&format!("old-{n}")).unwrap();
            let since = When(std::time::UNIX_EPOCH + Duration::from_secs(n as u64));
            health_store.record(&plugin, &old, Some(("x", since)));
        }
        health_store.record(&plugin, &id, Some(("y", When::now())));
        assert!(health_store.get(&plugin, &id, false).is_some());
        assert_eq!(health_store.get(&plugin, &UnitId::try_new("old-0").unwrap(), false), None);
        assert!(health_store.get(&plugin, &UnitId::try_new("old-1").unwrap(), false).is_some());
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_put_aside() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["", "{", "{\"version\":2,\"unhealthy\":{}}", "[1]"] {
            fs::write(dir.path().join(NAME), text).unwrap();
            let (plugin, id) = names();
            let health_store = HealthStore::open(Some(&Dir::open(dir.path()).unwrap()), None);
            assert_eq!(health_store.get(&plugin, &id, false), None);
            assert_eq!(fs::read_to_string(dir.path().join("unhealthy.json.unreadable")).unwrap(), text);
            assert!(!dir.path().join(NAME).exists());
        }
    }

    #[tokio::test]
    async fn a_change_is_saved_by_itself() {
        let dir = tempfile::tempdir().unwrap();
        let (plugin, id) = names();
        let health_store = HealthStore::open(Some(&Dir::open(dir.path()).unwrap()), boot(1));
        let saver = tokio::spawn(health_store.clone().keep_saved());
        health_store.record(&plugin, &id, Some(("too hot", When::now())));
        let saved = async {
            while !dir.path().join(NAME).exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), saved).await.unwrap();
        saver.abort();
    }
}
