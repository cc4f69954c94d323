//! What front ends see and get: lists of devices, and allocations.

use super::{all_healthy, start, strings, wait};
use crate::offer::AllocateError;
use crate::testing::*;
use devgate_types::{CallError, Failure, FailureKind, GuestFault, Unit, Verdict};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn devices_are_offered_with_their_numa_node_and_given_with_their_nodes() {
    let world = start(POLICY, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    insta::assert_snapshot!(wait(&gpus, all_healthy).await, @r"
    0000:00:01.0 {1}
    0000:00:02.0 {}
    ");
    let reply = gpus.allocate(&strings(&["0000:00:02.0", "0000:00:01.0", "0000:00:02.0"])).await.unwrap();
    let nodes: Vec<_> = reply.nodes.iter().map(|n| format!("{} {}", n.host_path, n.access)).collect();
    assert_eq!(nodes, ["/dev/dri/card0 rw", "/dev/dri/card1 rw"]);
    assert_eq!(reply.env.get("GPUS_FAKE_COM_GPU").unwrap(), "0000:00:01.0,0000:00:02.0");
    let again = gpus.allocate(&strings(&["0000:00:01.0", "0000:00:02.0"])).await.unwrap();
    assert_eq!(reply, again, "the same set in another order, given again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_and_unhealthy_ids_are_named_and_nothing_is_given() {
    let mut fake = Fake::gpus();
    fake.health = Box::new(|_, units| {
        let verdict = |unit: &Unit| match unit.id.as_str() {
            "0000:00:01.0" => Verdict::Unhealthy("too hot".into()),
            _ => Verdict::Healthy,
        };
        Ok(units.iter().map(verdict).collect())
    });
    let world = start(POLICY, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, |list| list.devices.len() == 2).await;
    let error = |ids: &'static [&str]| {
        let gpus = gpus.clone();
        async move { gpus.allocate(&strings(ids)).await.unwrap_err() }
    };
    assert_eq!(
        error(&["0000:00:02.0", "nope"]).await,
        AllocateError::Unknown("plugin gpus: resource fake.com/gpu: there is no device nope".into())
    );
    assert_eq!(
        error(&["0000:00:02.0::0"]).await,
        AllocateError::Unknown("plugin gpus: resource fake.com/gpu: there is no device 0000:00:02.0::0".into())
    );
    assert_eq!(
        error(&["0000:00:02.0", "0000:00:01.0"]).await,
        AllocateError::Refused("plugin gpus: resource fake.com/gpu: device 0000:00:01.0 is unhealthy: too hot".into())
    );
    assert!(gpus.allocate(&[]).await.unwrap().nodes.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_one_unit() {
    let policy = POLICY.replace("    health:", "    replicas: 2\n    health:");
    let world = start(&policy, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    insta::assert_snapshot!(wait(&gpus, all_healthy).await, @r"
    0000:00:01.0::0 {1}
    0000:00:01.0::1 {1}
    0000:00:02.0::0 {}
    0000:00:02.0::1 {}
    ");
    let one = gpus.allocate(&strings(&["0000:00:01.0::1"])).await.unwrap();
    assert_eq!(one.env.get("GPUS_FAKE_COM_GPU").unwrap(), "0000:00:01.0");
    for bad in ["0000:00:01.0", "0000:00:01.0::2", "0000:00:01.0::01", "0000:00:01.0::-1"] {
        assert!(matches!(gpus.allocate(&strings(&[bad])).await, Err(AllocateError::Unknown(_))), "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_later_plugin_loses_a_device_that_both_offer() {
    let second = POLICY.split("plugins:\n").nth(1).unwrap().replace("gpus:", "other:").replace("fake.com", "other.com");
    let second = second.replace("GPUS_", "OTHER_").replace("fake.wasm", "other.wasm");
    let mut other = Fake::gpus();
    other.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        for pool in &mut pools {
            pool.resource = "other.com/gpu".into();
            for unit in &mut pool.units {
                unit.id = format!("other-{}", unit.id);
            }
        }
        Ok(pools)
    });
    let world = start(&format!("{POLICY}{second}"), [("fake.wasm", Fake::gpus()), ("other.wasm", other)]);
    wait(&world.offer("fake.com/gpu").await, all_healthy).await;
    let list = wait(&world.offer("other.com/gpu").await, |list| list.devices.len() == 2).await;
    insta::assert_snapshot!(list, @r"
    other-0000:00:01.0 {1} node c 226:0 is already given to 0000:00:01.0 of plugin gpus
    other-0000:00:02.0 {} node c 226:1 is already given to 0000:00:02.0 of plugin gpus
    ");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_says_busy_or_breaks_is_told_apart() {
    let answer = |error: CallError| {
        let mut fake = Fake::gpus();
        fake.allocate = Box::new(move |_, _| Err(error.clone()));
        fake
    };
    let failed = |kind| CallError::Failed(Failure::new(kind, "reset under way"));
    let cases = [
        (failed(FailureKind::Busy), AllocateError::Busy("plugin gpus: allocate failed: reset under way".into())),
        (failed(FailureKind::Other), AllocateError::Refused("plugin gpus: allocate failed: reset under way".into())),
        (
            CallError::Guest(GuestFault::Exited(1)),
            AllocateError::Guest("plugin gpus: allocate exited with status 1".into()),
        ),
    ];
    for (error, expected) in cases {
        let world = start(POLICY, [("fake.wasm", answer(error))]);
        let gpus = world.offer("fake.com/gpu").await;
        wait(&gpus, all_healthy).await;
        assert_eq!(gpus.allocate(&strings(&["0000:00:01.0"])).await, Err(expected));
    }
}
