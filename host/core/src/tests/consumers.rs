//! Consumers that say themselves when they are done: a front end that is none, and whose word is all that there is.

mod conditions;
mod counted;
mod ends;
mod settings;

use super::held_units::{A_WHILE, FIRST, GPU, Pods, SECOND, Script, give, policy, ready, until};
use super::*;
use crate::allocations::{Allocations, Consumer, Mode};
use crate::devices::{Ask, Devices, Granted, Released};
use crate::holders::HoldersFeed;
use devgate_types::{FailureKind, ResourceName, Verdict};
use std::path::Path;

const BOUND: Duration = Duration::from_secs(20);

fn claim(driver: &str, uid: &str) -> Consumer {
    Consumer::Claim { driver: driver.into(), uid: uid.into() }
}

fn lease(name: &str) -> Consumer {
    Consumer::Lease { name: name.into() }
}

pub(super) fn ask(ids: &[&str]) -> Ask {
    Ask {
        resource: ResourceName::try_new(GPU).unwrap(),
        ids: strings(ids),
        share: None,
        mode: Mode::Hold,
        tag: "r0".into(),
        settings: vec![],
    }
}

fn share(id: &str, share: &str) -> Ask {
    Ask { share: Some(share.into()), ..ask(&[id]) }
}

fn observe(id: &str) -> Ask {
    Ask { mode: Mode::Observe, ..ask(&[id]) }
}

async fn get(devices: &Arc<dyn Devices>, who: &Consumer, asks: &[Ask]) -> Result<Vec<Granted>, String> {
    let got = devices.allocate(who, asks, None).await;
    got.map_err(|error| error.to_string())
}

/// Waits until the kubelet's list says just this of the two GPUs: nothing where one is healthy.
async fn listed(gpus: &Arc<dyn Offer>, reasons: [Option<&str>; 2]) {
    wait(gpus, |list| {
        let shown = list.devices.iter().map(|device| device.unhealthy.as_deref());
        shown.eq(reasons)
    })
    .await;
}

/// A host without pods that knows what it gave.
async fn host(dir: &Path, policy: &str, fake: Fake) -> (World, Arc<dyn Offer>, Arc<dyn Devices>) {
    let allocations = Allocations::of_new_node(dir).unwrap();
    let (world, gpus) = ready(policy, fake, &allocations, HoldersFeed::none()).await;
    let devices = world.plugins.devices();
    (world, gpus, devices)
}

/// What is recorded: who has which units.
fn recorded(dir: &Path) -> Vec<String> {
    let recorded = crate::Recorded::read(dir).unwrap();
    let all = recorded.allocations();
    all.map(|of| format!("{}: {}", of.consumer, of.units.into_iter().collect::<Vec<_>>().join(" "))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_claim_of_two_drivers_is_two_consumers() {
    let dir = tempfile::tempdir().unwrap();
    let (_world, gpus, devices) = host(dir.path(), POLICY, Fake::gpus()).await;
    let (gpu, nic) = (claim("gpu.devgate.dev", "uid"), claim("nic.devgate.dev", "uid"));
    let first = get(&devices, &gpu, &[ask(&[FIRST])]).await.unwrap();
    let second = get(&devices, &nic, &[ask(&[SECOND])]).await.unwrap();
    assert!(first[0].id < second[0].id);
    assert_eq!(first[0].reply.env["GPUS_FAKE_COM_GPU"], FIRST);
    assert_eq!(
        recorded(dir.path()),
        ["claim uid of gpu.devgate.dev: 0000:00:01.0", "claim uid of nic.devgate.dev: 0000:00:02.0"]
    );
    let taken = "it is in use by claim uid of gpu.devgate.dev";
    listed(&gpus, [Some(taken), Some("it is in use by claim uid of nic.devgate.dev")]).await;
    assert_eq!(devices.release(&nic, BOUND).await, Released::Clean);
    assert_eq!(devices.release(&nic, BOUND).await, Released::Nothing, "once more is fine");
    listed(&gpus, [Some(taken), None]).await;
    assert_eq!(devices.held(&gpu), first);
    assert_eq!(devices.held(&nic), []);
}

/// As callers of the protocol of 2017 count: who has something subtracts it himself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_works_is_counted_whoever_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut fake = Fake::gpus();
    let verdict = |n| {
        if n == 0 { Verdict::Healthy } else { Verdict::Unhealthy("too hot".into()) }
    };
    fake.health = Box::new(move |_, units| Ok((0..units.len()).map(verdict).collect()));
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (world, gpus) = super::held_units::world(POLICY, fake, &allocations, HoldersFeed::none()).await;
    wait(&gpus, |list| list.devices.iter().filter(|device| device.unhealthy.is_some()).count() == 1).await;
    let devices = world.plugins.devices();
    get(&devices, &lease("job1"), &[ask(&[FIRST])]).await.unwrap();
    let working = |name: &str| devices.working(&ResourceName::try_new(name).unwrap());
    assert_eq!((working(GPU), working("fake.com/none")), (1, 0));
}

/// What one has no other gets, of whatever kind; and each is told who has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consumers_exclude_each_other_and_pods() {
    let dir = tempfile::tempdir().unwrap();
    let (_world, gpus, devices) = host(dir.path(), POLICY, Fake::gpus()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    let one = claim("d", "one");
    let refused = get(&devices, &one, &[ask(&[FIRST])]).await.unwrap_err();
    assert_eq!(refused, "plugin gpus: resource fake.com/gpu: device 0000:00:01.0 is in use by pods");
    assert_eq!(devices.available(&ask(&[]).resource, &one).0, [SECOND]);
    get(&devices, &one, &[ask(&[SECOND])]).await.unwrap();
    for other in [lease("x"), claim("d", "two")] {
        let refused = get(&devices, &other, &[ask(&[SECOND])]).await.unwrap_err();
        assert!(refused.ends_with("is in use by claim one of d"), "{refused}");
    }
    let refused = give(&gpus, &[SECOND]).await.unwrap_err().to_string();
    assert!(refused.ends_with("is in use by claim one of d"), "{refused}");
    // Pods may have the same as other pods.
    give(&gpus, &[FIRST]).await.unwrap();
    assert_eq!(recorded(dir.path()).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_want_the_same_at_once_one_gets_it() {
    let dir = tempfile::tempdir().unwrap();
    let (_world, gpus, devices) = host(dir.path(), POLICY, Fake::gpus()).await;
    let mut all = tokio::task::JoinSet::new();
    for n in 0..16 {
        let (devices, gpus) = (Arc::clone(&devices), Arc::clone(&gpus));
        all.spawn(async move {
            match n {
                0 => give(&gpus, &[FIRST, SECOND]).await.is_ok(),
                // In either order.
                _ if n % 2 == 0 => {
                    get(&devices, &claim("d", &n.to_string()), &[ask(&[FIRST]), ask(&[SECOND])]).await.is_ok()
                }
                _ => get(&devices, &claim("d", &n.to_string()), &[ask(&[SECOND]), ask(&[FIRST])]).await.is_ok(),
            }
        });
    }
    let got = all.join_all().await.into_iter().filter(|got| *got).count();
    assert_eq!(got, 1);
}

/// All that one call asks for, or nothing: in memory, on the disk and in the component's eyes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_gets_all_or_nothing() {
    let (dir, script) = (tempfile::tempdir().unwrap(), Script::default());
    let (_world, gpus, devices) = host(dir.path(), &policy(), script.gpus()).await;
    let who = claim("d", "uid");
    let none = get(&devices, &who, &[ask(&[FIRST]), ask(&["none"])]).await.unwrap_err();
    assert!(none.ends_with("there is no device none"), "{none}");
    let twice = get(&devices, &who, &[ask(&[FIRST]), ask(&[FIRST])]).await.unwrap_err();
    assert!(twice.ends_with("device 0000:00:01.0 is asked for twice"), "{twice}");
    assert_eq!(script.said(), Vec::<String>::new());
    script.fail("allocate", FailureKind::Io);
    get(&devices, &who, &[ask(&[FIRST]), ask(&[SECOND])]).await.unwrap_err();
    script.heal();
    assert_eq!(devices.held(&who), []);
    until("nothing is on the disk", || recorded(dir.path()).is_empty()).await;
    listed(&gpus, [None, None]).await;
    let released: Vec<_> = script.said().into_iter().filter(|said| said.starts_with("release")).collect();
    assert_eq!(released, [format!("release {FIRST}"), format!("release {SECOND}")]);
    let got = get(&devices, &who, &[ask(&[FIRST]), ask(&[SECOND])]).await.unwrap();
    assert_eq!(got.len(), 2);
    assert_eq!(recorded(dir.path()).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_is_asked_for_again_is_the_same_and_names_the_first_if_it_is_another() {
    let dir = tempfile::tempdir().unwrap();
    let (_world, _gpus, devices) = host(dir.path(), POLICY, Fake::gpus()).await;
    let first = get(&devices, &lease("bench"), &[ask(&[FIRST])]).await.unwrap();
    assert_eq!(get(&devices, &lease("bench"), &[ask(&[FIRST])]).await.unwrap(), first);
    for other in [ask(&[SECOND]), ask(&[FIRST, SECOND]), observe(FIRST), Ask { tag: "b".into(), ..ask(&[FIRST]) }] {
        let refused = get(&devices, &lease("bench"), &[other]).await.unwrap_err();
        let id = first[0].id;
        assert_eq!(
            refused,
            format!(
                "lease bench has 0000:00:01.0 of resource fake.com/gpu already (allocation {id}), and asks for something else now; \
                 release it first"
            )
        );
    }
    let unknown = Consumer::Unknown { kind: "x".into() };
    let refused = get(&devices, &unknown, &[ask(&[SECOND])]).await.unwrap_err();
    assert!(refused.ends_with("cannot be given devices here"), "{refused}");
    for who in [Consumer::Pods, unknown] {
        assert_eq!(devices.release(&who, BOUND).await, Released::Refused);
    }
}

/// Shares of one device, each with its own end: it is made ready for the first and released after the last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shares_of_a_device_are_beside_each_other_and_beside_no_whole() {
    let (dir, script) = (tempfile::tempdir().unwrap(), Script::default());
    let (_world, gpus, devices) = host(dir.path(), &policy(), script.gpus()).await;
    let (one, two) = (claim("d", "one"), claim("d", "two"));
    get(&devices, &one, &[share(FIRST, "a")]).await.unwrap();
    get(&devices, &two, &[share(FIRST, "b")]).await.unwrap();
    let calls = ["prepare", "allocate", "allocate"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), calls);
    let same = get(&devices, &claim("d", "three"), &[share(FIRST, "a")]).await.unwrap_err();
    assert!(same.ends_with("is in use by claim one of d"), "{same}");
    give(&gpus, &[FIRST]).await.unwrap_err();
    script.forget();
    assert_eq!(devices.release(&one, BOUND).await, Released::Clean);
    assert_eq!(script.said(), Vec::<String>::new(), "the other one has it");
    assert_eq!(devices.held(&two).len(), 1);
    assert_eq!(devices.release(&two, BOUND).await, Released::Clean);
    assert_eq!(script.said(), [format!("release {FIRST}")]);
    listed(&gpus, [None, None]).await;
}

/// An admin's own look at a device that a consumer has: no other is kept from it, and nothing is done to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_observer_holds_nothing() {
    let (dir, script) = (tempfile::tempdir().unwrap(), Script::default());
    let (_world, gpus, devices) = host(dir.path(), &policy(), script.gpus()).await;
    let (admin, other) = (claim("d", "admin"), claim("d", "other"));
    get(&devices, &other, &[ask(&[FIRST])]).await.unwrap();
    script.forget();
    let seen = get(&devices, &admin, &[observe(FIRST), observe(SECOND)]).await.unwrap();
    assert_eq!(seen.len(), 2);
    let asked = [FIRST, SECOND].map(|id| format!("allocate {id}"));
    assert_eq!(script.said(), asked, "it is not made ready");
    listed(&gpus, [Some("it is in use by claim other of d"), None]).await;
    give(&gpus, &[SECOND]).await.unwrap();
    script.forget();
    assert_eq!(devices.release(&admin, BOUND).await, Released::Clean);
    assert_eq!(script.said(), Vec::<String>::new());
    assert_eq!(devices.held(&other).len(), 1);
    until("two are left", || recorded(dir.path()).len() == 2).await;
}

/// Pods have replicas of a device, and an admin another one: each end is its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_beside_pods_on_replicas() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, script) = (Pods::default(), Script::default());
    let files = dir.path().join("files");
    let allocations = Allocations::of_new_node(dir.path()).unwrap().telling_in(&files);
    let replicas = policy().replace("containers:", "replicas: 3\n    containers:\n      device-info: true");
    let (world, gpus) = ready(&replicas, script.gpus(), &allocations, pods.feed()).await;
    let devices = world.plugins.devices();
    pods.begin(&gpus, &["0000:00:01.0::0"]).await;
    get(&devices, &lease("x"), &[ask(&["0000:00:01.0::1"])]).await.unwrap();
    wait(&gpus, |list| {
        let why = |device: &crate::offer::Device| device.unhealthy.as_deref().map(str::to_owned);
        let shown: Vec<_> = list.devices.iter().take(3).map(why).collect();
        shown == [None, Some("it is in use by lease x".to_owned()), None]
    })
    .await;
    assert!(get(&devices, &lease("y"), &[ask(&["0000:00:01.0::0"])]).await.unwrap_err().ends_with("in use by pods"));
    script.forget();
    pods.hold(&[]);
    until("pods are gone", || recorded(dir.path()) == ["lease x: 0000:00:01.0"]).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new(), "the lease has it");
    assert_eq!(devices.held(&lease("x"))[0].ids, ["0000:00:01.0::1"]);
    let told = |id: &str| {
        std::fs::read_dir(&files).unwrap().flatten().any(|file| file.file_name().to_string_lossy().contains(id))
    };
    assert!(told("0000:00:01.0::1"), "what the lease was told of stays");
    // And the other way round.
    pods.begin(&gpus, &["0000:00:01.0::0"]).await;
    script.forget();
    assert_eq!(devices.release(&lease("x"), BOUND).await, Released::Clean);
    assert_eq!(script.said(), Vec::<String>::new(), "a pod has it");
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    until("all is free", || recorded(dir.path()).is_empty()).await;
    until("no file is left", || !told("0000:00:01.0")).await;
}

/// An init container's devices, and those of the container after it: what one of them still has stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_overlapping_sets_of_pods_each_device_ends_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, allocations) = (Pods::default(), Allocations::of_new_node(dir.path()).unwrap());
    let (_world, gpus) = ready(POLICY, Fake::gpus(), &allocations, pods.feed()).await;
    pods.begin(&gpus, &[FIRST, SECOND]).await;
    pods.begin(&gpus, &[FIRST]).await;
    until("the second is free", || recorded(dir.path()) == ["pods: 0000:00:01.0"]).await;
    pods.hold(&[]);
    until("both are", || recorded(dir.path()).is_empty()).await;
}

/// What schedulers are told is the policy's and the host's word; of who has a device, only what they do not know themselves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduler_is_told_what_the_policy_names_and_who_else_has_a_device() {
    let dir = tempfile::tempdir().unwrap();
    let with = "    dra: {driver: gpu.fake.com, attributes: {kind: \"gpu\", absent: \"{property.none}\"}}\n    health:";
    let policy = POLICY.replace("    health:", with);
    let (mut world, gpus, devices) = host(dir.path(), &policy, Fake::gpus()).await;
    assert_eq!(gpus.driver().map(|driver| driver.name.as_str()), Some("gpu.fake.com"));
    let facts = |n: usize| {
        let list = std::sync::Arc::clone(&gpus.devices().borrow());
        list.devices[n].facts.clone().unwrap()
    };
    let told: Vec<_> = facts(0).attributes.iter().map(|(name, value)| format!("{name} {value:?}")).collect();
    assert_eq!(
        told,
        [
            "devgate.dev/id Text(\"0000:00:01.0\")",
            "devgate.dev/numaNode Int(1)",
            "devgate.dev/resource Text(\"fake.com/gpu\")",
            "kind Text(\"gpu\")",
            "resource.kubernetes.io/pciBusID Text(\"0000:00:01.0\")",
            "resource.kubernetes.io/pcieRoot Text(\"pci0000:00\")"
        ]
    );
    get(&devices, &claim("gpu.fake.com", "uid"), &[ask(&[FIRST])]).await.unwrap();
    get(&devices, &claim("other.fake.com", "uid"), &[ask(&[SECOND])]).await.unwrap();
    let held =
        |list: &DeviceList| list.devices.iter().map(|device| device.facts.as_ref()?.held.clone()).collect::<Vec<_>>();
    wait(&gpus, |list| held(list) == [None, Some("claim uid of other.fake.com".into())]).await;
    listed(&gpus, [None, None]).await;
    // Its pods could not end without the driver.
    let renamed = parse(&policy.replace("driver: gpu.fake.com", "driver: gpus.fake.com"));
    let why = world.plugins.reload(&renamed, false).await.unwrap_err().to_string();
    assert!(why.contains("claims have devices of driver gpu.fake.com"), "{why}");
    devices.release(&claim("gpu.fake.com", "uid"), BOUND).await;
    world.plugins.reload(&renamed, false).await.unwrap();
}

/// What a component does to hardware for a claim is gone when the node has booted, and nobody asks for it but who asks for the claim.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_made_ready_in_an_earlier_boot_is_made_ready_again() {
    let (dir, script, who) = (tempfile::tempdir().unwrap(), Script::default(), claim("gpu.fake.com", "uid"));
    let boot = |allocations: &Allocations, id: &str| allocations.is_in_boot(Some(id.to_owned()));
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (world, _gpus) = ready(&policy(), script.gpus(), &allocations, HoldersFeed::none()).await;
    boot(&allocations, "one");
    get(&world.plugins.devices(), &who, &[ask(&[FIRST])]).await.unwrap();
    let held = world.plugins.devices().held(&who).remove(0);
    assert!(held.told && !held.earlier_boot);
    drop((world, allocations));
    for (id, is_earlier) in [("one", false), ("two", true)] {
        let allocations = Allocations::open(dir.path()).unwrap();
        let (world, gpus) = super::held_units::world(&policy(), script.gpus(), &allocations, HoldersFeed::none()).await;
        wait(&gpus, |list| list.devices.iter().filter(|device| device.unhealthy.is_none()).count() == 1).await;
        boot(&allocations, id);
        let held = world.plugins.devices().held(&who).remove(0);
        assert_eq!((held.told, held.earlier_boot), (!is_earlier, is_earlier), "{id}");
        script.forget();
        get(&world.plugins.devices(), &who, &[ask(&[FIRST])]).await.unwrap();
        let said = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
        assert_eq!(script.said(), if is_earlier { said.to_vec() } else { Vec::new() }, "{id}");
        drop((world, allocations));
    }
}
