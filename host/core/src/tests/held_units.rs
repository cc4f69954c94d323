//! From one pod to the next, as pods come and go.

use super::*;
use crate::holders::{Holder, Holders, HoldersFeed, HoldersSource, holders};
use crate::offer::AllocateError;
use crate::reclaim::Reclaim;
use crate::registry::Registry;
use devgate_types::{CallError, Edits, Failure, FailureKind, ResourceName, Unit};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Instant;

pub(super) const GPU: &str = "fake.com/gpu";
pub(super) const FIRST: &str = "0000:00:01.0";
pub(super) const SECOND: &str = "0000:00:02.0";
/// Longer than a few looks take.
pub(super) const A_WHILE: Duration = Duration::from_millis(400);

/// What a kubelet would tell, told every few milliseconds and whenever it is asked.
#[derive(Clone, Default)]
pub(super) struct Pods(Arc<Mutex<Told>>);

#[derive(Clone, Default)]
pub(super) struct Told {
    held: BTreeSet<String>,
    /// Beside what is held.
    recorded: BTreeSet<String>,
    no_records: bool,
    process: u64,
    /// Only those who ask are told this, instead of what is held.
    last_look: Option<BTreeSet<String>>,
}

impl Pods {
    pub(super) fn set(&self, change: impl FnOnce(&mut Told)) {
        change(&mut self.0.lock().unwrap());
    }

    pub(super) fn hold(&self, ids: &[&str]) {
        self.set(|told| {
            told.held = ids.iter().map(ToString::to_string).collect();
            told.recorded.clear();
        });
    }

    /// A pod gets these: as a kubelet does, its records say so before anybody is shown with them.
    pub(super) async fn begin(&self, gpus: &Arc<dyn Offer>, ids: &[&str]) {
        self.set(|told| told.recorded = ids.iter().map(ToString::to_string).collect());
        give(gpus, ids).await.unwrap();
        self.hold(ids);
    }

    /// The feed of a kubelet that tells this.
    pub(super) fn feed(&self) -> HoldersFeed {
        let (source, feed) = holders();
        tokio::spawn(self.clone().tell(source));
        feed.with_grace(Duration::from_millis(50))
    }

    async fn tell(self, source: HoldersSource) {
        let told = self.0.lock().unwrap().clone();
        if !told.no_records {
            let ids = told.held.union(&told.recorded);
            let key = |id: &String| (ResourceName::try_new(GPU).unwrap(), id.clone());
            source.tell_records(ids.map(|id| (key(id), BTreeSet::new())).collect());
        }
        for poll in 1.. {
            let asked = tokio::time::timeout(Duration::from_millis(20), source.asked()).await;
            let (begun, told) = (Instant::now(), self.0.lock().unwrap().clone());
            let key = |id: &String| (ResourceName::try_new(GPU).unwrap(), id.clone());
            let held = told.last_look.filter(|_| asked.is_ok()).unwrap_or(told.held);
            let holder = Holder { namespace: "default".into(), pod: "train".into(), container: "main".into() };
            source.tell(Holders {
                seen: held.iter().map(|id| (key(id), vec![holder.clone()])).collect(),
                recorded: (!told.no_records).then(|| held.iter().chain(&told.recorded).map(key).collect()),
                poll,
                process: told.process,
                begun,
            });
        }
    }
}

/// What a component was asked, in order, and what it shall answer.
#[derive(Clone, Default)]
pub(super) struct Script(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    said: Vec<String>,
    /// Calls that fail, with how.
    fails: Vec<(&'static str, FailureKind)>,
    /// Calls that wait until the sender is dropped or sends.
    waits: Vec<(&'static str, mpsc::Receiver<()>)>,
}

impl Script {
    fn call(&self, name: &'static str, units: &[Unit]) -> Result<(), CallError> {
        let ids: Vec<_> = units.iter().map(|unit| unit.id.as_str()).collect();
        let mut lines = self.0.lock().unwrap();
        lines.said.push(format!("{name} {}", ids.join(" ")));
        let wait = lines.waits.iter().position(|(of, _)| *of == name);
        let wait = wait.map(|n| lines.waits.remove(n).1);
        drop(lines);
        if let Some(wait) = wait {
            let _ = wait.recv();
        }
        let lines = self.0.lock().unwrap();
        match lines.fails.iter().find(|(of, _)| *of == name) {
            None => Ok(()),
            Some((_, kind)) => Err(CallError::Failed(Failure::new(*kind, "it does not answer"))),
        }
    }

    pub(super) fn said(&self) -> Vec<String> {
        self.0.lock().unwrap().said.clone()
    }

    pub(super) fn forget(&self) {
        self.0.lock().unwrap().said.clear();
    }

    pub(super) fn fail(&self, name: &'static str, kind: FailureKind) {
        self.0.lock().unwrap().fails.push((name, kind));
    }

    pub(super) fn heal(&self) {
        self.0.lock().unwrap().fails.clear();
    }

    /// The next such call waits until the answer is dropped.
    pub(super) fn wait(&self, name: &'static str) -> mpsc::Sender<()> {
        let (sender, receiver) = mpsc::channel();
        self.0.lock().unwrap().waits.push((name, receiver));
        sender
    }

    pub(super) async fn until(&self, line: &str) {
        until(line, || self.said().iter().any(|said| said == line)).await;
    }

    /// GPUs with a life cycle.
    pub(super) fn gpus(&self) -> Fake {
        let mut fake = Fake::gpus();
        fake.profile.lifecycle = true;
        let (prepare, release, allocate) = (self.clone(), self.clone(), self.clone());
        fake.prepare = Box::new(move |_, units| prepare.call("prepare", units));
        fake.release = Box::new(move |_, units| release.call("release", units));
        fake.allocate = Box::new(move |_, units| allocate.call("allocate", units).map(|()| Edits::default()));
        fake
    }
}

pub(super) async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(super) fn policy() -> String {
    format!(
        "{POLICY}    limits: {{deadline: 20s, cpu: 5s}}
"
    )
}

pub(super) async fn world(
    policy: &str,
    fake: Fake,
    allocations: &Allocations,
    feed: HoldersFeed,
) -> (World, Arc<dyn Offer>) {
    let node = node();
    let mut around = around(&node, FakeLoader::with([("fake.wasm", fake)]), allocations);
    around.holders = feed;
    let plugins = Plugins::start(&parse(policy), around);
    let world = World { node, plugins };
    let gpus = world.offer(GPU).await;
    (world, gpus)
}

pub(super) async fn ready(
    policy: &str,
    fake: Fake,
    allocations: &Allocations,
    feed: HoldersFeed,
) -> (World, Arc<dyn Offer>) {
    let (world, gpus) = world(policy, fake, allocations, feed).await;
    wait(&gpus, all_healthy).await;
    (world, gpus)
}

pub(super) async fn give(gpus: &Arc<dyn Offer>, ids: &[&str]) -> Result<(), AllocateError> {
    gpus.allocate(&strings(ids)).await.map(|_| ())
}

pub(super) fn remembered(dir: &Path) -> String {
    crate::Recorded::read(dir).unwrap().to_json().unwrap()
}

/// Whether the file says that an id was handed out; what was released after a loss is named there as well.
fn is_remembered(dir: &Path, id: &str) -> bool {
    remembered(dir).contains(&format!("{id}\": {{"))
}

/// What pods no longer have is released once, and not before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_pod_has_any_more_is_released_and_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, script) = (Pods::default(), Script::default());
    let allocations = Allocations::open(dir.path()).unwrap();
    let (_world, gpus) = ready(&policy(), script.gpus(), &allocations, pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    let expected = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), expected, "it is not known who had it before");
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said().len(), 3, "a pod has it");
    assert!(remembered(dir.path()).contains("\"unreleased\": true"));
    script.forget();
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    until("forgotten", || !is_remembered(dir.path(), FIRST)).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said().len(), 1);
    script.forget();
    pods.begin(&gpus, &[FIRST]).await;
    assert_eq!(script.said(), [format!("prepare {FIRST}"), format!("allocate {FIRST}")]);
}

/// The next pod comes before anybody has seen that the last one went.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_of_what_is_not_clean_releases_it_first() {
    let script = Script::default();
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    script.forget();
    give(&gpus, &[FIRST, SECOND]).await.unwrap();
    let both = format!("{FIRST} {SECOND}");
    assert_eq!(script.said(), [format!("release {FIRST}"), format!("prepare {both}"), format!("allocate {both}")]);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said().len(), 3, "who knows nothing of pods frees nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_fails_makes_the_device_unhealthy_until_it_succeeds() {
    let (pods, script) = (Pods::default(), Script::default());
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    script.fail("release", FailureKind::Io);
    pods.hold(&[]);
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    insta::assert_snapshot!(list, @r"
    0000:00:01.0 {1} plugin gpus: release failed: it does not answer
    0000:00:02.0 {}
    ");
    let refused = give(&gpus, &[FIRST]).await.unwrap_err();
    assert!(refused.to_string().contains("does not answer"), "{refused}");
    script.heal();
    wait(&gpus, all_healthy).await;
    script.forget();
    pods.begin(&gpus, &[FIRST]).await;
    assert_eq!(script.said().len(), 2, "{:?}", script.said());
}

/// The same where the next pod is there already: it does not get what is not clean.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_fails_where_the_release_before_it_does() {
    let script = Script::default();
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    script.forget();
    script.fail("release", FailureKind::Io);
    let refused = give(&gpus, &[FIRST]).await.unwrap_err();
    insta::assert_snapshot!(refused, @"plugin gpus: release failed: it does not answer");
    assert!(script.said().iter().all(|said| said.starts_with("release")), "{:?}", script.said());
    wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    script.heal();
    // Tried again without anybody who knows of pods: the pod that would have had it is lost.
    wait(&gpus, all_healthy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_waits_for_the_release_that_is_under_way() {
    let (pods, script) = (Pods::default(), Script::default());
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    tokio::time::sleep(A_WHILE).await;
    script.forget();
    let gate = script.wait("release");
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    let next = tokio::spawn({
        let gpus = Arc::clone(&gpus);
        async move { give(&gpus, &[FIRST]).await }
    });
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said().len(), 1, "nothing overtakes it");
    pods.set(|told| told.recorded = [FIRST.to_owned()].into());
    drop(gate);
    next.await.unwrap().unwrap();
    pods.hold(&[FIRST]);
    let expected = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), expected, "released once");
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said().len(), 3, "the new pod has it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_last_look_sees_with_a_pod_is_not_released() {
    let (pods, script) = (Pods::default(), Script::default());
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    tokio::time::sleep(A_WHILE).await;
    script.forget();
    pods.set(|told| told.last_look = Some([FIRST.to_owned()].into()));
    pods.hold(&[]);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new());
    pods.set(|told| told.last_look = None);
    script.until(&format!("release {FIRST}")).await;
}

/// What a pod has that no look shows: in an init container, or while a new kubelet has not heard of its pods.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_source_has_given_away_by_its_own_records_is_not_released() {
    let (pods, script) = (Pods::default(), Script::default());
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    let both: BTreeSet<_> = [FIRST.to_owned(), SECOND.to_owned()].into();
    pods.set(|told| told.recorded = both.clone());
    give(&gpus, &[FIRST]).await.unwrap();
    give(&gpus, &[SECOND]).await.unwrap();
    pods.set(|told| told.held = [SECOND.to_owned()].into());
    tokio::time::sleep(A_WHILE).await;
    // Another process of the source, which shows no pod yet.
    pods.set(|told| (told.process, told.held) = (2, BTreeSet::new()));
    script.forget();
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new());
    // Its records cannot be read: nothing is taken for free.
    pods.set(|told| told.no_records = true);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new());
    pods.set(|told| (told.no_records, told.recorded) = (false, [SECOND.to_owned()].into()));
    script.until(&format!("release {FIRST}")).await;
    // It was seen with a pod by this very process, whose records may be older than what it shows.
    pods.set(|told| told.held = [SECOND.to_owned()].into());
    tokio::time::sleep(A_WHILE).await;
    pods.set(|told| told.held.clear());
    script.until(&format!("release {SECOND}")).await;
}

/// Between `prepare` and the answer the host is killed: it does not know whether a pod has the device, but that it is not clean.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_made_ready_before_the_host_was_killed_is_released_before_it_is_given() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, script) = (Pods::default(), Script::default());
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (first_world, gpus) = ready(&policy(), script.gpus(), &allocations, HoldersFeed::none()).await;
    let gate = script.wait("prepare");
    let lost = tokio::spawn({
        let gpus = Arc::clone(&gpus);
        async move { give(&gpus, &[FIRST]).await }
    });
    script.until(&format!("prepare {FIRST}")).await;
    let state = remembered(dir.path());
    assert!(state.contains(FIRST), "noted before it is made ready: {state}");
    lost.abort();
    drop((first_world, gpus, allocations));
    // As the disk has it.
    let killed = tempfile::tempdir().unwrap();
    std::fs::write(killed.path().join("handed-out.json"), &state).unwrap();
    drop(gate);
    let script = Script::default();
    let allocations = Allocations::open(killed.path()).unwrap();
    pods.set(|told| told.recorded = [FIRST.to_owned()].into());
    let (_world, gpus) = ready(&policy(), script.gpus(), &allocations, pods.feed()).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new(), "a pod may have it");
    give(&gpus, &[FIRST]).await.unwrap();
    let expected = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), expected);
    pods.set(|told| told.recorded.clear());
    until("released", || script.said().len() == 4).await;
}

/// The same bookkeeping without a life cycle: what was held and remembered is so no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_life_cycle_what_pods_no_longer_have_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, allocations) = (Pods::default(), Allocations::open(dir.path()).unwrap());
    pods.hold(&[FIRST]);
    let (world, gpus) = ready(POLICY, Fake::gpus(), &allocations, pods.feed()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    drop((world, gpus, allocations));
    // By another name, its hardware is not given while the pod may have it.
    let renamed = || {
        let mut fake = Fake::gpus();
        fake.enumerate = Box::new(|host| {
            let mut pools = gpu_pool(host)?;
            pools[0].units.iter_mut().for_each(|unit| unit.id.insert_str(0, "gpu-"));
            Ok(pools)
        });
        fake.allocate = Box::new(|_, _| Ok(Edits::default()));
        fake
    };
    let allocations = Allocations::open(dir.path()).unwrap();
    let (_world, gpus) = world_of(renamed(), &allocations, &pods).await;
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(list.contains("was handed out as 0000:00:01.0 of fake.com/gpu"), "{list}");
    tokio::time::sleep(A_WHILE).await;
    assert!(!all_healthy(&gpus.devices().borrow()));
    pods.hold(&[]);
    wait(&gpus, all_healthy).await;
    until("forgotten", || !remembered(dir.path()).contains(FIRST)).await;
    give(&gpus, &["gpu-0000:00:01.0"]).await.unwrap();
}

pub(super) async fn world_of(fake: Fake, allocations: &Allocations, pods: &Pods) -> (World, Arc<dyn Offer>) {
    world(POLICY, fake, allocations, pods.feed()).await
}

/// What a component has to release, and cannot because it is not listed any more, is not given under another name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_released_is_not_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, script) = (Pods::default(), Script::default());
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (world, gpus) = ready(&policy(), script.gpus(), &allocations, HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    drop((world, gpus, allocations));
    let mut renamed = script.gpus();
    renamed.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        pools[0].units[0].id = "another".into();
        Ok(pools)
    });
    let allocations = Allocations::open(dir.path()).unwrap();
    let (_world, gpus) = world_of(renamed, &allocations, &pods).await;
    wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    tokio::time::sleep(A_WHILE).await;
    assert!(!all_healthy(&gpus.devices().borrow()));
    assert!(remembered(dir.path()).contains(FIRST));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_is_held_while_one_of_its_replicas_is() {
    let (pods, script) = (Pods::default(), Script::default());
    let policy = policy() + "    replicas: 12\n";
    let (_world, gpus) = ready(&policy, script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &["0000:00:01.0::3"]).await;
    pods.hold(&["0000:00:01.0::10"]);
    script.forget();
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new());
    // The next pod gets another replica of what is in use: nothing is done to it, and nothing undone where that fails.
    give(&gpus, &["0000:00:01.0::4"]).await.unwrap();
    script.fail("allocate", FailureKind::Io);
    give(&gpus, &["0000:00:01.0::5"]).await.unwrap_err();
    script.heal();
    gpus.take_back(&strings(&["0000:00:01.0::4"])).await;
    tokio::time::sleep(A_WHILE).await;
    let allocated = format!("allocate {FIRST}");
    assert_eq!(script.said(), [allocated.as_str(), &allocated]);
    pods.hold(&["0000:00:01.00", "0000:00:01.0:", "0000:00:02.0::3"]);
    script.until(&format!("release {FIRST}")).await;
}

/// What is not made ready is released, and tried again before anybody is offered it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_preparation_is_undone_and_tried_again() {
    let script = Script::default();
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), HoldersFeed::none()).await;
    script.fail("prepare", FailureKind::Io);
    let refused = give(&gpus, &[FIRST]).await.unwrap_err();
    insta::assert_snapshot!(refused, @"plugin gpus: prepare failed: it does not answer");
    assert_eq!(script.said(), [format!("prepare {FIRST}"), format!("release {FIRST}")]);
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(list.contains("0000:00:01.0 {1} plugin gpus: prepare failed"), "{list}");
    script.heal();
    wait(&gpus, all_healthy).await;
    script.forget();
    // Nothing is wrong with what only is not ready yet.
    script.fail("prepare", FailureKind::Busy);
    let busy = give(&gpus, &[FIRST]).await.unwrap_err();
    assert!(matches!(busy, AllocateError::Busy(_)), "{busy}");
    tokio::time::sleep(A_WHILE).await;
    assert!(all_healthy(&gpus.devices().borrow()));
    script.heal();
    script.fail("allocate", FailureKind::Io);
    script.forget();
    give(&gpus, &[SECOND]).await.unwrap_err();
    let expected = ["prepare", "allocate", "release"].map(|call| format!("{call} {SECOND}"));
    assert_eq!(script.said(), expected);
}

/// An answer that reached no kubelet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_taken_back_is_released_unless_somebody_had_it_before() {
    let script = Script::default();
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    script.forget();
    gpus.take_back(&strings(&[FIRST, SECOND])).await;
    assert_eq!(script.said(), [format!("release {FIRST}")], "the other one was not given");
    gpus.take_back(&strings(&[FIRST])).await;
    assert_eq!(script.said().len(), 1, "it is clean");
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (_world, gpus) = ready(POLICY, Fake::gpus(), &allocations, HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    give(&gpus, &[FIRST]).await.unwrap();
    gpus.take_back(&strings(&[FIRST])).await;
    give(&gpus, &[SECOND]).await.unwrap();
    gpus.take_back(&strings(&[SECOND])).await;
    until("forgotten", || !remembered(dir.path()).contains(SECOND)).await;
    assert!(remembered(dir.path()).contains(FIRST), "an init container may have had it");
}

/// By the policy's word, units are made ready when a container starts, as often as it does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn units_are_made_ready_at_each_start_where_the_policy_says_so() {
    let (pods, script) = (Pods::default(), Script::default());
    let policy = policy() + "    prepare: start\n";
    let (world, gpus) = ready(&policy, script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    assert!(gpus.starts());
    let refused = gpus.start(&strings(&[FIRST])).await.unwrap_err();
    insta::assert_snapshot!(refused, @"plugin gpus: resource fake.com/gpu: device 0000:00:01.0 was not allocated to any container");
    pods.begin(&gpus, &[FIRST]).await;
    gpus.start(&strings(&[FIRST])).await.unwrap();
    gpus.start(&strings(&[FIRST])).await.unwrap();
    let expected = ["allocate", "prepare", "prepare"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), expected);
    script.fail("prepare", FailureKind::Io);
    gpus.start(&strings(&[FIRST])).await.unwrap_err();
    wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    script.heal();
    gpus.start(&strings(&[FIRST])).await.unwrap();
    wait(&gpus, all_healthy).await;
    // What is not what it was when it was allocated starts nothing.
    let card = world.node.node_at("/dev/dri/card0").unwrap();
    world.node.apply(devgate_fake_node::Change::RemoveNode(card.path)).unwrap();
    let refused = gpus.start(&strings(&[FIRST])).await.unwrap_err();
    assert!(refused.to_string().contains("/dev/dri/card0"), "{refused}");
}

/// A task that looks at one unit after the other may have looked before the next one was given anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_given_anew_while_others_are_released_is_not_released() {
    let (pods, script) = (Pods::default(), Script::default());
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &[FIRST, SECOND]).await;
    tokio::time::sleep(A_WHILE).await;
    script.forget();
    let gate = script.wait("release");
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    script.fail("allocate", FailureKind::Io);
    give(&gpus, &[SECOND]).await.unwrap_err();
    script.heal();
    pods.begin(&gpus, &[SECOND]).await;
    script.forget();
    drop(gate);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new());
}

/// What a pod had before the memory was lost is released after it, and so is what had an unknown owner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_pods_have_is_known_again_where_the_memory_was_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, script) = (Pods::default(), Script::default());
    pods.hold(&[FIRST]);
    let allocations = Allocations::open(dir.path()).unwrap();
    let policy = policy() + "    prepare: start\n";
    let (_world, gpus) = ready(&policy, script.gpus(), &allocations, pods.feed()).await;
    let started = || async { gpus.start(&strings(&[FIRST])).await.is_ok() };
    let deadline = Instant::now() + PATIENCE;
    while !started().await {
        assert!(Instant::now() < deadline, "a container of a pod that runs starts again");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    script.forget();
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    script.forget();
    for _ in 0..2 {
        pods.begin(&gpus, &[SECOND]).await;
        gpus.take_back(&strings(&[SECOND])).await;
    }
    let calls = ["release", "allocate", "release", "allocate", "release"].map(|call| format!("{call} {SECOND}"));
    assert_eq!(script.said(), calls, "released before it is given, once");
}

/// What a restart cleans not: each unit is released once before it is given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_can_say_who_had_it_is_released_once_however_often_the_host_starts() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, script) = (Pods::default(), Script::default());
    pods.hold(&[FIRST]);
    let policy = policy() + "    prepare: start\n";
    let start = || async { ready(&policy, script.gpus(), &Allocations::open(dir.path()).unwrap(), pods.feed()).await };
    let lost = start().await;
    until("saved", || remembered(dir.path()).contains(FIRST)).await;
    drop(lost);
    // No pod gets it from the second host, one from the third one.
    drop(start().await);
    let third = start().await;
    pods.begin(&third.1, &[FIRST, SECOND]).await;
    pods.hold(&[FIRST]);
    script.until(&format!("release {SECOND}")).await;
    let both = ["release", "allocate"].map(|call| format!("{call} {FIRST} {SECOND}"));
    assert_eq!(script.said().first_chunk(), Some(&both));
    until("saved", || remembered(dir.path()).contains(SECOND) && !is_remembered(dir.path(), SECOND)).await;
    drop(third);
    script.forget();
    let fourth = start().await;
    give(&fourth.1, &[SECOND]).await.unwrap();
    assert_eq!(script.said().first(), Some(&format!("allocate {SECOND}")));
}

/// A kubelet writes its records when it allocates something: on a quiet node they name for long what pods do not have any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hardware_that_has_another_name_by_now_is_free_when_its_pod_was_seen_to_go() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (first, gpus) = ready(POLICY, Fake::gpus(), &allocations, HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    drop((first, gpus));
    let pods = Pods::default();
    pods.hold(&[FIRST]);
    pods.set(|told| told.recorded = [FIRST.to_owned()].into());
    let mut other = Fake::gpus();
    other.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        pools[0].units.iter_mut().for_each(|unit| unit.id.insert_str(0, "gpu-"));
        Ok(pools)
    });
    let allocations = Allocations::open(dir.path()).unwrap();
    let (_world, gpus) = world(POLICY, other, &allocations, pods.feed()).await;
    wait(&gpus, |list| !list.devices.is_empty()).await;
    tokio::time::sleep(A_WHILE).await;
    let list = show(&gpus.devices().borrow());
    assert!(list.contains("was handed out as 0000:00:01.0"), "{list}");
    pods.set(|told| told.held.clear());
    wait(&gpus, all_healthy).await;
}

/// What this kubelet was never seen to show may be with a pod that it does not show.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hardware_that_has_another_name_by_now_stays_held_while_the_records_name_it() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (world, gpus) = ready(POLICY, Fake::gpus(), &allocations, HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    drop((world, gpus));
    let pods = Pods::default();
    pods.hold(&[FIRST]);
    let allocations = Allocations::open(dir.path()).unwrap();
    let reclaim = Reclaim::new(Registry::default(), allocations.clone());
    let unclaimed = tokio::spawn(crate::reclaim::find(reclaim, pods.feed()));
    tokio::time::sleep(A_WHILE).await;
    pods.set(|told| {
        told.held.clear();
        told.recorded = [FIRST.to_owned()].into();
        told.process += 1;
    });
    tokio::time::sleep(A_WHILE).await;
    assert!(!allocations.is_empty(), "another kubelet has shown it");
    pods.set(|told| told.recorded.clear());
    until("forgotten", || allocations.is_empty()).await;
    unclaimed.abort();
}

/// A device may come back as its pod left it: what it was told while it was away it has not heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_released_while_it_was_away_is_released_again() {
    let (pods, script) = (Pods::default(), Script::default());
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (world, gpus) = ready(&policy(), script.gpus(), &allocations, pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    tokio::time::sleep(A_WHILE).await;
    let card = world.node.node_at("/dev/dri/card0").unwrap();
    let (path, number) = (card.path.clone(), card.number);
    world.node.apply(devgate_fake_node::Change::RemoveNode(path.clone())).unwrap();
    wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    script.forget();
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    let expected = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    until("forgotten", || !is_remembered(dir.path(), FIRST)).await;
    let kept = remembered(dir.path());
    world.node.apply(devgate_fake_node::Change::AddNode { path, number }).unwrap();
    wait(&gpus, all_healthy).await;
    script.forget();
    pods.begin(&gpus, &[FIRST]).await;
    assert_eq!(script.said(), expected);
    // The same for a host that starts meanwhile.
    drop(world);
    pods.hold(&[]);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("handed-out.json"), kept).unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let (_world, gpus) = ready(&policy(), script.gpus(), &allocations, pods.feed()).await;
    script.forget();
    pods.begin(&gpus, &[FIRST]).await;
    assert_eq!(script.said(), expected);
}

/// Takes a node away and puts it back before anybody has looked.
fn flicker(world: &World) {
    let card = world.node.node_at("/dev/dri/card0").unwrap();
    let (path, number) = (card.path.clone(), card.number);
    let there_again = devgate_fake_node::Change::AddNode { path, number };
    for change in [devgate_fake_node::Change::RemoveNode(card.path), there_again] {
        world.node.apply(change).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_went_away_and_came_back_while_it_was_released_is_released_again() {
    let (pods, script) = (Pods::default(), Script::default());
    let (world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    tokio::time::sleep(A_WHILE).await;
    script.forget();
    let goes_on = script.wait("release");
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    flicker(&world);
    drop(goes_on);
    script.forget();
    pods.begin(&gpus, &[FIRST]).await;
    let expected = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), expected);
}

/// The same where the next pod waits for it, and gets nothing that does not stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_went_away_while_it_was_released_for_the_next_pod_is_released_again_or_not_given() {
    let script = Script::default();
    let (world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), HoldersFeed::none()).await;
    let world = Arc::new(world);
    for (times, given) in [(1, true), (2, false)] {
        give(&gpus, &[FIRST]).await.unwrap();
        let held: Vec<_> = (0..times).map(|_| script.wait("release")).collect();
        script.forget();
        let next = tokio::spawn({
            let gpus = Arc::clone(&gpus);
            async move { give(&gpus, &[FIRST]).await }
        });
        for (n, goes_on) in held.into_iter().enumerate() {
            until("released", || script.said().len() == n + 1).await;
            flicker(&world);
            drop(goes_on);
        }
        let next = next.await.unwrap();
        let mut expected = vec![format!("release {FIRST}"); 2];
        if given {
            expected.extend(["prepare", "allocate"].map(|call| format!("{call} {FIRST}")));
        }
        assert_eq!((next.is_ok(), script.said()), (given, expected), "{next:?}");
    }
    // What it is refused for is over.
    give(&gpus, &[FIRST]).await.unwrap();
}
