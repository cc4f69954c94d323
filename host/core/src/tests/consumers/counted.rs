//! What a scheduler counts: shares of a device, and wholes and their parts.

use super::*;
use devgate_types::Unit;

fn by_driver(more: &str) -> String {
    POLICY.replace("    health:", &format!("    dra: {{driver: gpu.fake.com{more}}}\n    health:"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_many_claims_have_a_device_as_the_policy_says() {
    let dir = tempfile::tempdir().unwrap();
    let (_world, gpus, devices) = host(dir.path(), &by_driver(", shares: 2"), Fake::gpus()).await;
    assert_eq!(gpus.driver().map(|driver| driver.shares), Some(2));
    let of = |uid: &str| claim("gpu.fake.com", uid);
    for uid in ["one", "two", "one"] {
        get(&devices, &of(uid), &[share(FIRST, uid)]).await.unwrap();
    }
    let more = get(&devices, &of("three"), &[share(FIRST, "three")]).await.unwrap_err();
    assert_eq!(more, "plugin gpus: resource fake.com/gpu: device 0000:00:01.0: 2 claims have it, and no more may");
    let whole = get(&devices, &of("four"), &[ask(&[FIRST])]).await.unwrap_err();
    assert!(whole.ends_with("is in use by claim one of gpu.fake.com"), "{whole}");
    devices.release(&of("one"), BOUND).await;
    get(&devices, &of("three"), &[share(FIRST, "three")]).await.unwrap();
}

/// A GPU, and a part of it that has a node of its own.
fn whole_and_part() -> Fake {
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        if let Some(gpu) = pools[0].units.first().cloned() {
            let unit = |id: &str, nodes: &[devgate_types::NodeHandle]| Unit {
                id: id.into(),
                nodes: nodes.to_vec(),
                ..gpu.clone()
            };
            pools[0].units = vec![unit("part", &gpu.nodes[1..]), unit("whole", &gpu.nodes[..1])];
        }
        Ok(pools)
    });
    fake.allocate = Box::new(|_, _| Ok(devgate_types::Edits::default()));
    fake
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_and_its_part_are_offered_until_a_claim_has_one_and_its_scheduler_counts_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let policy = by_driver("").replace(", name: \"card*\"}", "}");
    let policy = policy.replace("    health:", "    partitions: {own: \"/dev/dri/render*\"}\n    health:");
    let (mut world, gpus, devices) = host(dir.path(), &policy, whole_and_part()).await;
    let wholes = |list: &DeviceList| {
        let facts = list.devices.iter().map(|device| device.facts.as_ref().unwrap().wholes.clone());
        facts.collect::<Vec<_>>()
    };
    wait(&gpus, |list| wholes(list) == [["whole"], ["whole"]]).await;
    listed(&gpus, [None, None]).await;
    let (one, two) = (claim("gpu.fake.com", "one"), claim("gpu.fake.com", "two"));
    get(&devices, &one, &[ask(&["part"])]).await.unwrap();
    let refused = get(&devices, &two, &[ask(&["whole"])]).await.unwrap_err();
    assert!(
        refused.ends_with("device 0000:00:01.0 already backs part of plugin gpus, or a part of it does"),
        "{refused}"
    );
    // Nor does it seem so once all has been gone through.
    let changed = parse(&policy.replace("stale-after: 1s", "stale-after: 2s"));
    world.plugins.reload(&changed, false).await.unwrap();
    tokio::time::sleep(A_WHILE).await;
    let status = world.plugins.status_reader().status();
    assert!(status[0].resources.iter().flat_map(|resource| &resource.devices).all(|device| device.causes.is_empty()));
    listed(&gpus, [None, None]).await;
    wait(&gpus, |list| wholes(list) == [["whole"], ["whole"]]).await;
    devices.release(&one, BOUND).await;
    // The plugin's own task looks at what is free by then.
    let whole = async || get(&devices, &two, &[ask(&["whole"])]).await;
    while let Err(why) = whole().await {
        assert!(why.contains("already backs part"), "{why}");
        tokio::time::sleep(A_WHILE / 10).await;
    }
    // Of what a lease has no scheduler knows.
    devices.release(&two, BOUND).await;
    get(&devices, &lease("job"), &[ask(&["part"])]).await.unwrap();
    let held = |list: &DeviceList| {
        let held = list.devices.iter().map(|device| device.facts.as_ref()?.held.as_ref().map(ToString::to_string));
        held.collect::<Vec<_>>()
    };
    wait(&gpus, |list| held(list) == [Some("lease job".to_owned()), Some("who has part".to_owned())]).await;
    assert_eq!(devices.available(&ask(&[]).resource, &lease("other")).0, [""; 0]);
}
