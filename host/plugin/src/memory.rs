//! What was handed out, remembered across restarts of the host and of the node.
//!
//! The kubelet gives a restarted container the answer that it kept, not a new one (`pkg/kubelet/cm/devicemanager`,
//! `GetDeviceRunContainerOptions`), across reboots as well. So an id must go on meaning the hardware whose paths are in that
//! answer: if they belong to something else now, the id is unhealthy and says so, and the kubelet starts no container with it.

mod file;

use crate::inventory::UnitRecord;
use devgate_model::{ResourceName, UnitId, escape};
use file::File;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most ids that are remembered: more than the kubelet takes of a resource. Beyond it, nothing new is.
const MOST_REMEMBERED: usize = 100_000;

/// What was handed out. Cheap to clone; one per host.
#[derive(Clone)]
pub struct Memory(Arc<Inner>);

struct Inner {
    file: Option<File>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    handed_out: BTreeMap<Key, HandedOut>,
    /// Counts changes, so that a file that is written late never replaces a newer one.
    version: u64,
}

/// Resource and id.
type Key = (String, String);

/// One id as it was handed out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HandedOut {
    nodes: Vec<NodeThen>,
    /// Places in the device tree.
    backing: BTreeSet<String>,
}

/// One node as it was handed out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeThen {
    path: String,
    /// Such as `c 195:0`.
    number: String,
    /// The place in the device tree of the device that it belonged to, where the kernel knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<String>,
}

/// Why the memory cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("state directory {}: {why}; name another one with --state-dir", escape(&dir.display().to_string(), 256))]
pub struct MemoryError {
    dir: PathBuf,
    why: std::io::Error,
}

impl Memory {
    /// The memory kept in `dir`, which is made if it is not there.
    ///
    /// A file that cannot be understood is put aside and said to be: nothing is known then about what was handed out before.
    ///
    /// # Errors
    /// Where the directory cannot be made, read or written.
    pub fn open(dir: &Path) -> Result<Self, MemoryError> {
        let failed = |why| MemoryError {
            dir: dir.to_owned(),
            why,
        };
        let file = File::open(dir).map_err(failed)?;
        let handed_out = file.read().map_err(failed)?;
        let known = Known { handed_out, version: 0 };
        Ok(Self(Arc::new(Inner {
            file: Some(file),
            known: Mutex::new(known),
        })))
    }

    /// A memory that ends with the process.
    #[must_use]
    pub fn forgetful() -> Self {
        Self(Arc::new(Inner {
            file: None,
            known: Mutex::default(),
        }))
    }

    /// The ids of these resources that are remembered now.
    pub(crate) fn ids(&self, of: impl Fn(&str) -> bool) -> BTreeSet<UnitId> {
        let known = self.lock();
        let own = known.handed_out.keys().filter(|(resource, _)| of(resource));
        own.filter_map(|(_, id)| UnitId::try_new(id).ok()).collect()
    }

    /// How an id's hardware differs from what was handed out under it, if it was and it does.
    pub(crate) fn drift(&self, resource: &ResourceName, unit: &UnitRecord) -> Option<String> {
        let known = self.lock();
        let then = known.handed_out.get(&key(resource, unit))?;
        then.difference(&HandedOut::of(unit))
    }

    /// Notes that these units are handed out. Returns what has to be saved, if anything is new: the same devices are handed
    /// out again and again, and that costs nothing.
    #[must_use]
    pub(crate) fn note(&self, resource: &ResourceName, units: &[Arc<UnitRecord>]) -> Option<Unsaved> {
        let mut known = self.lock();
        let mut changed = false;
        for unit in units {
            let (key, now) = (key(resource, unit), HandedOut::of(unit));
            let room = known.handed_out.len() < MOST_REMEMBERED || known.handed_out.contains_key(&key);
            if room && known.handed_out.get(&key) != Some(&now) {
                known.handed_out.insert(key, now);
                changed = true;
            }
        }
        if !changed || self.0.file.is_none() {
            return None;
        }
        known.version += 1;
        Some(Unsaved {
            memory: self.clone(),
            handed_out: known.handed_out.clone(),
            version: known.version,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What has to be saved before an allocation is answered.
pub(crate) struct Unsaved {
    memory: Memory,
    handed_out: BTreeMap<Key, HandedOut>,
    version: u64,
}

impl Unsaved {
    /// Saves it. Blocks.
    ///
    /// # Errors
    /// Where the file could not be written; the next change tries again.
    pub(crate) fn save(self) -> std::io::Result<()> {
        match &self.memory.0.file {
            Some(file) => file.write(&self.handed_out, self.version),
            None => Ok(()),
        }
    }
}

fn key(resource: &ResourceName, unit: &UnitRecord) -> Key {
    (resource.to_string(), unit.id.to_string())
}

impl HandedOut {
    fn of(unit: &UnitRecord) -> Self {
        let nodes = unit.nodes.iter().map(|granted| NodeThen {
            path: granted.node.path.clone(),
            number: granted.node.number.to_string(),
            device: granted.owner.as_ref().map(|owner| owner.location().to_owned()),
        });
        Self {
            nodes: nodes.collect(),
            backing: unit.backing.iter().map(|device| device.location().to_owned()).collect(),
        }
    }

    /// What a kept answer would mean now that it did not mean then.
    ///
    /// A number by itself says little: majors are given out anew at every boot. It counts where nothing else tells what a
    /// node is, neither its place in the tree nor what its unit is made of.
    fn difference(&self, now: &Self) -> Option<String> {
        if self.backing != now.backing {
            let place = |of: &Self| of.backing.iter().map(|at| last(at)).collect::<Vec<_>>().join(", ");
            return Some(format!(
                "it was handed out as device {} and is {} now",
                escape(&place(self), 160),
                escape(&place(now), 160)
            ));
        }
        for then in &self.nodes {
            let path = escape(&then.path, 80);
            let Some(node) = now.nodes.iter().find(|node| node.path == then.path) else {
                return Some(format!(
                    "node {path}, which was handed out with it, is not its own any more"
                ));
            };
            let moved = match (&then.device, &node.device) {
                (Some(then), Some(now)) => then != now,
                _ => self.backing.is_empty() && then.number != node.number,
            };
            if moved {
                return Some(format!("node {path} is another device than when it was handed out"));
            }
        }
        None
    }
}

fn last(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}
