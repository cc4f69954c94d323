//! A disk that is worse than any: what was not synced is there after a crash or not, in parts and in any order.

use super::super::disk::{Disk, DiskFile};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// What the disk may lose of a write, in bytes.
const SECTOR: usize = 512;

/// A disk. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Simulated(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    files: Vec<File>,
    names: Names,
    kept_names: Names,
    /// What was done to names since they were synced.
    unsynced: Vec<Renamed>,
    /// Operations so far.
    steps: u64,
    /// The operation that fails, and how; all from it on, where it is to last.
    fault: Option<(u64, i32, bool)>,
    random: fastrand::Rng,
    syncs: u64,
}

type Names = BTreeMap<String, usize>;

#[derive(Clone, Default)]
struct File {
    now: Vec<u8>,
    kept: Vec<u8>,
    /// Sectors that were written and not synced; those of a failed sync are lost, or were written, and stay as they are.
    dirty: Vec<(usize, Vec<u8>)>,
    forgotten: Vec<(usize, Vec<u8>)>,
}

#[derive(Clone)]
enum Renamed {
    Is(String, usize),
    Gone(String),
}

struct Handle(Simulated, usize);

impl Simulated {
    pub(super) fn new(seed: u64) -> Self {
        let disk = Self::default();
        disk.state().random = fastrand::Rng::with_seed(seed);
        disk
    }

    /// The same disk, with other luck.
    pub(super) fn seeded(&self, seed: u64) -> Self {
        self.state().random = fastrand::Rng::with_seed(seed);
        self.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// How many operations there were.
    pub(super) fn steps(&self) -> u64 {
        self.state().steps
    }

    /// How many of them were syncs.
    pub(super) fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// The operation that is to come after so many fails with this; where it lasts, all after it as well.
    pub(super) fn fail(&self, after: u64, error: rustix::io::Errno, lasts: bool) {
        let mut state = self.state();
        state.fault = Some((state.steps + after, error.raw_os_error(), lasts));
    }

    pub(super) fn heal(&self) {
        self.state().fault = None;
    }

    /// The disk as it is after a crash: of what was not synced anything may be there.
    pub(super) fn crash(&self) -> Self {
        let mut state = self.state();
        let mut random = state.random.fork();
        let mut files = state.files.clone();
        for file in &mut files {
            let mut unsure: Vec<_> = file.dirty.drain(..).chain(file.forgotten.drain(..)).collect();
            random.shuffle(&mut unsure);
            let keep = random.u8(0..4);
            for (at, bytes) in unsure {
                let kept = match keep {
                    0 => false,
                    1 => true,
                    _ => random.bool(),
                };
                if kept {
                    put(&mut file.kept, at, &bytes);
                }
            }
            file.now = file.kept.clone();
        }
        let mut names = state.kept_names.clone();
        let mut unsynced = state.unsynced.clone();
        if random.bool() {
            random.shuffle(&mut unsynced);
        }
        for renamed in unsynced.into_iter().filter(|_| random.bool()) {
            match renamed {
                Renamed::Is(name, file) => drop(names.insert(name, file)),
                Renamed::Gone(name) => drop(names.remove(&name)),
            }
        }
        let crashed = State { files, kept_names: names.clone(), names, random, ..State::default() };
        Self(Arc::new(Mutex::new(crashed)))
    }

    /// Opens a file that is there.
    pub(super) fn open(&self, name: &str) -> Box<dyn DiskFile> {
        let file = self.state().names[name];
        Box::new(Handle(self.clone(), file))
    }

    /// Turns one bit of a file over.
    pub(super) fn rot(&self, name: &str, bit: usize) {
        let mut state = self.state();
        let file = state.names[name];
        let file = &mut state.files[file];
        for bytes in [&mut file.now, &mut file.kept] {
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    fn step(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        state.steps += 1;
        match state.fault {
            Some((at, error, lasts)) if state.steps == at || (lasts && state.steps > at) => {
                Err(io::Error::from_raw_os_error(error))
            }
            _ => Ok(state),
        }
    }
}

impl Disk for Simulated {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.state().names.keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let state = self.state();
        Ok(state.names.get(name).map(|file| state.files[*file].now.clone()))
    }

    fn create(&self, name: &str, zeroes: u64) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.step()?;
        let file = state.files.len();
        state.files.push(File::default());
        state.unsynced.push(Renamed::Is(name.to_owned(), file));
        state.names.insert(name.to_owned(), file);
        state.files[file].write(0, &vec![0; usize::try_from(zeroes).unwrap()]);
        Ok(Box::new(Handle(self.clone(), file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.step()?;
        let file = state.names.remove(from).unwrap();
        state.unsynced.extend([Renamed::Is(to.to_owned(), file), Renamed::Gone(from.to_owned())]);
        state.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.step()?;
        if state.names.remove(name).is_some() {
            state.unsynced.push(Renamed::Gone(name.to_owned()));
        }
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.step()?;
        state.syncs += 1;
        state.kept_names = state.names.clone();
        state.unsynced.clear();
        Ok(())
    }
}

impl DiskFile for Handle {
    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let at = usize::try_from(at).unwrap();
        let some = bytes.len() / 2;
        let failed = self.0.step().map(|mut state| state.files[self.1].write(at, bytes));
        // A disk that is full takes what it can.
        failed.inspect_err(|_| self.0.state().files[self.1].write(at, &bytes[..some]))
    }

    fn sync(&self) -> io::Result<()> {
        let synced = self.0.step().map(|mut state| {
            state.syncs += 1;
            let file = &mut state.files[self.1];
            for (at, bytes) in std::mem::take(&mut file.dirty) {
                put(&mut file.kept, at, &bytes);
            }
        });
        synced.inspect_err(|_| {
            // What could not be written is taken for written from now on.
            let mut state = self.0.state();
            let file = &mut state.files[self.1];
            let lost = std::mem::take(&mut file.dirty);
            file.forgotten.extend(lost);
        })
    }
}

impl File {
    fn write(&mut self, at: usize, bytes: &[u8]) {
        put(&mut self.now, at, bytes);
        let mut at = at;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (part, more) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
            self.dirty.push((at, part.to_vec()));
            (at, rest) = (at + part.len(), more);
        }
    }
}

fn put(into: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    into.resize(into.len().max(at + bytes.len()), 0);
    into[at..at + bytes.len()].copy_from_slice(bytes);
}
