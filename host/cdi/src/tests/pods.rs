use super::leases::{World, gone};
use super::*;
use crate::by_name;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const NAME: &str = "pod:1-";

impl World {
    /// What a kubelet is offered by this host.
    async fn offer(&self) -> Arc<dyn Offer> {
        let (mut offers, following) = by_name(&self.keeper, self.fake.offers());
        tokio::spawn(following);
        let offered = offers.wait_for(|offers| !offers.is_empty()).await.unwrap();
        Arc::clone(&offered[0])
    }

    /// The files of pods, by the names of their devices.
    fn pods(&self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.cdi()).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            let device = name.strip_prefix("devgate-vendor.com_acme=")?.strip_suffix(".json")?;
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            device.starts_with("pod:").then(|| (device.to_owned(), text))
        });
        named.collect()
    }
}

async fn allocate(offer: &Arc<dyn Offer>, ids: &[&str]) -> Result<Arc<Reply>, AllocateError> {
    let ids: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
    offer.allocate(&ids).await
}

#[tokio::test]
async fn cdi09_cdi11_the_kubelet_is_told_a_name_whose_file_is_there() {
    let world = World::new();
    let offer = world.offer().await;
    let told = allocate(&offer, &["acme0"]).await.unwrap();
    let pods = world.pods();
    let (device, text) = pods.first_key_value().unwrap();
    assert!(device.starts_with(NAME), "{device}");
    assert!(text.contains("/dev/acme0") && text.contains("\"ACME=acme0\""), "{text}");
    let name = format!("devgate.vendor.com/acme={device}");
    let whole = Reply {
        env: BTreeMap::from([("ACME".to_owned(), "acme0".to_owned())]),
        cdi: BTreeSet::from([name]),
        ..Reply::default()
    };
    assert_eq!(*told, whole, "no node, no mount, no other name; variables in both");
    let mode = fs::metadata(world.file(device)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn cdi10_the_same_again_has_the_same_name_and_whoever_comes_next_another() {
    let world = World::new();
    let offer = world.offer().await;
    let first = allocate(&offer, &["acme0"]).await.unwrap();
    let before = world.pods();
    assert_eq!(allocate(&offer, &["acme0"]).await.unwrap(), first);
    assert_eq!(world.pods(), before);
    // An init container, and the application beside it.
    let both = allocate(&offer, &["acme0", "acme1"]).await.unwrap();
    assert!(both.cdi != first.cdi && world.pods().len() == 2);
    world.fake.expire(&Consumer::Pods);
    world.until(|| world.pods().is_empty()).await;
    let next = allocate(&offer, &["acme0"]).await.unwrap();
    assert!(next.cdi != first.cdi, "{next:?}");
}

#[tokio::test]
async fn cdi06_what_a_pod_gets_and_cannot_be_written_is_refused_and_given_back() {
    let world = World::new();
    fs::write(world.cdi(), "in the way").unwrap();
    let offer = world.offer().await;
    let error = allocate(&offer, &["acme0"]).await.unwrap_err();
    assert!(matches!(error, AllocateError::Host(_)), "{error:?}");
    let error = error.to_string();
    assert!(
        error.starts_with("resource vendor.com/acme: CDI: file ") && error.contains("could not be written"),
        "{error}"
    );
    assert_eq!(*world.fake.taken_back.lock().unwrap(), ["acme0"]);
}

#[tokio::test]
async fn cdi12_cdi17_what_pods_have_is_looked_after_as_leases_are() {
    let world = World::new();
    let offer = world.offer().await;
    allocate(&offer, &["acme0"]).await.unwrap();
    let before = world.pods();
    fs::remove_dir_all(world.cdi()).unwrap();
    world.until(|| world.pods() == before).await;
    *world.fake.restored.lock().unwrap() = Some(Ok(super::reply("acme1")));
    world.recorded.unplug("virtual/acme/acme0").unwrap();
    world.until(|| world.pods().values().all(|text| text.contains("/dev/acme1"))).await;
    assert_eq!(world.pods().keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    *world.fake.restored.lock().unwrap() = Some(Err(gone(false)));
    world.recorded.unplug("virtual/acme/acme1").unwrap();
    world.until(|| !world.keeper.problems().is_empty()).await;
    assert!(world.pods().is_empty());
    let problems = world.keeper.problems();
    let said = [
        "device acme0 of resource vendor.com/acme (pods): allocation 1 of resource vendor.com/acme: the hardware is gone",
    ];
    assert_eq!(problems, said);
}

/// `/run` is empty after a boot; the kubelet starts containers by the names that it has kept as soon as the resource is registered.
#[tokio::test]
async fn cdi14_what_pods_have_is_in_files_before_the_kubelet_hears_of_the_resource() {
    let mut world = World::new();
    let told = allocate(&world.offer().await, &["acme0"]).await.unwrap();
    let before = world.pods();
    world.keeping.abort();
    fs::remove_dir_all(world.cdi()).unwrap();
    world.restart();
    world.keeping.abort();
    let offer = world.offer().await;
    assert_eq!(world.pods(), before, "only the offer looked");
    assert_eq!(allocate(&offer, &["acme0"]).await.unwrap(), told);
}

#[tokio::test]
async fn cdi15_what_no_pod_has_any_more_has_no_file_also_where_the_host_was_not_there() {
    let mut world = World::new();
    let offer = world.offer().await;
    for id in ["acme0", "acme1"] {
        allocate(&offer, &[id]).await.unwrap();
    }
    world.fake.forget(&["acme0"]);
    world.until(|| world.pods().len() == 1).await;
    world.keeping.abort();
    world.fake.forget(&["acme1"]);
    world.restart();
    world.until(|| world.pods().is_empty()).await;
}

/// Pods that were given something by name before have it in files, whatever the host tells of new ones.
#[tokio::test]
async fn cdi24_a_host_that_tells_paths_writes_no_file_and_keeps_those_that_there_are() {
    let mut world = World::new();
    allocate(&world.offer().await, &["acme0"]).await.unwrap();
    let before = world.pods();
    world.keeping.abort();
    fs::remove_dir_all(world.cdi()).unwrap();
    world.restart();
    world.until(|| world.pods() == before).await;
    let offers = world.fake.offers();
    let plain = Arc::clone(&offers.borrow()[0]);
    assert!(!allocate(&plain, &["acme1"]).await.unwrap().nodes.is_empty());
    assert_eq!(world.pods(), before);
}

#[tokio::test]
async fn what_is_offered_is_followed() {
    let world = World::new();
    let (mut offers, following) = by_name(&world.keeper, world.fake.offers());
    tokio::spawn(following);
    let first = Arc::clone(&offers.wait_for(|offers| offers.len() == 1).await.unwrap()[0]);
    let inner = Arc::clone(&world.fake.offers().borrow()[0]);
    world.fake.offer(&[Arc::clone(&inner), Arc::clone(&inner)]);
    let two = Arc::clone(&offers.wait_for(|offers| offers.len() == 2).await.unwrap());
    assert!(Arc::ptr_eq(&first, &two[0]), "it is the same as before to who serves it");
    world.fake.offer(&[]);
    offers.wait_for(|offers| offers.is_empty()).await.unwrap();
}
