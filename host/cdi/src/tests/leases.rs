use super::*;
use crate::name::lease_consumer;
use crate::{Keeper, KeeperConfig, Lease, LeaseError, LeaseRequest, Leases, ReleaseHook, Releases};
use devgate_core::state::Dir;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;
use tempfile::TempDir;
use tokio::sync::watch;

pub(super) struct World {
    pub(super) dir: TempDir,
    pub(super) fake: Arc<Fake>,
    pub(super) recorded: RecordedNode,
    pub(super) keeper: Arc<Keeper>,
    leases: Leases,
    pub(super) keeping: tokio::task::JoinHandle<()>,
    /// Whether the policy wants leases to end with their containers.
    hooked: watch::Sender<Releases>,
}

impl World {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("state")).unwrap();
        let (fake, recorded) = (Fake::new(&["acme0", "acme1"]), recorded());
        let hooked = watch::Sender::new(never());
        let keeper = Arc::new(Self::keeper(&dir, &fake, &recorded, &hooked));
        let keeping = tokio::spawn(Arc::clone(&keeper).keep());
        Self { leases: Leases::new(Arc::clone(&keeper)), dir, fake, recorded, keeper, keeping, hooked }
    }

    fn keeper(dir: &TempDir, fake: &Arc<Fake>, recorded: &RecordedNode, hooked: &watch::Sender<Releases>) -> Keeper {
        let hook = ReleaseHook {
            program: "/usr/bin/devgate".into(),
            socket: "/run/devgate/status.sock".into(),
            releases: hooked.subscribe(),
        };
        Keeper::new(KeeperConfig {
            devices: Arc::clone(fake) as Arc<dyn Devices>,
            node: recorded.node().clone(),
            dir: dir.path().join("cdi"),
            state: Dir::look(&dir.path().join("state")).unwrap(),
            hook: Some(hook),
        })
    }

    /// The host ends and starts again.
    pub(super) fn restart(&mut self) {
        self.restart_with(|_| ());
    }

    fn restart_with(&mut self, with: impl FnOnce(&mut Keeper)) {
        self.keeping.abort();
        let mut keeper = Self::keeper(&self.dir, &self.fake, &self.recorded, &self.hooked);
        with(&mut keeper);
        self.keeper = Arc::new(keeper);
        self.leases = Leases::new(Arc::clone(&self.keeper));
        self.keeping = tokio::spawn(Arc::clone(&self.keeper).keep());
    }

    pub(super) fn cdi(&self) -> PathBuf {
        self.dir.path().join("cdi")
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.cdi().join(format!("devgate-vendor.com_acme={name}.json"))
    }

    pub(super) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    async fn lease(&self, name: &str) -> Result<Lease, LeaseError> {
        self.leases.lease(&request(name)).await
    }

    /// Waits for what a look does; returns how long that took.
    pub(super) async fn until(&self, is_so: impl Fn() -> bool) -> Duration {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", self.leases.list());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        begun.elapsed()
    }
}

fn never() -> Releases {
    Arc::new(|_| false)
}

fn request(name: &str) -> LeaseRequest {
    LeaseRequest { name: name.into(), resource: resource().to_string(), count: None, ids: Vec::new(), ttl: None }
}

pub(super) fn gone(may_come: bool) -> Gone {
    Gone {
        allocation: serde_json::from_str("1").unwrap(),
        resource: resource().to_string(),
        why: "the hardware is gone".into(),
        may_come,
    }
}

#[tokio::test]
async fn cdi20_a_lease_is_exclusive_and_the_same_again_is_the_same() {
    let world = World::new();
    let first = world.lease("job1").await.unwrap();
    assert_eq!(first.devices, ["devgate.vendor.com/acme=job1"]);
    let before = world.text("job1");
    assert!(before.contains("/dev/acme0"), "{before}");
    assert_eq!(world.lease("job1").await.unwrap(), first);
    assert_eq!(world.text("job1"), before);
    let second = world.lease("job2").await.unwrap();
    assert_eq!((&*second.ids, world.leases.list().len()), (&["acme1".to_owned()][..], 2));
    let error = world.lease("job3").await.unwrap_err().to_string();
    assert_eq!(
        error,
        "resource vendor.com/acme: 1 asked for, 0 of 2 can be had; acme0: is given to lease job1; acme1: is given to lease job2"
    );
    assert_eq!(world.leases.release("job1").await.unwrap(), Some(Vec::new()));
    assert_eq!(world.leases.release("job1").await.unwrap(), None, "it is over");
    assert!(!world.file("job1").exists());
    assert_eq!(world.lease("job3").await.unwrap().ids, ["acme0"]);
}

#[tokio::test]
async fn the_same_name_with_something_else_is_refused_and_says_what_it_has() {
    let world = World::new();
    world.lease("job1").await.unwrap();
    for other in [
        LeaseRequest { count: Some(2), ..request("job1") },
        LeaseRequest { ids: vec!["acme1".into()], ..request("job1") },
        LeaseRequest { resource: "vendor.com/other".into(), ..request("job1") },
    ] {
        let error = world.leases.lease(&other).await.unwrap_err().to_string();
        assert!(error.starts_with("lease job1: has acme0 of resource vendor.com/acme already"), "{error}");
    }
    let same = LeaseRequest { ids: vec!["acme0".into()], count: Some(1), ..request("job1") };
    assert_eq!(world.leases.lease(&same).await.unwrap().ids, ["acme0"]);
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_refused() {
    let world = World::new();
    for (bad, why) in [
        (request("-"), "lease \"-\""),
        (LeaseRequest { resource: "gpu".into(), ..request("a") }, "vendor's domain"),
        (LeaseRequest { resource: "vendor.com/none".into(), ..request("a") }, "there are vendor.com/acme"),
        (LeaseRequest { count: Some(0), ..request("a") }, "0 devices cannot be leased"),
        (LeaseRequest { count: Some(usize::MAX), ..request("a") }, "cannot be leased at once"),
        (
            LeaseRequest { count: Some(1), ids: vec!["acme0".into(), "acme1".into()], ..request("a") },
            "at least as many",
        ),
        (LeaseRequest { count: Some(3), ..request("a") }, "3 asked for, 2 of 2 can be had"),
    ] {
        let error = world.leases.lease(&bad).await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(world.leases.list().is_empty() && !world.cdi().exists());
    assert!(matches!(world.leases.renew("a", None), Err(LeaseError::None(_))));
}

#[tokio::test]
async fn a_pod_that_is_quicker_has_another_device_chosen() {
    let world = World::new();
    world.fake.raced.lock().unwrap().insert("acme0".into());
    assert_eq!(world.lease("job1").await.unwrap().ids.len(), 1);
    let named = LeaseRequest { ids: vec!["acme1".into()], ..request("job2") };
    world.leases.release("job1").await.unwrap();
    world.fake.raced.lock().unwrap().insert("acme1".into());
    let error = world.leases.lease(&named).await.unwrap_err().to_string();
    assert_eq!(error, "acme1 is in use", "no other was asked for");
}

#[tokio::test]
async fn cdi06_a_lease_whose_file_cannot_be_written_is_given_back() {
    let world = World::new();
    fs::write(world.cdi(), "in the way").unwrap();
    let error = world.lease("job1").await.unwrap_err().to_string();
    assert!(error.contains("could not be written") && error.ends_with("it was given back"), "{error}");
    assert!(world.leases.list().is_empty());
}

/// Its container has it still.
#[tokio::test]
async fn a_lease_that_stands_is_not_ended_by_a_file_that_cannot_be_written_or_removed() {
    let world = World::new();
    world.lease("job1").await.unwrap();
    let before = world.text("job1");
    fs::remove_dir_all(world.cdi()).unwrap();
    fs::write(world.cdi(), "in the way").unwrap();
    let error = world.lease("job1").await.unwrap_err().to_string();
    assert!(error.contains("it lasts"), "{error}");
    assert_eq!(world.leases.list().len(), 1);
    fs::remove_file(world.cdi()).unwrap();
    world.until(|| world.text("job1") == before).await;
    fs::remove_file(world.file("job1")).unwrap();
    fs::create_dir(world.file("job1")).unwrap();
    let error = world.leases.release("job1").await.unwrap_err().to_string();
    assert!(error.ends_with("it is not released"), "{error}");
    assert_eq!(world.leases.list().len(), 1);
    fs::remove_dir(world.file("job1")).unwrap();
    assert_eq!(world.leases.release("job1").await.unwrap(), Some(Vec::new()));
}

#[tokio::test]
async fn an_id_that_is_named_twice_is_one() {
    let world = World::new();
    let twice = LeaseRequest { ids: vec!["acme1".into(), "acme1".into()], ..request("job1") };
    let lease = world.leases.lease(&twice).await.unwrap();
    assert_eq!(lease.ids, ["acme1"]);
    assert_eq!(world.leases.lease(&twice).await.unwrap(), lease);
    let more = LeaseRequest { count: Some(2), ..twice };
    world.leases.release("job1").await.unwrap();
    assert_eq!(world.leases.lease(&more).await.unwrap().ids.len(), 2);
}

/// Such as a component that takes its time to make a device ready.
#[tokio::test]
async fn what_takes_long_with_one_lease_keeps_no_other_file_away() {
    let world = World::new();
    world.lease("job1").await.unwrap();
    let (before, _slow) = (world.text("job1"), world.keeper.turns.lock(&["lease job2".to_owned()]).await);
    fs::remove_file(world.file("job1")).unwrap();
    world.until(|| world.text("job1") == before).await;
    let waits = tokio::time::timeout(Duration::from_millis(50), world.lease("job2")).await;
    assert!(waits.is_err(), "its turn is another's");
    world.lease("job3").await.unwrap();
}

#[tokio::test]
async fn cdi17_a_file_that_goes_or_changes_is_back_within_a_second_or_so() {
    let world = World::new();
    world.lease("job1").await.unwrap();
    let before = world.text("job1");
    for spoil in [&|| fs::remove_dir_all(world.cdi()).unwrap() as _, &|| fs::write(world.file("job1"), "{}").unwrap()]
        as [&dyn Fn(); 2]
    {
        spoil();
        let took = world.until(|| world.text("job1") == before).await;
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[tokio::test]
async fn cdi12_hardware_that_moves_has_its_file_renewed() {
    let world = World::new();
    world.lease("job1").await.unwrap();
    // The kernel gives it another number, and the host finds it there.
    let moved = super::NODE.replace("240:0", "241:7").replace("MAJOR=240\nE: MINOR=0", "MAJOR=241\nE: MINOR=7");
    world.recorded.become_as(&RecordedNode::parse("moved", &moved).unwrap());
    world.until(|| world.text("job1").contains("241")).await;
    // It has another node by now.
    *world.fake.restored.lock().unwrap() = Some(Ok(super::reply("acme1")));
    world.recorded.unplug("virtual/acme/acme0").unwrap();
    world.until(|| world.text("job1").contains("/dev/acme1")).await;
    assert_eq!(world.keeper.problems(), [""; 0]);
}

#[tokio::test]
async fn cdi13_hardware_that_is_gone_has_no_file_and_is_said() {
    let world = World::new();
    world.lease("job1").await.unwrap();
    let before = world.text("job1");
    *world.fake.restored.lock().unwrap() = Some(Err(gone(false)));
    fs::remove_file(world.file("job1")).unwrap();
    world.until(|| !world.keeper.problems().is_empty()).await;
    assert!(!world.file("job1").exists());
    let problem = world.leases.list().remove(0).problem.unwrap();
    assert!(problem.contains("the hardware is gone"), "{problem}");
    // It is back.
    *world.fake.restored.lock().unwrap() = None;
    world.until(|| world.text("job1") == before).await;
    world.until(|| world.keeper.problems().is_empty()).await;
}

#[tokio::test]
async fn cdi14_files_are_back_after_a_reboot_before_the_host_is_ready() {
    let mut world = World::new();
    world.lease("job1").await.unwrap();
    let before = world.text("job1");
    *world.fake.restored.lock().unwrap() = Some(Err(gone(true)));
    world.keeping.abort();
    fs::remove_dir_all(world.cdi()).unwrap();
    world.restart();
    let early = tokio::time::timeout(Duration::from_millis(600), world.keeper.settled()).await;
    assert!(early.is_err() && !world.file("job1").exists(), "its plugin is not there yet");
    assert_eq!(world.keeper.problems(), [""; 0], "it may come");
    *world.fake.restored.lock().unwrap() = None;
    world.keeper.settled().await;
    assert_eq!(world.text("job1"), before);
}

#[tokio::test]
async fn a_file_that_is_right_stays_while_its_plugin_loads() {
    let mut world = World::new();
    world.lease("job1").await.unwrap();
    *world.fake.restored.lock().unwrap() = Some(Err(gone(true)));
    world.restart();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(world.file("job1").exists());
}

/// It left the policy, or fails for good.
#[tokio::test]
async fn what_nothing_offers_any_more_has_no_file_after_a_while_and_its_lease_stays() {
    let mut world = World::new();
    world.lease("job1").await.unwrap();
    *world.fake.restored.lock().unwrap() = Some(Err(gone(true)));
    world.restart_with(|keeper| keeper.unoffered = Duration::from_millis(1_200));
    let took = world.until(|| !world.file("job1").exists()).await;
    assert!(took >= Duration::from_millis(1_200), "{took:?}");
    world.until(|| !world.keeper.problems().is_empty()).await;
    assert_eq!(world.leases.list()[0].ids, ["acme0"]);
    *world.fake.restored.lock().unwrap() = None;
    world.until(|| world.file("job1").exists()).await;
}

/// Its plugin leaves a policy in two steps: it has no devices, and then it is not there.
#[tokio::test]
async fn a_file_that_was_taken_away_is_not_said_to_be_back_where_nothing_offers_it() {
    let world = World::new();
    world.lease("job1").await.unwrap();
    *world.fake.restored.lock().unwrap() = Some(Err(gone(false)));
    fs::remove_file(world.file("job1")).unwrap();
    world.until(|| !world.keeper.problems().is_empty()).await;
    *world.fake.restored.lock().unwrap() = Some(Err(gone(true)));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(!world.file("job1").exists());
    assert_eq!(world.keeper.problems().len(), 1);
}

#[tokio::test]
async fn cdi15_a_lease_that_is_over_has_no_file_also_where_the_host_was_not_there() {
    let mut world = World::new();
    for name in ["job1", "job2"] {
        world.lease(name).await.unwrap();
    }
    world.fake.expire(&lease_consumer("job1").unwrap());
    world.until(|| !world.file("job1").exists()).await;
    world.keeping.abort();
    world.fake.expire(&lease_consumer("job2").unwrap());
    let foreign = world.cdi().join("devgate-vendor.com_acme=other.json");
    fs::write(&foreign, "{}").unwrap();
    world.restart();
    world.until(|| !world.file("job2").exists()).await;
    assert!(foreign.exists(), "it was not noted");
}

#[tokio::test]
async fn a_lease_lasts_as_long_as_it_was_last_said() {
    let world = World::new();
    let request = LeaseRequest { ttl: Some(60), ..request("job1") };
    assert_eq!(world.leases.lease(&request).await.unwrap().left, Some(60));
    assert_eq!(world.leases.renew("job1", None).unwrap().left, None);
    world.leases.lease(&request).await.unwrap();
    assert_eq!(world.leases.list()[0].left, Some(60));
}

#[tokio::test]
async fn a_lease_ends_with_its_container_where_the_policy_asks_for_it_and_nowhere_else() {
    let world = World::new();
    world.lease("job1").await.unwrap();
    assert!(!world.text("job1").contains("hooks"), "{}", world.text("job1"));
    world.hooked.send_replace(Arc::new(|of| of.as_str() == "vendor.com/acme"));
    world.until(|| world.text("job1").contains("hooks")).await;
    let file: serde_json::Value = serde_json::from_str(&world.text("job1")).unwrap();
    assert_eq!(file["cdiVersion"], "0.3.0");
    let hook = serde_json::json!([{
        "hookName": "poststop", "path": "/usr/bin/devgate", "timeout": 30,
        "args": ["devgate", "cdi", "release", "job1", "--status-socket", "/run/devgate/status.sock"],
    }]);
    assert_eq!(file["devices"][0]["containerEdits"]["hooks"], hook);
    world.hooked.send_replace(never());
    world.until(|| !world.text("job1").contains("hooks")).await;
}
