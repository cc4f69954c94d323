use super::*;
use devgate_core::offer::{AllocateError, BoxFuture, Device, DeviceList, Reply};
use proptest::prelude::*;
use std::collections::BTreeSet;

pub(crate) const NAME: &str = "gpu.vendor.com";

pub(crate) struct Fixed(ResourceName, Driver, watch::Sender<Arc<DeviceList>>);

impl Fixed {
    pub(crate) fn offer(list: DeviceList, evicts: bool) -> Arc<dyn Offer> {
        let driver = Driver { name: NAME.into(), evicts, ..Driver::default() };
        Arc::new(Self(ResourceName::try_new("vendor.com/gpu").unwrap(), driver, watch::Sender::new(Arc::new(list))))
    }
}

impl Offer for Fixed {
    fn resource(&self) -> &ResourceName {
        &self.0
    }

    fn driver(&self) -> Option<&Driver> {
        Some(&self.1)
    }

    fn devices(&self) -> watch::Receiver<Arc<DeviceList>> {
        self.2.subscribe()
    }

    fn allocate<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, Result<Arc<Reply>, AllocateError>> {
        Box::pin(async { Ok(Arc::default()) })
    }

    fn choose<'a>(&'a self, _: &'a [String], _: &'a [String], _: usize) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async { Vec::new() })
    }
}

fn offer(resource: &str, ids: &BTreeSet<String>) -> Arc<dyn Offer> {
    let devices = ids.iter().map(|id| Device { id: id.clone(), ..Device::default() }).collect();
    let driver = Driver { name: NAME.into(), ..Driver::default() };
    let list = watch::Sender::new(Arc::new(DeviceList { devices }));
    Arc::new(Fixed(ResourceName::try_new(resource).unwrap(), driver, list))
}

fn is_label(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=63).contains(&name.len())
        && name.starts_with(is_inner)
        && name.ends_with(is_inner)
        && name.chars().all(|c| is_inner(c) || c == '-')
}

#[test]
fn a_name_is_the_id_where_that_can_be() {
    for plain in ["gpu0", "0000-3b-00", "a", "gpu-3f2c91aa-0b1c", "r1", "a-r", &"a".repeat(63)] {
        assert_eq!(device_name(plain), plain);
    }
    assert_eq!(device_name("gpu0::3"), "gpu0-r3");
    for (odd, begins) in [
        ("0000:3b:00.0", "0000-3b-00-0-"),
        ("GPU0", "gpu0-"),
        ("gpu0::03", "gpu0--03-"),
        ("gpu0-r3", "gpu0-r3-"),
        ("gpu-a1b2c3", "gpu-a1b2c3-"),
        ("-a", "a-"),
        ("ü", "device-"),
        (&"A".repeat(63), &"a".repeat(56)),
    ] {
        let name = device_name(odd);
        assert!(name.starts_with(begins) && is_label(&name), "{odd}: {name}");
        assert_eq!(name.rsplit('-').next().unwrap().len(), 6, "{odd}: {name}");
    }
    assert!(is_label(&device_name(&format!("{}::12", "a".repeat(60)))));
}

proptest! {
    /// Ids that differ in little, in two resources.
    #[test]
    fn dra29_no_two_devices_of_a_driver_have_one_name_and_none_has_two(
        first in prop::collection::btree_set("[aA.-]{1,3}(::|-r)?[0-2]{0,1}|[a-f0-9-]{1,9}|\\PC{1,12}", 0..40),
        second in prop::collection::btree_set("[aA.:-]{1,5}|gpu-[a-f0-9]{6}", 0..40),
    ) {
        // An id is one of all of a host.
        let second = second.difference(&first).cloned().collect();
        let offers: DriverOffers = [offer("a.com/a", &first), offer("a.com/b", &second)].into();
        let (once, again) = (Inventory::of(NAME, &offers), Inventory::of(NAME, &offers));
        let names: BTreeSet<_> = once.devices.iter().map(|device| &device.name).collect();
        prop_assert_eq!(names.len(), once.devices.len());
        prop_assert!(names.into_iter().all(|name| is_label(name)));
        prop_assert_eq!(once.devices.len() + once.left_out.len(), first.len() + second.len());
        for device in &once.devices {
            prop_assert_eq!(&again.device(&device.name).unwrap().id, &device.id);
            prop_assert_eq!(&device_name(&device.id), &device.name);
        }
        // Alone, or in the other order, each is called the same.
        let offers: DriverOffers = [offer("a.com/b", &second)].into();
        for device in Inventory::of(NAME, &offers).devices {
            prop_assert_eq!(device.name, device_name(&device.id));
        }
    }
}

#[tokio::test]
async fn each_change_of_any_list_is_told() {
    let (first, second) = (BTreeSet::from(["a".to_owned()]), BTreeSet::from(["b".to_owned()]));
    let offers: DriverOffers = [offer("a.com/a", &first)].into();
    let out = watch::Sender::new(Arc::new(Inventory::of(NAME, &offers)));
    let (sender, receiver) = watch::channel(offers);
    let mut seen = out.subscribe();
    let follows = tokio::spawn(async move { follow(NAME, receiver, &out).await });
    let both: DriverOffers = [offer("a.com/a", &first), offer("a.com/b", &second)].into();
    sender.send_replace(both);
    let now = seen.wait_for(|all| all.devices.len() == 2).await.unwrap().clone();
    assert_eq!(now.device("b").unwrap().resource.as_str(), "a.com/b");
    follows.abort();
}
