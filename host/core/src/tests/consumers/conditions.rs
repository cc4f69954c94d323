//! What a component finds of devices that work, for schedulers of claims.

use super::*;
use devgate_types::component::Profile;
use devgate_types::{CallError, Condition, Effect, GuestFault, GuestText};
use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;

fn by_driver(named: &str) -> String {
    POLICY.replace("    health:", &format!("    dra: {{driver: gpu.fake.com, conditions: {named}}}\n    health:"))
}

fn is(key: &str, effect: Effect, message: &str) -> Condition {
    Condition { key: key.into(), effect, message: message.into() }
}

/// Two GPUs, of which the first has these conditions.
async fn gpus(
    dir: &Path,
    policy: &str,
    of_first: &Arc<Mutex<Vec<Condition>>>,
) -> (World, Arc<dyn Offer>, Arc<dyn Devices>) {
    let (mut fake, of_first) = (Fake::gpus(), Arc::clone(of_first));
    fake.profile = Profile { conditions: true, ..Profile::default() };
    fake.examine = Box::new(move |units| {
        let of = |unit: &devgate_types::Unit| if unit.id == FIRST { of_first.lock().unwrap().clone() } else { vec![] };
        Ok(units.iter().map(of).collect())
    });
    host(dir, policy, fake).await
}

fn found(list: &DeviceList) -> Vec<Vec<Condition>> {
    list.devices.iter().map(|device| device.facts.as_ref().unwrap().conditions.to_vec()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedulers_are_told_what_the_policy_names_and_the_device_is_given_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let worn = Arc::new(Mutex::new(vec![is("worn", Effect::Evict, "too\nold"), is("other", Effect::Evict, "")]));
    let (world, gpus, devices) = gpus(dir.path(), &by_driver("{worn: NoSchedule}"), &worn).await;
    wait(&gpus, |list| found(list) == [vec![is("worn", Effect::NoNew, "too\\nold")], vec![]]).await;
    listed(&gpus, [None, None]).await;
    let device = world.plugins.status_reader().status()[0].resources[0].devices[0].clone();
    assert_eq!((device.unhealthy, device.conditions[0].effect.as_str()), (None, "NoSchedule"));
    // A claim may tolerate it.
    get(&devices, &claim("gpu.fake.com", "uid"), &[ask(&[FIRST])]).await.unwrap();
    worn.lock().unwrap().clear();
    wait(&gpus, |list| found(list) == [vec![], vec![]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_asked_where_the_policy_names_none() {
    let dir = tempfile::tempdir().unwrap();
    let mut fake = Fake::gpus();
    fake.profile = Profile { conditions: true, ..Profile::default() };
    // Whose look would fail otherwise.
    let (_world, gpus, _devices) = host(dir.path(), &by_driver("{}"), fake).await;
    listed(&gpus, [None, None]).await;
    assert_eq!(found(&gpus.devices().borrow()), [vec![], vec![]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_breaks_over_it_fails_its_look() {
    let dir = tempfile::tempdir().unwrap();
    let breaks = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut fake = Fake::gpus();
    fake.profile = Profile { conditions: true, ..Profile::default() };
    let is_broken = Arc::clone(&breaks);
    fake.examine = Box::new(move |units| match is_broken.load(SeqCst) {
        true => Err(CallError::from(GuestFault::Trap(GuestText::new("unreachable")))),
        false => Ok(vec![vec![]; units.len()]),
    });
    let (world, gpus, _devices) = host(dir.path(), &by_driver("{worn: None}"), fake).await;
    listed(&gpus, [None, None]).await;
    breaks.store(true, SeqCst);
    let why = || world.plugins.status_reader().status()[0].reason.clone();
    until("it is said", || why().is_some_and(|why| why.contains("examine trapped"))).await;
}
