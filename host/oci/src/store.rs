//! Where components come from: the cache, and behind it their registries.

use crate::cache::Cache;
use crate::entry::Entry;
use crate::error::Error;
use crate::http::{Registries, Settings};
use crate::progress::Progress;
use crate::pull::wait;
use crate::signature::{self, PublicKey};
use devgate_types::{ByteSize, Digest, PinnedReference};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a store works.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// Where components are kept.
    pub cache: PathBuf,
    /// How much is kept of what no policy names.
    pub most: ByteSize,
    /// Whether what is not kept is pulled.
    pub pull: bool,
    /// How registries are spoken to.
    pub registries: Settings,
}

/// What a component must be besides what its digest says.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The most bytes.
    pub most: ByteSize,
    /// The keys of which one must have signed it; nothing where no signature is asked for.
    pub keys: Option<&'a [PublicKey]>,
}

/// What a look into the cache found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It is there, and is what it should be.
    Good(Vec<u8>),
    /// It is not there, or is not what it should be.
    Missing,
}

/// How pulls ended since the host started, and what is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pulls that gave a component.
    pub good: u64,
    /// What was not what its digest says, or not signed.
    pub refused: u64,
    /// What could not be had.
    pub failed: u64,
    /// Bytes in the cache, as they were last counted.
    pub kept: u64,
}

/// The cache and the registries behind it. Its methods block, those that pull for minutes; different components do not wait for each
/// other, and the same one is pulled once.
#[derive(Debug)]
pub struct Store {
    cache: Cache,
    registries: Registries,
    pull: bool,
    keep: Mutex<Keep>,
    pulls: Mutex<BTreeMap<Digest, Arc<Pull>>>,
    good: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    kept: AtomicU64,
}

#[derive(Debug, Default)]
struct Keep {
    /// What the policy names, since somebody said so. Who does not know it throws nothing away: it may be what a host needs.
    named: Option<BTreeSet<Digest>>,
    /// What was used since then.
    used: BTreeSet<Digest>,
}

/// One that is under way, and who does it.
#[derive(Debug)]
struct Pull {
    turn: Mutex<()>,
    from: String,
    progress: Progress,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Nothing is read, made or asked yet.
    #[must_use]
    pub fn new(settings: StoreSettings) -> Self {
        Self {
            cache: Cache::new(settings.cache, settings.most),
            registries: Registries::new(settings.registries),
            pull: settings.pull,
            keep: Mutex::default(),
            pulls: Mutex::default(),
            good: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            kept: AtomicU64::new(0),
        }
    }

    /// The registries behind it.
    #[must_use]
    pub fn registries(&self) -> &Registries {
        &self.registries
    }

    /// Whether what is not kept is pulled.
    #[must_use]
    pub fn pulls(&self) -> bool {
        self.pull
    }

    /// From now on, these and what is used from now on are never thrown away. Throws away what is too much.
    pub fn keep(&self, named: BTreeSet<Digest>) {
        *lock(&self.keep) = Keep {
            named: Some(named),
            used: BTreeSet::new(),
        };
        self.tidy();
    }

    fn tidy(&self) {
        let keep = {
            let keep = lock(&self.keep);
            let named = keep.named.as_ref();
            named.map(|named| named.union(&keep.used).copied().collect())
        };
        let tidied = match keep {
            Some(keep) => self.cache.tidy(&keep),
            None => self.cache.size(),
        };
        match tidied {
            Ok(bytes) => self.kept.store(bytes, Ordering::Relaxed),
            Err(error) => {
                let dir = self.cache.dir().display();
                tracing::warn!(family = "host", "cache {dir}: {error} (--cache-dir)");
            }
        }
    }

    /// How pulls ended so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            good: read(&self.good),
            refused: read(&self.refused),
            failed: read(&self.failed),
            kept: read(&self.kept),
        }
    }

    /// What is being pulled of an artifact: `pulling 3.1 of 18.3 MB from registry.example.com/vendor/gpu`.
    #[must_use]
    pub fn progress(&self, digest: Digest) -> Option<String> {
        let pull = lock(&self.pulls)
            .get(&digest)
            .cloned()
            .filter(|pull| pull.progress.is_begun())?;
        let from = &pull.from;
        Some(match pull.progress.text() {
            Some(text) => format!("pulling {text} from {from}"),
            None => format!("pulling from {from}"),
        })
    }

    /// What the cache has of an artifact; asks nobody.
    #[must_use]
    pub fn kept(&self, reference: &PinnedReference, wanted: Wanted<'_>) -> Kept {
        let entry = self.cache.read(reference.digest, wanted.most);
        let Ok(Some(entry)) = entry else { return Kept::Missing };
        match entry.component(reference.digest, wanted.most) {
            Ok(bytes) if signed(&entry, reference, wanted).is_ok() => Kept::Good(bytes),
            _ => Kept::Missing,
        }
    }

    /// A component, from the cache or from its registry.
    ///
    /// # Errors
    /// When it is not what the reference and the keys say, or cannot be had.
    pub fn get(&self, reference: &PinnedReference, wanted: Wanted<'_>) -> Result<Vec<u8>, Error> {
        let pull = Arc::clone(lock(&self.pulls).entry(reference.digest).or_insert_with(|| {
            Arc::new(Pull {
                turn: Mutex::default(),
                from: reference.repository.to_string(),
                progress: Progress::default(),
            })
        }));
        let result = {
            let _turn = lock(&pull.turn);
            self.get_alone(reference, wanted, &pull.progress)
        };
        let mut pulls = lock(&self.pulls);
        // The map has it, this call has it, and whoever waits for his turn.
        if Arc::strong_count(&pull) <= 2 {
            pulls.remove(&reference.digest);
        }
        drop(pulls);
        if result.is_ok() {
            lock(&self.keep).used.insert(reference.digest);
        }
        result
    }

    fn get_alone(
        &self,
        reference: &PinnedReference,
        wanted: Wanted<'_>,
        progress: &Progress,
    ) -> Result<Vec<u8>, Error> {
        let dir = self.cache.dir().display();
        let entry = match self.cache.read(reference.digest, wanted.most) {
            Ok(entry) => entry,
            Err(error) => {
                tracing::warn!(family = "host", "cache {dir}: {error}; it is not used (--cache-dir)");
                None
            }
        };
        if let Some(entry) = entry {
            match entry.component(reference.digest, wanted.most) {
                Ok(bytes) => return self.still_signed(reference, wanted, entry, bytes),
                Err(why) => {
                    tracing::warn!(family = "host", "cache {dir}: {reference} {why}; it is thrown away");
                    if let Err(error) = self.cache.remove(reference.digest) {
                        tracing::warn!(family = "host", "cache {dir}: {error}");
                    }
                }
            }
        }
        if !self.pull {
            return Err(Error::Host(format!(
                "{reference}: is not in the cache {dir}, and nothing is pulled here (--pull does)"
            )));
        }
        progress.start();
        let pulled = wait(self.registries.pull(reference, wanted.most, wanted.keys, progress));
        let checked = pulled.and_then(|entry| {
            let refused = |why: crate::NotUsable| Error::Refused(format!("{reference}: {why}"));
            let bytes = entry.component(reference.digest, wanted.most).map_err(refused)?;
            signed(&entry, reference, wanted)?;
            Ok((entry, bytes))
        });
        let (entry, bytes) = self.count(checked)?;
        self.remember(reference, &entry);
        tracing::info!(bytes = entry.size(), "{reference}: pulled");
        Ok(bytes)
    }

    /// What is kept was signed by keys that counted then; others may by now.
    fn still_signed(
        &self,
        reference: &PinnedReference,
        wanted: Wanted<'_>,
        entry: Entry,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        let Err(why) = signed(&entry, reference, wanted) else {
            return Ok(bytes);
        };
        if !self.pull {
            return Err(why);
        }
        let again = wait(self.registries.signatures(reference, wanted.keys.unwrap_or_default()))
            .map_err(|error| Error::Host(format!("{why}; its registry cannot be asked for others: {error}")));
        let again = again.and_then(|signatures| {
            let entry = Entry { signatures, ..entry };
            signed(&entry, reference, wanted).map(|()| entry)
        });
        let entry = self.count(again)?;
        self.remember(reference, &entry);
        Ok(bytes)
    }

    fn count<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        let count = match &result {
            Ok(_) => &self.good,
            Err(Error::Refused(_)) => &self.refused,
            Err(Error::Host(_)) => &self.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        result
    }

    /// Keeps what was pulled. Where the disk does not take it, it runs all the same.
    fn remember(&self, reference: &PinnedReference, entry: &Entry) {
        let knows = {
            let mut keep = lock(&self.keep);
            keep.used.insert(reference.digest);
            keep.named.is_some()
        };
        if !knows && !self.cache.has_room(entry) {
            let dir = self.cache.dir().display();
            tracing::debug!("cache {dir}: {reference} is not kept: it is full (--cache-size)");
            return;
        }
        if let Err(error) = self.cache.write(reference.digest, entry) {
            let dir = self.cache.dir().display();
            tracing::warn!(
                family = "host",
                "cache {dir}: {reference} cannot be kept: {error}; it is used, and must be pulled again after a restart (--cache-dir)"
            );
        }
        self.tidy();
    }
}

fn signed(entry: &Entry, reference: &PinnedReference, wanted: Wanted<'_>) -> Result<(), Error> {
    let Some(keys) = wanted.keys else { return Ok(()) };
    let checked = signature::check(&entry.signatures, keys, &reference.digest);
    checked.map_err(|why| Error::Refused(format!("{reference}: {why}")))
}
