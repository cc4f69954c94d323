//! Where components come from: the cache, and behind it their registries.

use crate::cache::Cache;
use crate::entry::Entry;
use crate::error::Error;
use crate::progress::Progress;
use crate::puller::Puller;
use crate::registries::Registries;
use crate::signature::{self, PublicKey};
use devgate_runner::{Program, ProgramError};
use devgate_types::{ByteSize, Digest, Mutex, PinnedReference, Reference};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// How a store works.
#[derive(Debug)]
pub struct StoreSettings {
    /// Where components are kept.
    pub cache: PathBuf,
    /// How much is kept of what no policy names.
    pub most: ByteSize,
    /// Whether what is not kept is pulled.
    pub pull: bool,
    /// How registries are spoken to.
    pub registries: Registries,
    /// The program that speaks to them. Where it is missing, that is said when something is to be pulled.
    pub puller: Result<Program, ProgramError>,
}

/// What a component must be besides what its digest says.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The most bytes.
    pub most: ByteSize,
    /// The keys of which one must have signed it; nothing where no signature is asked for.
    pub keys: Option<&'a [PublicKey]>,
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
    puller: Puller,
    pull: bool,
    keep: Mutex<Keep>,
    pulls: Mutex<BTreeMap<Digest, Arc<Pull>>>,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Keep {
    /// What the policy names, once the host has said so. Until then nothing is thrown away: it may be what a host needs.
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

impl Store {
    /// Nothing is read, made or asked yet.
    #[must_use]
    pub fn new(settings: StoreSettings) -> Self {
        Self {
            cache: Cache::new(settings.cache, settings.most),
            puller: Puller::new(settings.registries, settings.puller),
            pull: settings.pull,
            keep: Mutex::default(),
            pulls: Mutex::default(),
            counts: Mutex::default(),
        }
    }

    /// The artifact that a reference means now: the one that it is pinned to, or the one that its tag is given to. Fails when there is
    /// none, or the registry cannot be asked.
    pub fn resolve(&self, reference: &Reference) -> Result<PinnedReference, Error> {
        match reference.clone().pinned() {
            Some(pinned) => Ok(pinned),
            None => self.puller.resolve(reference),
        }
    }

    /// Whether what is not kept is pulled.
    #[must_use]
    pub fn pulls(&self) -> bool {
        self.pull
    }

    /// From now on, these and what is used from now on are never thrown away. Throws away what is too much.
    pub fn keep(&self, named: BTreeSet<Digest>) {
        *self.keep.lock() = Keep { named: Some(named), used: BTreeSet::new() };
        self.tidy();
    }

    fn tidy(&self) {
        let keep = {
            let keep = self.keep.lock();
            let named = keep.named.as_ref();
            named.map(|named| named.union(&keep.used).copied().collect())
        };
        let tidied = match keep {
            Some(keep) => self.cache.tidy(&keep),
            None => self.cache.size(),
        };
        match tidied {
            Ok(bytes) => self.counts.lock().kept = bytes,
            Err(error) => self.warn(&format!("{error} (--cache-dir)")),
        }
    }

    /// How pulls ended so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.counts.lock()
    }

    /// What is being pulled of an artifact: `pulling 3.1 of 18.3 MB from registry.example.com/vendor/gpu`.
    #[must_use]
    pub fn progress(&self, digest: Digest) -> Option<String> {
        let pull = self.pulls.lock().get(&digest).cloned().filter(|pull| pull.progress.is_begun())?;
        let from = &pull.from;
        Some(match pull.progress.text() {
            Some(text) => format!("pulling {text} from {from}"),
            None => format!("pulling from {from}"),
        })
    }

    /// The component that the cache has and that is what it should be; asks no registry.
    #[must_use]
    pub fn kept(&self, reference: &PinnedReference, wanted: Wanted<'_>) -> Option<Vec<u8>> {
        let entry = self.cache.read(reference.digest, wanted.most).ok()??;
        let bytes = entry.component(reference.digest, wanted.most).ok()?;
        signed(&entry, reference, wanted).is_ok().then_some(bytes)
    }

    /// A component, from the cache or from its registry. Fails when it is not what the reference and the keys say, or cannot be had.
    pub fn get(&self, reference: &PinnedReference, wanted: Wanted<'_>) -> Result<Vec<u8>, Error> {
        let pull = Arc::clone(self.pulls.lock().entry(reference.digest).or_insert_with(|| {
            Arc::new(Pull {
                turn: Mutex::default(),
                from: reference.repository.to_string(),
                progress: Progress::default(),
            })
        }));
        let result = {
            let _turn = pull.turn.lock();
            self.get_alone(reference, wanted, &pull.progress)
        };
        let mut pulls = self.pulls.lock();
        // The map has it, this call has it, and each caller that waits for its turn.
        if Arc::strong_count(&pull) <= 2 {
            pulls.remove(&reference.digest);
        }
        drop(pulls);
        if result.is_ok() {
            self.keep.lock().used.insert(reference.digest);
        }
        result
    }

    fn get_alone(
        &self,
        reference: &PinnedReference,
        wanted: Wanted<'_>,
        progress: &Progress,
    ) -> Result<Vec<u8>, Error> {
        let entry = self.cache.read(reference.digest, wanted.most);
        let entry = entry.inspect_err(|error| self.warn(&format!("{error}; it is not used (--cache-dir)")));
        if let Ok(Some(entry)) = entry {
            match entry.component(reference.digest, wanted.most) {
                Ok(bytes) => return self.still_signed(reference, wanted, entry, bytes),
                Err(why) => {
                    self.warn(&format!("{reference} {why}; it is thrown away"));
                    if let Err(error) = self.cache.remove(reference.digest) {
                        self.warn(&error.to_string());
                    }
                }
            }
        }
        if !self.pull {
            let dir = self.cache.dir().display();
            let why = format!("{reference}: is not in the cache {dir}, and nothing is pulled here (--pull does)");
            return Err(Error::Host(why));
        }
        progress.start();
        let pulled = self.puller.pull(reference, wanted, progress);
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
        let again = self.puller.signatures(reference, wanted.keys.unwrap_or_default());
        let again =
            again.map_err(|error| Error::Host(format!("{why}; its registry cannot be asked for others: {error}")));
        let again = again.and_then(|signatures| {
            let entry = Entry { signatures, ..entry };
            signed(&entry, reference, wanted).map(|()| entry)
        });
        let entry = self.count(again)?;
        self.remember(reference, &entry);
        Ok(bytes)
    }

    fn count<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        let mut counts = self.counts.lock();
        *match &result {
            Ok(_) => &mut counts.good,
            Err(Error::Refused(_)) => &mut counts.refused,
            Err(Error::Host(_)) => &mut counts.failed,
        } += 1;
        result
    }

    fn warn(&self, what: &str) {
        tracing::warn!(family = "host", "cache {}: {what}", self.cache.dir().display());
    }

    /// Keeps what was pulled. Where the disk does not take it, it runs all the same.
    fn remember(&self, reference: &PinnedReference, entry: &Entry) {
        let knows = {
            let mut keep = self.keep.lock();
            keep.used.insert(reference.digest);
            keep.named.is_some()
        };
        if !knows && !self.cache.has_room(entry) {
            let dir = self.cache.dir().display();
            tracing::debug!("cache {dir}: {reference} is not kept: it is full (--cache-size)");
            return;
        }
        if let Err(error) = self.cache.write(reference.digest, entry) {
            self.warn(&format!(
                "{reference} cannot be kept: {error}; it is used, and must be pulled again after a restart (--cache-dir)"
            ));
        }
        self.tidy();
    }
}

fn signed(entry: &Entry, reference: &PinnedReference, wanted: Wanted<'_>) -> Result<(), Error> {
    let Some(keys) = wanted.keys else { return Ok(()) };
    let checked = signature::check(&entry.signatures, keys, &reference.digest);
    checked.map_err(|why| Error::Refused(format!("{reference}: {why}")))
}
