//! Another policy or component while everything runs.

mod order;

use super::{TIMEOUT, World, all_healthy, start, strings, wait};
use crate::plugins::{Plugins, Reloaded};
use crate::testing::*;
use crate::{Allocations, LoadFailure, Loader};
use devgate_policy::{PluginPolicy, Policy};
use devgate_types::Verdict;
use devgate_types::component::Component;
use std::sync::Arc;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(20);

/// `gpus`, with its entry changed, and other plugins behind it.
fn with(from: &str, to: &str, more: &str) -> Policy {
    let text = POLICY.replace(from, to);
    assert!(from == to || text != POLICY, "{from}");
    parse(&format!("{text}{more}"))
}

const MORE: &str = r#"
  more:
    component: {file: more.wasm}
    resources: [more.com/gpu]
    hardware:
      - {subsystem: pci, vendor: "0x9999", use: offer, nodes: [{subsystem: drm, name: "card*"}]}
    health: {check-every: 100ms, enumerate-every: 100ms}
"#;

/// Offers what it may under another name.
fn renamed(resource: &'static str) -> Fake {
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(move |host| {
        let mut pools = gpu_pool(host)?;
        for pool in &mut pools {
            pool.resource = resource.into();
        }
        Ok(pools)
    });
    fake.allocate = Box::new(|_, _| Ok(devgate_types::Edits::default()));
    fake
}

fn names(changed: &Reloaded) -> [Vec<String>; 3] {
    let of = |names: &[devgate_types::PluginName]| names.iter().map(ToString::to_string).collect();
    [of(&changed.new), of(&changed.changed), of(&changed.gone)]
}

/// The resources that have fewer devices.
fn said(reloaded: &Reloaded) -> String {
    let lines: Vec<_> = reloaded.fewer.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A world whose loader may be given other components while it runs.
fn start_with(policy: &str, fakes: Vec<(&'static str, Fake)>) -> (World, Arc<FakeLoader>) {
    let map = fakes.into_iter().map(|(file, fake)| (file.to_owned(), Arc::new(fake) as _));
    let loader = Arc::new(FakeLoader(std::sync::Mutex::new(map.collect())));
    let node = node();
    let given: Arc<dyn Loader> = loader.clone();
    let plugins = Plugins::start(&parse(policy), around(&node, given, &Allocations::forgetful()));
    (World { node, plugins }, loader)
}

async fn gone(world: &World, resource: &str) {
    let mut offers = world.plugins.offers();
    let left = offers.wait_for(|all| all.iter().all(|offer| offer.resource().as_str() != resource));
    tokio::time::timeout(TIMEOUT, left).await.expect("in time").unwrap();
}

/// Adds a variable that the host sets.
const EXTRA: (&str, &str) = ("\"{ids}\"", "\"{ids}\"\n        \"GPUS_EXTRA_{RESOURCE}\": \"{ids}\"");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_is_in_force_at_once_and_the_stream_goes_on() {
    let mut world = start(POLICY, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let id = strings(&["0000:00:01.0"]);
    gpus.allocate(&id).await.unwrap();
    assert!(world.plugins.reload(&parse(POLICY), false).await.unwrap().is_nothing());
    // Where something is written is no difference.
    let moved = parse(&POLICY.replace("plugins:", "\n\nplugins:"));
    assert!(world.plugins.reload(&moved, false).await.unwrap().is_nothing());
    let reloaded = world.plugins.reload(&with(EXTRA.0, EXTRA.1, ""), false).await.unwrap();
    assert_eq!(names(&reloaded), [vec![], vec!["gpus".to_owned()], vec![]]);
    let has_extra = async {
        while !gpus.allocate(&id).await.unwrap().env.contains_key("GPUS_EXTRA_FAKE_COM_GPU") {
            tokio::time::sleep(TICK).await;
        }
    };
    tokio::time::timeout(TIMEOUT, has_extra).await.unwrap();
    let same = world.offer("fake.com/gpu").await;
    assert!(Arc::ptr_eq(&same, &gpus), "the front end's stream belongs to it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_wrong_is_refused_whole_and_everything_goes_on() {
    let fakes = [("fake.wasm", Fake::gpus()), ("more.wasm", renamed("more.com/gpu"))];
    let mut world = start(&format!("{POLICY}{MORE}"), fakes);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let more = MORE.replace("more.wasm", "missing.wasm");
    let refused = world.plugins.reload(&with(EXTRA.0, EXTRA.1, &more), false).await.unwrap_err();
    assert_eq!(refused.to_string(), "plugin more: missing.wasm: no such file");
    let id = strings(&["0000:00:01.0"]);
    let reply = gpus.allocate(&id).await.unwrap();
    assert!(!reply.env.contains_key("GPUS_EXTRA_FAKE_COM_GPU"), "the good half is not in force either");
    wait(&world.offer("more.com/gpu").await, all_healthy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_component_is_swapped_in_only_if_it_answers() {
    let (mut world, loader) = start_with(POLICY, vec![("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let replace = |fake: Fake, version: u8| {
        let mut fake = fake;
        fake.profile.sha256 = Some([version; 32]);
        loader.0.lock().unwrap().insert("fake.wasm".into(), Arc::new(fake));
    };
    let mut broken = Fake::gpus();
    broken.health = Box::new(|_, _| Err(devgate_types::GuestFault::contract("broken").into()));
    replace(broken, 1);
    let refused = world.plugins.reload(&parse(POLICY), false).await.unwrap_err();
    assert!(refused.to_string().starts_with("plugin gpus: health "), "{refused}");
    wait(&gpus, all_healthy).await;
    let mut hot = Fake::gpus();
    hot.health = Box::new(|_, units| Ok(vec![Verdict::Unhealthy("hot".into()); units.len()]));
    replace(hot, 2);
    let reloaded = world.plugins.reload(&parse(POLICY), false).await.unwrap();
    assert_eq!(names(&reloaded), [vec![], vec!["gpus".to_owned()], vec![]]);
    wait(&gpus, |list| list.devices.iter().all(|d| d.unhealthy.as_deref() == Some("hot"))).await;
}

/// What runs goes on, and would not come back after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_cannot_be_had_any_more_is_told_and_costs_nothing() {
    let (mut world, loader) = start_with(POLICY, vec![("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let had = loader.0.lock().unwrap().remove("fake.wasm").unwrap();
    for forced in [false, true] {
        let refused = world.plugins.reload(&parse(POLICY), forced).await.unwrap_err();
        assert_eq!(refused.to_string(), "plugin gpus: fake.wasm: no such file");
    }
    wait(&gpus, all_healthy).await;
    loader.0.lock().unwrap().insert("fake.wasm".into(), had);
    assert!(world.plugins.reload(&parse(POLICY), false).await.unwrap().is_nothing());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_pod_holds_is_not_taken_away_unless_it_is_forced() {
    let mut world = start(POLICY, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    gpus.allocate(&strings(&["0000:00:02.0"])).await.unwrap();
    for (from, to) in [("vendor: \"0x1234\"", "name: \"0000:00:01.0\""), ("name: \"card*\"", "name: \"render*\"")] {
        let refused = world.plugins.reload(&with(from, to, ""), false).await.unwrap_err();
        insta::allow_duplicates! {
            let text = refused.to_string().replace("be other hardware", "not be offered any more");
            insta::assert_snapshot!(text, @"plugin gpus: device 0000:00:02.0, which a pod may hold, would not be offered any more; wait until its pods are gone, or force it");
        }
        wait(&gpus, all_healthy).await;
    }
    let replicas = with("    hardware:", "    replicas: 2\n    hardware:", "");
    let refused = world.plugins.reload(&replicas, false).await.unwrap_err();
    assert!(
        refused.to_string().contains("device 0000:00:02.0, which a pod may hold, would have another id (replicas)"),
        "{refused}"
    );
    let narrow = with("vendor: \"0x1234\"", "name: \"0000:00:01.0\"", "");
    let reloaded = world.plugins.reload(&narrow, true).await.unwrap();
    insta::assert_snapshot!(said(&reloaded), @"resource fake.com/gpu: 2 devices before, 1 now (check the selectors, the filters and the config of plugin gpus; `devgate explain` says what becomes of a device)");
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    insta::assert_snapshot!(list, @r"
    0000:00:01.0 {1}
    0000:00:02.0 {} the component does not list it any more
    ");
    // It is its pod's, and none of the node's devices: neither what is shown nor the next reload counts it.
    let shown = world.plugins.status_reader().status();
    let devices = shown.iter().flat_map(|plugin| &plugin.resources);
    let devices = devices.flat_map(|resource| &resource.devices);
    let unlisted: Vec<_> = devices.map(|device| (device.id.as_str(), device.unlisted)).collect();
    assert_eq!(unlisted, [("0000:00:01.0", false), ("0000:00:02.0", true)]);
    let again = POLICY.replace("vendor: \"0x1234\"", "name: \"0000:00:01.0\"");
    let again = parse(&again.replace(EXTRA.0, EXTRA.1));
    let reloaded = world.plugins.reload(&again, true).await.unwrap();
    assert_eq!(names(&reloaded), [vec![], vec!["gpus".to_owned()], vec![]]);
    assert_eq!(said(&reloaded), "", "it was gone before");
}

/// What a trial found of a unit is not taken for what another one is: by the switch, others may be in the list.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verdicts_of_a_trial_stay_with_their_units() {
    let (mut world, loader) = start_with(POLICY, vec![("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap();
    // The new one lists the second only, and finds it ill; the first is kept for its pod.
    let mut second = Fake::gpus();
    second.profile.sha256 = Some([7; 32]);
    second.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        pools[0].units.retain(|unit| unit.id == "0000:00:02.0");
        Ok(pools)
    });
    second.health = Box::new(|_, units| {
        let verdict = |unit: &devgate_types::Unit| match unit.id.as_str() {
            "0000:00:02.0" => Verdict::Unhealthy("second".into()),
            _ => Verdict::Unknown("not mine".into()),
        };
        Ok(units.iter().map(verdict).collect())
    });
    loader.0.lock().unwrap().insert("fake.wasm".into(), Arc::new(second));
    world.plugins.reload(&parse(POLICY), true).await.unwrap();
    let list = wait(&gpus, |list| list.devices.iter().all(|d| d.unhealthy.is_some())).await;
    insta::assert_snapshot!(list, @r"
    0000:00:01.0 {1} the component does not list it any more
    0000:00:02.0 {} second
    ");
}

/// A plugin that is new must answer, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_plugin_that_does_not_answer_is_refused() {
    let mut broken = renamed("more.com/gpu");
    broken.enumerate = Box::new(|_| Err(devgate_types::GuestFault::contract("broken").into()));
    let mut world = start(POLICY, [("fake.wasm", Fake::gpus()), ("more.wasm", broken)]);
    wait(&world.offer("fake.com/gpu").await, all_healthy).await;
    let refused = world.plugins.reload(&with("", "", MORE), false).await.unwrap_err();
    assert!(refused.to_string().starts_with("plugin more: enumerate "), "{refused}");
}

/// Gets one component from a registry that does not answer.
struct SlowLoader(Arc<FakeLoader>, std::sync::Mutex<std::sync::mpsc::Receiver<()>>);

impl Loader for SlowLoader {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        if policy.name.as_str() == "more" {
            let _ = self.1.lock().unwrap().recv();
        }
        self.0.load(policy)
    }

    fn digest(&self, policy: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure> {
        self.0.digest(policy)
    }
}

/// What an earlier reload still pulls costs no other plugin its new component.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_does_not_come_holds_up_no_other_plugins_reload() {
    let (held, gate) = std::sync::mpsc::channel();
    let fakes = FakeLoader(std::sync::Mutex::default());
    let loader = Arc::new(SlowLoader(Arc::new(fakes), gate.into()));
    let replace = |version: u8| {
        let mut fake = Fake::gpus();
        fake.profile.sha256 = Some([version; 32]);
        loader.0.0.lock().unwrap().insert("fake.wasm".into(), Arc::new(fake));
    };
    replace(1);
    let (node, given) = (node(), Arc::clone(&loader) as Arc<dyn Loader>);
    let plugins = Plugins::start(&parse(POLICY), around(&node, given, &Allocations::forgetful()));
    let mut world = World { node, plugins };
    wait(&world.offer("fake.com/gpu").await, all_healthy).await;
    let slow = parse(&format!("{POLICY}{MORE}"));
    let reload = world.plugins.reload(&slow, false);
    tokio::time::timeout(TICK * 10, reload).await.unwrap_err();
    replace(2);
    let reloaded = world.plugins.reload(&parse(POLICY), false).await.unwrap();
    assert_eq!(names(&reloaded), [vec![], vec!["gpus".to_owned()], vec![]]);
    // What is still awaited is not asked for a second time.
    let again = world.plugins.reload(&slow, false).await.unwrap_err().to_string();
    assert!(again.starts_with("plugin more: host fault: an earlier reload still gets"), "{again}");
    drop(held);
}

/// A reload takes as long as components take to be had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_breaks_while_a_reload_runs_is_told_at_once() {
    let (held, gate) = std::sync::mpsc::channel();
    let fakes = FakeLoader(std::sync::Mutex::default());
    let fake: Arc<dyn Component> = Arc::new(Fake::gpus());
    fakes.0.lock().unwrap().insert("fake.wasm".into(), fake);
    let loader = Arc::new(SlowLoader(Arc::new(fakes), gate.into()));
    let mut plugins = Plugins::start(&parse(POLICY), around(&node(), loader, &Allocations::forgetful()));
    let failures = plugins.failures();
    plugins.break_all();
    let more = parse(&format!("{POLICY}{MORE}"));
    let told = tokio::select! {
        told = tokio::time::timeout(TIMEOUT, failures.next()) => told.unwrap(),
        ended = plugins.reload(&more, true) => panic!("the reload waits: {ended:?}"),
    };
    assert_eq!(told.to_string(), "plugin gpus: its task failed");
    drop(held);
}
