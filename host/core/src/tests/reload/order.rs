//! Plugins and resources that come, go, move or change places.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plugins_come_and_go_and_a_resource_is_empty_before_it_goes() {
    let fakes = [("fake.wasm", Fake::gpus()), ("more.wasm", renamed("more.com/gpu"))];
    let mut world = start(POLICY, fakes);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let reloaded = world.plugins.reload(&with("", "", MORE), false).await.unwrap();
    assert_eq!(names(&reloaded), [vec!["more".to_owned()], vec![], vec![]]);
    let more = world.offer("more.com/gpu").await;
    wait(&more, all_healthy).await;
    let reloaded = world.plugins.reload(&parse(POLICY), false).await.unwrap();
    assert_eq!(names(&reloaded), [vec![], vec![], vec!["more".to_owned()]]);
    insta::assert_snapshot!(said(&reloaded), @"resource more.com/gpu: 1 device before, none now (plugin more is not in the policy any more)");
    wait(&more, |list| list.devices.is_empty()).await;
    assert!(world.plugins.offers().borrow().iter().any(|offer| Arc::ptr_eq(offer, &more)), "still there, and empty");
    gone(&world, "more.com/gpu").await;
    let ended = tokio::time::timeout(TICK * 5, world.plugins.failures().next()).await;
    assert!(ended.is_err(), "an end that was asked for is none to report");
    wait(&gpus, all_healthy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resource_under_another_name_leaves_the_old_one_empty_and_then_gone() {
    let mut world = start(POLICY, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let renamed = with(
        "[fake.com/gpu, fake.com/other]",
        "[fake.com/new]\n    rename: [{resource: fake.com/gpu, to: fake.com/new}]",
        "",
    );
    world.plugins.reload(&renamed, false).await.unwrap();
    wait(&world.offer("fake.com/new").await, all_healthy).await;
    wait(&gpus, |list| list.devices.is_empty()).await;
    gone(&world, "fake.com/gpu").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_new_order_decides_who_has_what_two_claim() {
    let one = POLICY.replace("gpus:", "one:").replace("fake.com/other", "one.com/gpu");
    let entry = |text: &str| text[text.find("  one:").unwrap()..].to_owned();
    let head = one[..one.find("  one:").unwrap()].to_owned();
    let first = entry(&one);
    let second = first.replace("  one:", "  two:").replace("fake.com/gpu, one.com/gpu", "two.com/gpu");
    let second = second.replace("fake.wasm", "two.wasm").replace("    host-nodes:\n      exclusive: [/dev/fuse]\n", "");
    let mut other = renamed("two.com/gpu");
    let inner = other.enumerate;
    other.enumerate = Box::new(move |host| {
        let mut pools = inner(host)?;
        for unit in pools.iter_mut().flat_map(|pool| &mut pool.units) {
            unit.id = format!("two-{}", unit.id);
        }
        Ok(pools)
    });
    let fakes = [("fake.wasm", Fake::gpus()), ("two.wasm", other)];
    let mut world = start(&format!("{head}{first}{second}"), fakes);
    let (a, b) = (world.offer("fake.com/gpu").await, world.offer("two.com/gpu").await);
    wait(&a, all_healthy).await;
    wait(&b, |list| !list.devices.is_empty() && list.devices.iter().all(|d| d.unhealthy.is_some())).await;
    let reloaded = world.plugins.reload(&parse(&format!("{head}{second}{first}")), false).await.unwrap();
    assert_eq!(names(&reloaded), [[""; 0]; 3], "neither is another");
    assert!(reloaded.reordered && !reloaded.is_nothing(), "the order is");
    wait(&b, all_healthy).await;
    wait(&a, |list| list.devices.iter().all(|d| d.unhealthy.is_some())).await;
}

/// What is shown of plugins is in the policy's order, whichever began last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_has_the_new_order() {
    let fakes = [("fake.wasm", Fake::gpus()), ("more.wasm", renamed("more.com/gpu"))];
    let mut world = start(POLICY, fakes);
    wait(&world.offer("fake.com/gpu").await, all_healthy).await;
    let (head, gpus) = POLICY.split_once("plugins:\n").unwrap();
    for (policy, order) in [
        (format!("{head}plugins:{MORE}{gpus}"), ["more", "gpus"]),
        (format!("{head}plugins:\n{gpus}{MORE}"), ["gpus", "more"]),
    ] {
        world.plugins.reload(&parse(&policy), false).await.unwrap();
        let shown = world.plugins.status_reader().status();
        let names: Vec<_> = shown.iter().map(|plugin| plugin.name.as_str()).collect();
        assert_eq!(names, order);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_matches_nothing_leaves_an_empty_list_and_wakes_again() {
    let mut world = start(POLICY, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let nothing = POLICY.replace("0x1234", "0x4321").replace("subsystem: misc", "subsystem: none");
    let reloaded = world.plugins.reload(&parse(&nothing), false).await.unwrap();
    insta::assert_snapshot!(said(&reloaded), @"resource fake.com/gpu: 2 devices before, none now (check the selectors of plugin gpus: none of them matches a device of this node)");
    wait(&gpus, |list| list.devices.is_empty()).await;
    let reloaded = world.plugins.reload(&parse(POLICY), false).await.unwrap();
    assert_eq!(said(&reloaded), "", "there are more");
    wait(&gpus, all_healthy).await;
}

/// Under another plugin's name a resource is what it was: nothing is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resource_that_moves_to_another_plugin_is_not_lost() {
    let mut world = start(POLICY, [("fake.wasm", Fake::gpus())]);
    wait(&world.offer("fake.com/gpu").await, all_healthy).await;
    let reloaded = world.plugins.reload(&with("gpus:", "cards:", ""), false).await.unwrap();
    assert_eq!(names(&reloaded), [vec!["cards".to_owned()], vec![], vec!["gpus".to_owned()]]);
    assert_eq!(said(&reloaded), "");
}

/// Taken out by force while a pod has something of it, and put back: it has what it had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_is_back_has_what_its_pods_hold() {
    let fakes = [("fake.wasm", Fake::gpus()), ("more.wasm", renamed("more.com/gpu"))];
    let mut world = start(&format!("{POLICY}{MORE}"), fakes);
    let more = world.offer("more.com/gpu").await;
    wait(&more, all_healthy).await;
    more.allocate(&strings(&["0000:00:03.0"])).await.unwrap();
    assert!(world.plugins.reload(&parse(POLICY), false).await.is_err());
    world.plugins.reload(&parse(POLICY), true).await.unwrap();
    gone(&world, "more.com/gpu").await;
    assert!(world.plugins.status_reader().late().is_empty());
    assert!(world.plugins.status_reader().status().iter().all(|plugin| plugin.name != "more"), "it is not waited for");
    world.plugins.reload(&with("", "", MORE), false).await.unwrap();
    let more = world.offer("more.com/gpu").await;
    let list = wait(&more, all_healthy).await;
    assert_eq!(list, "0000:00:03.0 {}");
}

/// What was told to leave ends while the same plugin serves again, and takes nothing of it along.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_is_back_at_once_goes_on_with_what_its_pods_hold() {
    let fakes = [("fake.wasm", Fake::gpus()), ("more.wasm", renamed("more.com/gpu"))];
    let (node, allocations) = (node(), Allocations::forgetful());
    let around = around(&node, FakeLoader::with(fakes), &allocations);
    let mut world = World { plugins: Plugins::start(&parse(&format!("{POLICY}{MORE}")), around), node };
    let more = world.offer("more.com/gpu").await;
    wait(&more, all_healthy).await;
    more.allocate(&strings(&["0000:00:03.0"])).await.unwrap();
    drop(more);
    world.plugins.reload(&parse(POLICY), true).await.unwrap();
    world.plugins.reload(&with("", "", MORE), false).await.unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(allocations.unclaimed(), [] as [(String, String); 0]);
    let more = world.offer("more.com/gpu").await;
    assert_eq!(wait(&more, all_healthy).await, "0000:00:03.0 {}");
}

/// By another name, the kubelet would give it to another pod while its pod has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_comes_back_only_as_its_pods_know_it() {
    let fakes = [("fake.wasm", Fake::gpus()), ("more.wasm", renamed("more.com/gpu"))];
    let mut world = start(&format!("{POLICY}{MORE}"), fakes);
    let more = world.offer("more.com/gpu").await;
    wait(&more, all_healthy).await;
    more.allocate(&strings(&["0000:00:03.0"])).await.unwrap();
    world.plugins.reload(&parse(POLICY), true).await.unwrap();
    let another = MORE.replace(
        "resources: [more.com/gpu]",
        "resources: [more.com/gpu2]\n    rename: [{resource: more.com/gpu, to: more.com/gpu2}]",
    );
    for forced in [false, true] {
        let refused = world.plugins.reload(&with("", "", &another), forced).await.unwrap_err();
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused, @"plugin more: is back, and device 0000:00:03.0, which a pod may hold since it was taken out, would not be offered as it was; wait until its pods are gone, or restart devgate");
        }
    }
    world.plugins.reload(&with("", "", MORE), false).await.unwrap();
}
