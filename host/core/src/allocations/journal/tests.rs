//! Steps at random on a disk that is worse than any, against what must be known afterwards.

mod simulated;

use super::super::StoredReply;
use super::super::allocation::{AllocationId, Ask, Mode, Slot, State, Take};
use super::super::change::{Acquire, Amend, Change, Commit, Dirty, Release};
use super::super::consumer::Consumer;
use super::super::expiry::{Expiry, Now};
use super::super::fuzz;
use super::super::record::AllocatedUnit;
use super::super::unverified::Unverified;
use super::disk::Disk;
use super::writer::{Snapshot, segment_name};
use super::*;
use crate::offer::Reply;
use rustix::io::Errno;
use simulated::Simulated;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// A host that writes on a disk, and what must be known of it.
struct Host {
    disk: Simulated,
    book: Book,
    writer: Writer,
    /// What it knew when it was last told that all is on the disk, and after each step since then.
    since: Vec<Contents>,
    /// A compaction that is under way.
    next: Option<Next>,
    snapshot: Option<Snapshot>,
}

impl Host {
    fn start(disk: Simulated) -> Self {
        let mut opened = open(Arc::new(disk.clone())).unwrap();
        if opened.known == Known::Nothing {
            opened.book = Book::new(Contents::default(), 0, 0);
        }
        assert!(matches!(opened.known, Known::All | Known::Nothing), "{:?}", opened.known);
        Self {
            since: vec![opened.book.contents().clone()],
            book: opened.book,
            writer: opened.writer,
            disk,
            next: None,
            snapshot: None,
        }
    }

    fn note(&mut self, change: &Change) {
        self.book.note(change);
        self.since.push(self.book.contents().clone());
    }

    fn commit(&mut self) -> std::io::Result<()> {
        let batch = self.book.take(self.writer.needs_all());
        let last = batch.last;
        self.writer.write(batch)?;
        self.written(last);
        Ok(())
    }

    fn written(&mut self, last: u64) {
        self.book.written(last);
        self.since = vec![self.book.contents().clone()];
    }

    /// The next step of a compaction.
    fn compact(&mut self) {
        if let Some(snapshot) = self.snapshot.take() {
            let _ = snapshot.write(false);
        } else if let Some(next) = self.next.take() {
            let batch = self.book.take(true);
            let last = batch.last;
            match self.writer.go_on(batch, next) {
                Ok(snapshot) => {
                    self.snapshot = snapshot;
                    self.written(last);
                }
                Err(_) => assert!(self.writer.needs_all()),
            }
        } else if let Some(number) = self.writer.number_after() {
            self.next = Next::make(&self.disk, number).ok();
        }
    }

    /// What a host knows that starts after one was killed: the disk has what it was given, on its platters or not.
    fn kill(self) -> Self {
        let (disk, since) = (self.disk.clone(), self.since.clone());
        let mut host = self.starts_again(disk);
        // No consumer was told of more than before: the power may fail yet.
        host.since.extend(since);
        host
    }

    /// The same after a crash.
    fn crash(self) -> Self {
        let disk = self.disk.crash();
        self.starts_again(disk)
    }

    /// It knows what was so at some moment since all was last on the disk.
    fn starts_again(self, disk: Simulated) -> Self {
        let host = Self::start(disk);
        let known = host.book.contents();
        assert!(
            self.since.iter().any(|then| then == known || then.is_but_for_ids(known)),
            "{known:#?} is none of {:#?}",
            self.since
        );
        host
    }
}

fn pick<T: Clone>(random: &mut fastrand::Rng, of: &[T]) -> T {
    of[random.usize(..of.len())].clone()
}

fn consumers() -> [Consumer; 4] {
    let text = str::to_owned;
    [
        Consumer::Pods,
        Consumer::Claim { driver: text("gpu.example.com"), uid: text("1") },
        Consumer::Lease { name: text("bench") },
        Consumer::Request { kind: text("cni"), id: text("0af3") },
    ]
}

/// A step that may come next.
fn step(book: &mut Book, random: &mut fastrand::Rng) -> Change {
    let allocations: Vec<_> = book.contents().allocations().map(|(id, of)| (id, of.ask.clone())).collect();
    let ids = |random: &mut fastrand::Rng| {
        BTreeMap::from([("gpus".to_owned(), BTreeSet::from([random.u8(0..9).to_string()]))])
    };
    match random.u8(0..10) {
        0..4 => {
            let mut take = BTreeSet::new();
            for _ in 0..random.u8(1..4) {
                take.insert(Take {
                    unit: random.u8(0..9).to_string(),
                    slot: pick(random, &[Slot::Whole, Slot::Replica(0), Slot::Replica(1)]),
                });
            }
            let ask = Ask {
                mode: pick(random, &[Mode::Hold, Mode::Hold, Mode::Observe]),
                state: State::Recorded,
                tag: random.u8(0..3).to_string(),
                ..Ask::of(pick(random, &["a.com/x", "a.com/y"]), take)
            };
            let mut units = BTreeMap::new();
            for key in ask.keys().filter(|key| book.contents().record(key).is_none()) {
                super::super::change::with(
                    &key,
                    AllocatedUnit::recorded([("/dev/x", None)], &[], random.bool()),
                    &mut units,
                );
            }
            let allocations = BTreeMap::from([(book.new_id(), ask)]);
            let consumer = pick(random, &consumers());
            Change::Acquire(Acquire { consumer, allocations, units })
        }
        4..7 if !allocations.is_empty() => {
            let (allocation, ask) = pick(random, &allocations);
            let some = ask.take.iter().take(1).map(|take| take.unit.clone()).collect();
            let units = random.bool().then_some(some);
            Change::Release(Release { allocation, units })
        }
        7 if !allocations.is_empty() && random.bool() => {
            let ends = Expiry::after(Duration::from_secs(random.u64(0..9)), &Now::in_boot(None));
            Change::Amend(Amend {
                units: BTreeMap::new(),
                expires: BTreeMap::from([(pick(random, &allocations).0, random.bool().then_some(ends))]),
            })
        }
        7 if !allocations.is_empty() => {
            let id = pick(random, &allocations).0;
            let reply = StoredReply::of(&Reply::default()).unwrap();
            Change::Commit(Commit {
                allocations: BTreeSet::from([id]),
                state: pick(random, &[State::Active, State::Releasing]),
                replies: random.bool().then_some((id, reply)).into_iter().collect(),
            })
        }
        8 => Change::Clean(ids(random)),
        _ => Change::Dirty(Dirty::Away(ids(random))),
    }
}

/// A host that crashes at any moment, on a disk on which anything may fail at any moment.
fn run(seed: u64, steps: u32) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut host = Host::start(Simulated::new(seed));
    for _ in 0..steps {
        match random.u8(0..100) {
            0..60 => {
                let change = step(&mut host.book, &mut random);
                host.note(&change);
            }
            60..85 => drop(host.commit()),
            85..92 => host.compact(),
            92..94 => {
                let error = pick(&mut random, &[Errno::IO, Errno::NOSPC, Errno::ROFS]);
                host.disk.fail(random.u64(1..8), error, random.bool());
            }
            94..96 => host.disk.heal(),
            96 => {
                host.disk.heal();
                host = host.kill();
            }
            _ => {
                host.disk.heal();
                host = host.crash();
            }
        }
    }
}

#[test]
fn whatever_fails_and_whenever_it_ends_nothing_that_was_acknowledged_is_lost() {
    for seed in 0..100 {
        run(seed, 1_000);
    }
}

/// Three allocations, each on the disk before the next one.
fn three() -> Host {
    let mut host = Host::start(Simulated::new(0));
    for n in 0..3 {
        let ask = Ask::of("a.com/x", [Take::whole(&n.to_string())]);
        let allocations = BTreeMap::from([(host.book.new_id(), ask)]);
        host.note(&Change::Acquire(Acquire { consumer: Consumer::Pods, allocations, units: BTreeMap::new() }));
        host.commit().unwrap();
    }
    host
}

#[test]
fn what_is_recorded_costs_one_sync() {
    let mut host = three();
    let syncs = host.disk.syncs();
    for n in 1..=10 {
        let change = step(&mut host.book, &mut fastrand::Rng::with_seed(n));
        host.note(&change);
        host.commit().unwrap();
        assert_eq!(host.disk.syncs(), syncs + n);
    }
}

#[test]
fn an_entry_that_rots_is_missed_and_the_last_one_is_torn() {
    let host = three();
    let name = segment_name(1);
    let bytes = host.disk.read(&name).unwrap().unwrap();
    let mut places = Vec::new();
    let mut at = 0;
    while let Some((entry, length)) = Entry::read(&bytes[at..]) {
        places.push((at, 32 + entry.bytes.len()));
        at += length;
    }
    assert_eq!(places.len(), 3, "the header, and what came after the snapshot");
    for (n, (at, length)) in places.iter().enumerate() {
        for bit in (at * 8)..(at + length) * 8 {
            host.disk.rot(&name, bit);
            let opened = open(Arc::new(host.disk.clone())).unwrap();
            let known = opened.book.contents();
            if n < 2 {
                assert!(matches!(opened.known, Known::Incomplete(_)), "{n}: {bit}");
                assert_eq!(*known.unverified(), Unverified::of_all());
            } else {
                assert_eq!((opened.known, known.len()), (Known::All, 2), "{n}: {bit}");
            }
            host.disk.rot(&name, bit);
        }
    }
    let whole = open(Arc::new(host.disk.clone())).unwrap();
    assert_eq!((whole.known, whole.book.contents().len()), (Known::All, 3));
}

/// The segment before the last one was whole when the last one was begun.
#[test]
fn what_is_gone_from_the_end_of_a_segment_is_missed_by_the_next_one() {
    let mut host = three();
    let bytes = host.disk.read(&segment_name(1)).unwrap().unwrap();
    let (mut at, mut last) = (0, 0);
    while let Some((_, length)) = Entry::read(&bytes[at..]) {
        (last, at) = (at, at + length);
    }
    // Into the next segment, before the snapshot is there.
    host.compact();
    host.compact();
    let change = step(&mut host.book, &mut fastrand::Rng::with_seed(3));
    host.note(&change);
    host.commit().unwrap();
    let known = |host: &Host| open(Arc::new(host.disk.clone())).unwrap().known;
    assert_eq!(known(&host), Known::All);
    host.disk.rot(&segment_name(1), last * 8);
    assert!(matches!(known(&host), Known::Incomplete(why) if why.contains("between two segments")));
}

#[test]
fn what_is_not_understood_is_kept_aside_when_it_is_known_again() {
    let host = three();
    host.disk.rot(&segment_name(1), 8 * 40);
    let mut opened = open(Arc::new(host.disk.clone())).unwrap();
    assert!(matches!(opened.known, Known::Incomplete(_)) && opened.writer.needs_all());
    opened.writer.write(opened.book.take(true)).unwrap();
    assert_eq!(
        host.disk.names().unwrap(),
        ["journal.1.unreadable", "journal.2", "snapshot.1.unreadable", "snapshot.2"]
    );
    let again = open(Arc::new(host.disk.clone())).unwrap();
    assert_eq!((again.known, again.book.contents()), (Known::All, opened.book.contents()));
}

#[test]
fn a_newer_format_is_told_from_one_that_is_not_understood() {
    let host = three();
    let header = fuzz::Line { kind: Kind::HEADER.0, seq: 0, durable_through: 0, text: br#"{"format": 2, "more": []}"# };
    let bytes = fuzz::journal(&[header]);
    let file = host.disk.create("snapshot.7", 0).unwrap();
    file.write_at(0, &bytes).unwrap();
    let before = host.disk.steps();
    assert_eq!(open(Arc::new(host.disk.clone())).unwrap().known, Known::Newer(2));
    assert_eq!(host.disk.steps(), before, "it is left as it is");
}

#[test]
fn what_a_newer_host_wrote_stays_as_it_is_and_what_it_gave_stays_held() {
    let mut host = three();
    let acquire = br#"{ "consumer": {"kind": "dream", "of": 1}, "allocations": {"9": {"resource": "a.com/x", "take": [{"unit": "q", "slot": {"half": 2}}], "more": 1}} }"#;
    let entries: [(Kind, &[u8]); 2] = [(Kind::ACQUIRE, acquire), (Kind(77), b"\xff\0what?")];
    let number = 1;
    let segment = host.disk.open(&segment_name(number));
    let bytes = host.disk.read(&segment_name(number)).unwrap().unwrap();
    let (mut at, mut seq) = (0, 0);
    while let Some((entry, length)) = Entry::read(&bytes[at..]) {
        (at, seq) = (at + length, entry.seq);
    }
    let mut more = Vec::new();
    for (kind, bytes) in entries {
        seq += 1;
        Entry { seq, durable_through: seq - 1, kind, bytes }.write_to(&mut more);
    }
    segment.write_at(at as u64, &more).unwrap();
    segment.sync().unwrap();
    for round in 0..3 {
        host = Host::start(host.disk.crash());
        let held = host.book.contents();
        let unknown = Consumer::Unknown { kind: "dream".to_owned() };
        let key = ("a.com/x".to_owned(), "q".to_owned());
        let who: Vec<_> = held.who_has(&key).map(|(id, of)| (id, of.consumer.clone())).collect();
        assert_eq!(who, [(AllocationId(9), unknown)], "{round}");
        assert_eq!(held.next_id(), 10, "an id of theirs is not used again");
        for (kind, bytes) in entries {
            assert!(held_entries(&host).contains(&(kind, bytes.to_vec())), "{round}: {kind:?}");
        }
        // A snapshot, and a segment without them.
        (0..3).for_each(|_| host.compact());
        host.commit().unwrap();
    }
}

fn held_entries(host: &Host) -> Vec<(Kind, Vec<u8>)> {
    host.book.contents().entries()
}

#[test]
fn a_compaction_loses_nothing_at_whatever_step_it_ends() {
    for stop in 0..24 {
        for seed in 0..20 {
            let mut host = three();
            host.disk = host.disk.seeded(seed);
            host.disk.fail(stop, Errno::IO, true);
            for _ in 0..4 {
                host.compact();
                let change = step(&mut host.book, &mut fastrand::Rng::with_seed(seed));
                host.note(&change);
                let _ = host.commit();
            }
            host.disk.heal();
            host.crash();
        }
    }
}
