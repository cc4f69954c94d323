//! A value that stands for one unit stands for no other.

use super::{settled, start, strings, wait};
use crate::testing::*;
use devgate_types::Edits;

/// The GPUs, each with these properties.
fn gpus(of: impl Fn(usize) -> Vec<(&'static str, &'static str)> + Send + Sync + 'static) -> Fake {
    Fake {
        enumerate: Box::new(move |host| {
            let mut pools = gpu_pool(host)?;
            for (n, unit) in pools.iter_mut().flat_map(|pool| &mut pool.units).enumerate() {
                unit.properties = of(n).into_iter().map(|(name, value)| property(name, value)).collect();
            }
            Ok(pools)
        }),
        allocate: Box::new(|_, _| Ok(Edits::default())),
        ..Fake::gpus()
    }
}

fn policy(name: &str, vendor: &str, containers: &str) -> String {
    format!(
        "  {name}:\n    component: {{file: {name}.wasm}}\n    resources: [fake.com/{name}]\n    rename: [{{resource: fake.com/gpu, to: \
         fake.com/{name}}}]\n    hardware:\n      - {{subsystem: pci, vendor: \"{vendor}\", use: offer, nodes: [{{subsystem: drm, name: \
         \"card*\"}}]}}\n    containers: {{{containers}}}\n    health: {{check-every: 100ms, enumerate-every: 100ms}}\n"
    )
}

const HEAD: &str = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";

/// What is listed of a plugin `one`, whose GPUs all have one uuid and one model.
async fn listed(containers: &str) -> String {
    let text = format!("{HEAD}{}", policy("one", "0x1234", containers));
    let fake = gpus(|_| vec![("uuid", "GPU-1"), ("model", "A1")]);
    let world = start(&text, [("one.wasm", fake)]);
    settled(&world, "one").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_units_that_a_runtime_cannot_tell_apart_are_not_both_given() {
    for (containers, value) in [
        ("env: {FAKE_VISIBLE_DEVICES: \"{property.uuid}\"}", "FAKE_VISIBLE_DEVICES=GPU-1"),
        ("env: {PCIDEVICE_FAKE: \"x{property.uuid}\"}", "PCIDEVICE_FAKE=xGPU-1"),
        ("cdi: {fake.com/gpu: \"{property.uuid}\"}", "fake.com/gpu=GPU-1"),
    ] {
        let refused = format!(
            "0000:00:01.0 {{1}}\n0000:00:02.0 {{}} {value} already stands for 0000:00:01.0 of plugin one: by it this one's pod would get that \
             one's device"
        );
        assert_eq!(listed(containers).await, refused);
    }
    // What does not choose devices may be the same: what is written out, what is of a kind, and ids, which are never the same.
    for containers in [
        "env: {FAKE_MODEL: \"{property.model}\", FAKE_UUID: \"{property.uuid}\"}",
        "env: {FAKE_VISIBLE_DEVICES: \"{ids}\", OTHER_VISIBLE_DEVICES: void}",
        "cdi: {fake.com/gpu: \"{ids}\", fake.com/libraries: driver}",
        "annotations: {fake.com/model: \"{property.model}\"}",
    ] {
        assert_eq!(listed(containers).await, "0000:00:01.0 {1}\n0000:00:02.0 {}", "{containers}");
    }
}

/// Names of CDI mean the same for every plugin; two plugins that set one variable are refused before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cdi_name_stands_for_one_unit_of_the_host() {
    let world = |containers: &str| {
        let both = [("one", "0x1234"), ("two", "0x9999")].map(|(name, vendor)| policy(name, vendor, containers));
        let of = |n: usize| vec![("uuid", if n == 0 { "GPU-1" } else { "GPU-2" })];
        start(&format!("{HEAD}{}", both.concat()), [("one.wasm", gpus(of)), ("two.wasm", gpus(of))])
    };
    let named = world("cdi: {fake.com/gpu: \"{property.uuid}\"}");
    assert_eq!(settled(&named, "one").await, "0000:00:01.0 {1}\n0000:00:02.0 {}");
    let offer = named.offer("fake.com/two").await;
    // It may have been listed before the other plugin was: their hardware has nothing in common.
    wait(&offer, |list| {
        let reasons = list.devices.iter().filter_map(|device| device.unhealthy.as_deref());
        reasons.filter(|why| why.contains("already stands for 0000:00:01.0 of plugin one")).count() == 1
    })
    .await;
    offer.allocate(&strings(&["0000:00:03.0"])).await.unwrap_err();
}
