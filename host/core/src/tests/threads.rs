//! Which threads components run on: none that serves anything else.

use super::{all_healthy, start, strings, wait};
use crate::testing::*;
use devgate_types::component::Profile;
use devgate_types::{CallError, HostFault, Verdict};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::ThreadId;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// Where each of a component's functions ran.
type Seen = Arc<Mutex<BTreeMap<&'static str, Vec<ThreadId>>>>;

fn note(seen: &Seen, call: &'static str) {
    let thread = std::thread::current().id();
    seen.lock().unwrap().entry(call).or_default().push(thread);
}

/// On a runtime of one thread, which is the test's: what ran on it held up all sockets and timers.
#[tokio::test]
async fn no_function_of_a_component_runs_on_a_thread_that_serves() {
    let seen = Seen::default();
    let noting = |call: &'static str| {
        let seen = Arc::clone(&seen);
        move || note(&seen, call)
    };
    let mut fake = Fake::gpus();
    fake.profile = Profile { preference: true, lifecycle: true, ..Profile::default() };
    let enumerates = noting("enumerate");
    fake.enumerate = Box::new(move |host| {
        enumerates();
        gpu_pool(host)
    });
    let asked = noting("health");
    fake.health = Box::new(move |_, units| {
        asked();
        Ok(vec![Verdict::Healthy; units.len()])
    });
    let gpus = Fake::gpus().allocate;
    let allocates = noting("allocate");
    fake.allocate = Box::new(move |host, units| {
        allocates();
        gpus(host, units)
    });
    let chooses = noting("choose");
    fake.choose = Box::new(move |units, _, size| {
        chooses();
        let ids = units.iter().map(|unit| unit.id.clone());
        Ok(ids.take(usize::try_from(size).unwrap_or(0)).collect())
    });
    let (prepares, releases) = (noting("prepare"), noting("release"));
    fake.prepare = Box::new(move |_, _| {
        prepares();
        Ok(())
    });
    fake.release = Box::new(move |_, _| {
        releases();
        Ok(())
    });
    let world = start(POLICY, [("fake.wasm", fake)]);
    let offer = world.offer("fake.com/gpu").await;
    wait(&offer, all_healthy).await;
    let ids = strings(&["0000:00:01.0", "0000:00:02.0"]);
    assert_eq!(offer.choose(&ids, &[], 1).await.len(), 1);
    offer.allocate(&ids[..1]).await.unwrap();
    offer.take_back(&ids[..1]).await;
    let seen = seen.lock().unwrap();
    let calls: Vec<_> = seen.keys().copied().collect();
    assert_eq!(calls, ["allocate", "choose", "enumerate", "health", "prepare", "release"]);
    let here = std::thread::current().id();
    for (call, threads) in seen.iter() {
        assert!(!threads.contains(&here), "{call}");
    }
}

/// What a component does in `allocate` cannot hold up what is to end it.
#[tokio::test]
async fn while_a_component_computes_everything_else_is_answered() {
    let (answer, answered) = mpsc::channel::<()>();
    let answered = Mutex::new(answered);
    let mut fake = Fake::gpus();
    let gpus = Fake::gpus().allocate;
    fake.allocate = Box::new(move |host, units| {
        let answered = answered.lock().unwrap().recv_timeout(LONG);
        answered.map_err(|_| CallError::Host(HostFault("nothing else was answered meanwhile".into())))?;
        gpus(host, units)
    });
    let policy = POLICY.replace("    health: {", "    limits: {deadline: 30s}\n    health: {");
    let world = start(&policy, [("fake.wasm", fake)]);
    let offer = world.offer("fake.com/gpu").await;
    wait(&offer, all_healthy).await;
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        answer.send(()).unwrap();
    });
    offer.allocate(&strings(&["0000:00:01.0"])).await.unwrap();
}
