//! From one pod to the next, as pods come and go.

mod again;
mod prepare;
mod release;

use super::*;
use crate::holders::{Holder, Holders, HoldersFeed, HoldersSource, holders};
use crate::offer::AllocateError;
use crate::reclaim::reclaim;
use crate::registry::Registry;
use devgate_types::{CallError, Edits, Failure, FailureKind, ResourceName, Unit};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
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
            source.tell_records(ids.map(|id| (key(id), Arc::default())).collect());
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
                uids: [].into(),
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
    let deadline = Instant::now() + TIMEOUT;
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
