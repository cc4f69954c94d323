//! Components kept on the disk, so that an outage or a reboot needs no network.
//!
//! One directory for each artifact, named by its digest, made whole before it gets that name. What is in it is checked at each
//! load: being here is no reason to be believed.

use crate::entry::{Entry, MAX_MANIFESTS};
use crate::signature::{MAX_SIGNATURE, MAX_SIGNATURES};
use devgate_types::{ByteSize, Digest};
use rustix::fs::OFlags;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const LAYER: &str = "layer";
const SIGNATURES: &str = "signatures.json";
/// What is being made has this at its end.
const NEW: &str = ".new";
/// What is still being made after so long is not being made any more.
const ABANDONED: Duration = Duration::from_secs(3_600);
/// The largest manifest.
pub const MAX_MANIFEST: u64 = 1024 * 1024;
/// As many as are read of a registry, as large as they may be (a payload, its signature, a bundle), each byte of them as an escape.
const MAX_KEPT_SIGNATURES: u64 = MAX_SIGNATURES as u64 * 3 * MAX_SIGNATURE * 6 + 64 * 1024;
/// The most artifacts, whatever their size.
const MAX_ENTRIES: usize = 512;

#[derive(Debug, Clone)]
pub(crate) struct Cache {
    dir: PathBuf,
    most: ByteSize,
}

impl Cache {
    pub(crate) fn new(dir: PathBuf, most: ByteSize) -> Self {
        Self { dir, most }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the directory where it is not there, for its owner alone.
    fn open(&self) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        self.is_own()
    }

    /// Another user that can write here could fill it, or choose what is deleted.
    fn is_own(&self) -> io::Result<()> {
        let at = fs::symlink_metadata(&self.dir)?;
        let other = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned()));
        if !at.is_dir() {
            return other("is no directory");
        }
        if at.uid() != rustix::process::geteuid().as_raw() {
            return other("belongs to another user");
        }
        if at.mode() & 0o022 != 0 {
            return other("can be written by others than its owner");
        }
        Ok(())
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.dir.join(digest.hex())
    }

    /// What is kept of an artifact; nothing where it is not here. Its bytes are checked by the caller.
    pub(crate) fn read(&self, digest: Digest, most: ByteSize) -> io::Result<Option<Entry>> {
        let at = self.path(digest);
        if found(self.is_own())?.is_none() || found(fs::symlink_metadata(&at))?.is_none() {
            return Ok(None);
        }
        let mut entry = Entry::default();
        for n in 0..MAX_MANIFESTS {
            match read_file(&at.join(manifest(n)), MAX_MANIFEST) {
                Ok(bytes) => entry.manifests.push(bytes),
                Err(_) if n > 0 => break,
                // An entry without a beginning is none: it is wrong, and found so.
                Err(_) => return Ok(Some(Entry::default())),
            }
        }
        entry.layer = read_file(&at.join(LAYER), most.0.saturating_add(crate::manifest::ARCHIVE)).unwrap_or_default();
        let signatures = read_file(&at.join(SIGNATURES), MAX_KEPT_SIGNATURES).unwrap_or_default();
        entry.signatures = serde_json::from_slice(&signatures).unwrap_or_default();
        Ok(Some(entry))
    }

    /// Keeps an artifact, in place of what is there of it.
    pub(crate) fn write(&self, digest: Digest, entry: &Entry) -> io::Result<()> {
        self.open()?;
        // Two hosts of one node are both process 1, each in its pod.
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let new = self.dir.join(format!("{}.{}.{:x}{NEW}", digest.hex(), std::process::id(), since.as_nanos()));
        let result = self.write_new(&new, digest, entry);
        if result.is_err() {
            // A disk that is full gets back what was taken of it.
            let _ = fs::remove_dir_all(&new);
        }
        result
    }

    fn write_new(&self, new: &Path, digest: Digest, entry: &Entry) -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).create(new)?;
        for (n, bytes) in entry.manifests.iter().enumerate() {
            write_file(&new.join(manifest(n)), bytes)?;
        }
        write_file(&new.join(LAYER), &entry.layer)?;
        write_file(&new.join(SIGNATURES), &serde_json::to_vec(&entry.signatures)?)?;
        fs::File::open(new)?.sync_all()?;
        let at = self.path(digest);
        if let Err(error) = fs::rename(new, &at) {
            if !matches!(
                error.kind(),
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
            ) {
                return Err(error);
            }
            self.remove(digest)?;
            fs::rename(new, &at)?;
        }
        fs::File::open(&self.dir)?.sync_all()
    }

    /// Throws an artifact away.
    pub(crate) fn remove(&self, digest: Digest) -> io::Result<()> {
        let at = self.path(digest);
        // A link is removed and not followed.
        let removed = fs::symlink_metadata(&at).and_then(|look| match look.is_dir() {
            true => fs::remove_dir_all(&at),
            false => fs::remove_file(&at),
        });
        found(removed).map(|_| ())
    }

    /// Throws away what is too much, the oldest first and none of what is to be kept. Returns the bytes that are left.
    pub(crate) fn tidy(&self, keep: &BTreeSet<Digest>) -> io::Result<u64> {
        if found(self.is_own())?.is_none() {
            return Ok(0);
        }
        let mut all = Vec::new();
        for (name, written, path) in self.entries()? {
            if name.ends_with(NEW) && written.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_dir_all(path);
            } else if let Some(digest) = Digest::from_hex(&name) {
                all.push((written, digest, taken(&path)));
            }
        }
        all.sort_unstable_by_key(|(written, digest, _)| (*written, *digest));
        let (mut size, mut count) = (all.iter().map(|(.., size)| size).sum::<u64>(), all.len());
        for (_, digest, taken) in all {
            if size <= self.most.0 && count <= MAX_ENTRIES {
                break;
            }
            if !keep.contains(&digest) {
                self.remove(digest)?;
                size = size.saturating_sub(taken);
                count -= 1;
            }
        }
        Ok(size)
    }

    /// The bytes of everything that is kept.
    pub(crate) fn size(&self) -> io::Result<u64> {
        let entries = found(self.entries())?.unwrap_or_default();
        Ok(entries.iter().map(|(.., path)| taken(path)).sum())
    }

    /// Whether an artifact can be kept without throwing another one away.
    pub(crate) fn has_room(&self, entry: &Entry) -> bool {
        let more = u64::try_from(entry.size()).unwrap_or(u64::MAX);
        self.size().is_ok_and(|size| size.saturating_add(more) <= self.most.0)
    }

    /// What is in the directory: name, when it was written, path. What goes meanwhile, by another's hand, is passed over.
    fn entries(&self) -> io::Result<Vec<(String, SystemTime, PathBuf)>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let Ok(look) = entry.metadata() else { continue };
            let name = entry.file_name().to_string_lossy().into_owned();
            let written = look.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push((name, written, entry.path()));
        }
        Ok(entries)
    }
}

/// What there is; `None` where nothing is.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

fn manifest(n: usize) -> String {
    format!("manifest.{n}.json")
}

/// What a directory's files have, in bytes.
fn taken(dir: &Path) -> u64 {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

/// Reads a regular file that is no link; one that is larger is cut, and found wrong by its digest.
fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const LIMIT: ByteSize = ByteSize(1_000);

    fn cache(dir: &Path, most: u64) -> Cache {
        Cache::new(dir.join("components"), ByteSize(most))
    }

    fn entry(n: u8) -> (Digest, Entry) {
        let layer = vec![n; 100];
        let digest = crate::digest(&layer);
        let text = format!(
            r#"{{"schemaVersion":2,"layers":[{{"mediaType":"application/wasm","digest":"{digest}","size":100}}]}}"#
        );
        let entry = Entry { manifests: vec![text.into_bytes()], layer, signatures: Vec::new() };
        (crate::digest(&entry.manifests[0]), entry)
    }

    #[test]
    fn what_is_kept_is_read_again_whole_and_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path(), 10_000);
        let (digest, entry) = entry(1);
        assert_eq!(cache.read(digest, LIMIT).unwrap(), None);
        for _ in 0..2 {
            cache.write(digest, &entry).unwrap();
            let kept = cache.read(digest, LIMIT).unwrap().unwrap();
            assert_eq!(kept, entry);
            assert_eq!(kept.component(digest, LIMIT).unwrap(), vec![1; 100]);
        }
        assert_eq!(fs::read_dir(cache.dir()).unwrap().count(), 1, "nothing is left beside it");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(cache.dir()), 0o700);
        assert_eq!(mode(&cache.path(digest).join(LAYER)), 0o600);
    }

    #[test]
    fn what_was_changed_on_the_disk_is_not_the_component_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path(), 10_000);
        let (digest, entry) = entry(1);
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, &entry.layer).unwrap();
        let layer = cache.path(digest).join(LAYER);
        let broken: [&dyn Fn(); 5] = [
            &|| fs::write(&layer, [2; 100]).unwrap(),
            &|| fs::write(&layer, [1; 99]).unwrap(),
            &|| fs::write(&layer, vec![1; 100_000]).unwrap(),
            &|| {
                fs::remove_file(&layer).unwrap();
                symlink(&elsewhere, &layer).unwrap();
            },
            &|| fs::write(cache.path(digest).join(manifest(0)), "{}").unwrap(),
        ];
        for change in broken {
            cache.write(digest, &entry).unwrap();
            change();
            let kept = cache.read(digest, LIMIT).unwrap().unwrap();
            assert!(kept.component(digest, LIMIT).is_err());
        }
        cache.remove(digest).unwrap();
        assert_eq!(cache.read(digest, LIMIT).unwrap(), None);
        assert_eq!(fs::read(&elsewhere).unwrap(), entry.layer, "a link is not followed");
    }

    #[test]
    fn the_oldest_that_nobody_names_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        let size = entry(0).1.size() as u64 + 2;
        let cache = cache(dir.path(), 2 * size);
        let digests: Vec<Digest> = (0..4).map(|n| entry(n).0).collect();
        let write = |n: u8| {
            cache.write(entry(n).0, &entry(n).1).unwrap();
            let old = SystemTime::now() - Duration::from_secs(100 - u64::from(n));
            fs::File::open(cache.path(entry(n).0)).unwrap().set_modified(old).unwrap();
        };
        (0..4).for_each(write);
        let there = || digests.iter().filter(|digest| cache.path(**digest).exists()).count();
        let keep = BTreeSet::from([digests[0], digests[1], digests[3]]);
        assert_eq!(cache.tidy(&keep).unwrap(), 3 * size, "what is named stays, even if it is too much");
        assert_eq!(there(), 3);
        assert!(!cache.path(digests[2]).exists());
        assert_eq!(cache.tidy(&BTreeSet::from([digests[0]])).unwrap(), 2 * size);
        assert!(!cache.path(digests[1]).exists() && cache.path(digests[0]).exists());
    }

    #[test]
    fn a_directory_that_others_can_write_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path(), 10_000);
        let (digest, entry) = entry(1);
        cache.write(digest, &entry).unwrap();
        fs::set_permissions(cache.dir(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(cache.read(digest, LIMIT).is_err() && cache.write(digest, &entry).is_err());
        assert!(cache.tidy(&BTreeSet::new()).is_err());
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path(), 10_000);
        let (digest, entry) = entry(1);
        fs::write(dir.path().join("components"), "a file").unwrap();
        assert!(cache.write(digest, &entry).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
