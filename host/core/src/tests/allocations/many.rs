//! Ids and resources without end.

use super::*;

/// However many there are, each is remembered.
#[test]
fn no_id_is_left_out_of_what_is_remembered() {
    let allocations = Allocations::forgetful();
    let policy = plugin_policy(POLICY);
    let resource = devgate_types::ResourceName::try_new("fake.com/gpu").unwrap();
    let units: Vec<_> = (0..40_000).map(made_up).collect();
    let giving = Giving::whole(&resource, &[], &units, &policy, false);
    let noted = allocations.note(&Consumer::Pods, State::Active, None, &[giving]);
    assert!(noted.is_new);
    assert!(units.iter().all(|unit| allocations.has(&resource, unit)));
}

/// Every round has eight other ids; the hardware is always the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_makes_up_ids_without_end_is_stopped() {
    let round = std::sync::atomic::AtomicUsize::new(0);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(move |_| {
        let round = round.fetch_add(1, Ordering::Relaxed);
        let unit = |n| Unit { id: format!("{round}-{n}"), backing: vec![], nodes: vec![], properties: vec![] };
        Ok(vec![Pool {
            resource: "fake.com/gpu".into(),
            units: (0..600).map(unit).collect(),
            shared_nodes: vec![],
            properties: vec![],
        }])
    });
    fake.allocate = Box::new(|_, _| Ok(devgate_types::Edits::default()));
    let world = start(POLICY, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    // 1,024 new ones and one for each that there is: the third round of new ids is cut, the fourth is empty.
    wait(&gpus, |list| list.devices.is_empty()).await;
}

/// A pattern in the policy grants any number of names; the kubelet never forgets one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_offers_sixteen_resources_and_not_one_more() {
    let policy = POLICY.replace("[fake.com/gpu, fake.com/other]", "[\"fake.com/gpu*\"]");
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|_| {
        let pool = |n: usize| Pool {
            resource: format!("fake.com/gpu-{n:02}"),
            units: vec![],
            shared_nodes: vec![],
            properties: vec![],
        };
        Ok((0..20).map(pool).collect())
    });
    let world = start(&policy, [("fake.wasm", fake)]);
    world.offer("fake.com/gpu-15").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let offers = world.plugins.offers().borrow().clone();
    let names: Vec<_> = offers.iter().map(|offer| offer.resource().to_string()).collect();
    assert_eq!(names.len(), 16, "{names:?}");
    assert!(!names.contains(&"fake.com/gpu-16".to_owned()));
}
