//! What was handed out, remembered across restarts of the host and of the node.
//!
//! The kubelet gives a restarted container the answer that it kept, not a new one (`pkg/kubelet/cm/devicemanager`,
//! `GetDeviceRunContainerOptions`), across reboots as well. So an id must go on meaning the hardware whose paths are in that
//! answer: if they belong to something else now, the id is unhealthy and says so, and the kubelet starts no container with it.

mod allocation;
mod by_hand;
mod change;
mod compare;
mod consumer;
mod consumers;
mod contents;
mod expiry;
mod foreign;
mod forget;
pub(crate) mod fuzz;
mod journal;
mod learn;
pub(crate) mod note;
mod older;
mod past;
mod record;
mod save;
mod store;
mod unverified;

use crate::device_info::Files;
use crate::state::Dir;
use crate::units::{GrantedNode, UnitRecord};
pub(crate) use allocation::{Allocation, Slot, State, StoredReply, Take};
pub use allocation::{AllocationId, Mode};
pub use by_hand::{Listed, ListedClaim, NotForgotten, Recorded, accept, forget};
pub use consumer::Consumer;
pub(crate) use consumers::TakenBy;
use devgate_policy::PluginPolicy;
use devgate_types::{Mutex, ResourceName, escape};
use journal::Book;
pub(crate) use learn::learn;
pub(crate) use note::Giving;
use past::Past;
use record::AllocatedUnit;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use store::{Read, Store};
use tokio::sync::{Notify, watch};
use unverified::Unverified;

/// What was handed out. Cheap to clone; one per host.
#[derive(Clone)]
pub struct Allocations(Arc<Inner>);

struct Inner {
    /// The directory that the host keeps things in, if any.
    dir: Option<Dir>,
    store: Option<Store>,
    /// Whether it was known what was handed out before the host started. Who keeps nothing has nothing to know.
    knew: bool,
    known: Mutex<Known>,
    /// Counts when ids were forgotten, or something else that may have kept units from being given was over or began.
    forgotten: watch::Sender<u64>,
    /// Counts when something that a consumer has was found behind another node.
    moves: AtomicU64,
    /// Told when something is to be saved that no call waits for.
    unsaved: Notify,
    /// Told when an allocation ends by itself at another time than before.
    renewed: Notify,
    /// The files that tell what was handed out, where a meta network plugin reads them.
    files: OnceLock<Files>,
}

#[derive(Default)]
struct Known {
    /// What was handed out, and what of that is not on the disk.
    book: Book,
    /// Whether there is something to save besides.
    is_news: bool,
    /// What was handed out when the host started. What is handed out since then the ledger knows.
    past: Past,
    /// The boot that this is, where the kernel says which.
    boot: Option<String>,
    /// The ids that a plugin looks after.
    claimed: BTreeSet<Key>,
    /// Why nothing is known of what pods have, if so.
    unknown: Option<Arc<str>>,
    /// Why nothing can be saved, while that is so.
    failing: Option<Arc<str>>,
}

/// Resource and id.
pub(crate) type Key = (String, String);

/// Why they cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("state directory {}: {why}; name another one with --state-dir", escape(&dir.display().to_string(), 256))]
pub struct AllocationsError {
    dir: PathBuf,
    why: std::io::Error,
}

impl Allocations {
    /// Those kept in `dir`, which is made if it is not there.
    ///
    /// A file that cannot be understood is put aside and said to be. Then, and where there is none, nothing is given until it is known what
    /// pods have. Where a newer host wrote it, nothing is given at all, and nothing is written there. Fails where the directory cannot be
    /// made, read or written, or others can write in it.
    pub fn open(dir: &Path) -> Result<Self, AllocationsError> {
        Self::read(dir, false)
    }

    /// The same for a node of which it is known that nothing else was handed out, such as one that is made for a test.
    pub fn of_new_node(dir: &Path) -> Result<Self, AllocationsError> {
        Self::read(dir, true)
    }

    fn read(dir: &Path, is_new_node: bool) -> Result<Self, AllocationsError> {
        let failed = |why| AllocationsError { dir: dir.to_owned(), why };
        let Read { dir, store, book, unknown } = Read::open(dir, is_new_node).map_err(failed)?;
        Ok(Self::of(Some(dir), store, book, unknown))
    }

    /// Those that end with the process.
    #[must_use]
    pub fn forgetful() -> Self {
        Self::of(None, None, Book::forgetful(), None)
    }

    fn of(dir: Option<Dir>, store: Option<Store>, book: Book, unknown: Option<Arc<str>>) -> Self {
        let knew = unknown.is_none();
        let known = Known {
            past: Past::new(book.contents(), None),
            // It is written anew before anybody waits for it: nothing is appended to what another host wrote.
            is_news: store.is_some(),
            book,
            unknown,
            ..Known::default()
        };
        let allocations = Self(Arc::new(Inner {
            dir,
            store,
            knew,
            known: Mutex::new(known),
            forgotten: watch::Sender::new(0),
            moves: AtomicU64::new(0),
            unsaved: Notify::new(),
            renewed: Notify::new(),
            files: OnceLock::new(),
        }));
        allocations.save_soon();
        allocations
    }

    /// The same, with files in `dir` that tell a meta network plugin what was handed out (`containers.device-info`). Without
    /// it, nothing is told. What was written before for units that no consumer has any more is removed, if it is known who has what.
    #[must_use]
    pub fn telling_in(self, dir: &Path) -> Self {
        let files = Files::open(dir, self.dir());
        // Where that is not known, pods may have all of them: they are let go by what the kubelet says.
        if self.0.knew {
            let known = self.lock();
            let key = |resource: &str, unit: &str| (resource.to_owned(), unit.to_owned());
            files.keep_only(|resource, unit| known.book.contents().record(&key(resource, unit)).is_some());
        }
        // Asked for once, when the host starts.
        let _ = self.0.files.set(files);
        self
    }

    /// Which boot this is, before anything is asked: the numbers of nodes mean something in their own boot alone.
    pub(crate) fn is_in_boot(&self, boot: Option<String>) {
        let mut known = self.lock();
        known.past = Past::new(known.book.contents(), boot.as_deref());
        known.boot = boot;
        known.settle_consumers();
    }

    /// Whether an id was handed out, and no consumer has been seen to be done with it.
    pub(crate) fn has(&self, resource: &ResourceName, unit: &UnitRecord) -> bool {
        self.lock().book.contents().record(&key(resource, unit)).is_some()
    }

    /// Why nothing new is given, if so: it is not known what pods have, or cannot be recorded what they get. Text for people.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<str>> {
        let known = self.lock();
        let unlisted = || known.past.first_bare().map(learn::unlisted);
        known.unknown.clone().or_else(unlisted).or_else(|| known.failing.clone())
    }

    /// What of the state directory could not be written the last time that it was tried, with the reasons. Text for people.
    #[must_use]
    pub fn not_saved(&self) -> Vec<String> {
        self.dir().map(Dir::unsaved).unwrap_or_default()
    }

    /// The files that tell what was handed out, where there are any.
    pub(crate) fn files(&self) -> Option<&Files> {
        self.0.files.get()
    }

    /// Whether any consumer that has a unit keeps its paths, or none has it.
    pub(crate) fn is_kept_by_paths(&self, resource: &ResourceName, unit: &UnitRecord) -> bool {
        self.lock().keeps_paths(&key(resource, unit))
    }

    /// Something that a consumer has is behind another node.
    pub(crate) fn moves(&self) {
        self.0.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// How often something was.
    pub(crate) fn times_moved(&self) -> u64 {
        self.0.moves.load(Ordering::Relaxed)
    }

    /// The last step, if it is to be saved and is not.
    fn unsaved(&self) -> Option<u64> {
        let known = self.lock();
        let unsaved = self.0.store.is_some() && (known.is_news || !known.book.is_durable(known.book.last()));
        unsaved.then(|| known.book.last())
    }

    /// Whether a newer host wrote what is kept: it is not for this one to find out what was given.
    fn is_of_newer(&self) -> bool {
        self.0.dir.is_some() && self.0.store.is_none()
    }

    /// The directory that the host keeps things in, if any.
    #[must_use]
    pub fn dir(&self) -> Option<&Dir> {
        self.0.dir.as_ref()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock()
    }
}

impl Known {
    /// Whether any consumer that has a unit keeps its paths, or none has it.
    fn keeps_paths(&self, key: &Key) -> bool {
        let mut all = self.book.contents().who_has(key).peekable();
        all.peek().is_none() || all.any(|(_, of)| of.keeps_paths())
    }

    /// A unit as it is now, in this boot, and whether a component has to release it.
    fn today(
        &self,
        unit: &UnitRecord,
        shared: &[GrantedNode],
        policy: &PluginPolicy,
        unreleased: bool,
    ) -> AllocatedUnit {
        let mut now = AllocatedUnit::of(unit, shared, policy);
        (now.unreleased, now.boot) = (unreleased, self.boot.clone());
        now
    }
}

/// Whether something is not written, as that says the same.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn key(resource: &ResourceName, unit: &UnitRecord) -> Key {
    (resource.to_string(), unit.id.to_string())
}
