//! The policy's order matters between plugins that may offer the same, and between no others.

use super::{TIMEOUT, World, settled};
use crate::allocations::Allocations;
use crate::loader::{LoadFailure, Loader};
use crate::plugins::Plugins;
use crate::testing::*;
use devgate_policy::PluginPolicy;
use devgate_types::component::Component;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Loads `slow.wasm` only when it may, and everything else at once.
struct Slow {
    others: Arc<dyn Loader>,
    may: Arc<AtomicBool>,
}

impl Loader for Slow {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        // A test that fails does not say that it may, and must end.
        let begun = Instant::now();
        while policy.name.as_str() == "slow" && !self.may.load(Ordering::SeqCst) && begun.elapsed() < TIMEOUT * 2 {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.others.load(policy)
    }

    fn digest(&self, _: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure> {
        Ok(None)
    }
}

/// A plugin `slow`, and after it `quick` with the two GPUs of vendor 0x1234.
fn start(slow: &str) -> (World, Arc<AtomicBool>) {
    let entry = |name: &str, grants: &str| {
        format!(
            "  {name}:\n    component: {{file: {name}.wasm}}\n    resources: [fake.com/{name}]\n    rename: [{{resource: fake.com/gpu, to: \
             fake.com/{name}}}]\n{grants}    health: {{check-every: 100ms, enumerate-every: 100ms}}\n"
        )
    };
    let quick = "    hardware: [{subsystem: pci, vendor: \"0x1234\", use: offer, nodes: [{subsystem: drm, name: \"card*\"}]}]\n";
    let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
    let policy = format!("{head}{}{}", entry("slow", slow), entry("quick", quick));
    let (node, may) = (node(), Arc::new(AtomicBool::new(false)));
    let plain = || Fake { allocate: Box::new(|_, _| Ok(devgate_types::Edits::default())), ..Fake::gpus() };
    let others = FakeLoader::with([("slow.wasm", plain()), ("quick.wasm", plain())]);
    let loader = Arc::new(Slow { others, may: Arc::clone(&may) });
    let plugins = Plugins::start(&parse(&policy), around(&node, loader, &Allocations::forgetful()));
    (World { node, plugins }, may)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_slow_plugin_keeps_no_others_devices_from_the_node() {
    let (world, may) = start(
        "    hardware: [{subsystem: pci, vendor: \"0x9999\", use: offer, nodes: [{subsystem: drm}]}, {subsystem: misc, name: kvm, use: offer}]\n    \
         host-nodes: {exclusive: [/dev/fuse]}\n",
    );
    let listed = tokio::time::timeout(TIMEOUT, settled(&world, "quick")).await.unwrap();
    assert_eq!(listed, "0000:00:01.0 {1}\n0000:00:02.0 {}");
    assert_eq!(world.plugins.offers().borrow().len(), 1);
    may.store(true, Ordering::SeqCst);
    assert_eq!(settled(&world, "slow").await, "0000:00:03.0 {}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_slow_plugin_before_may_offer_is_not_offered_before_it_has_spoken() {
    for slow in [
        // The same, what is beneath, what is above, a node of it.
        "    hardware: [{subsystem: pci, name: \"0000:00:02.0\", use: offer}]\n",
        "    hardware: [{subsystem: drm, name: renderD128, use: offer, nodes: [{access: rw}]}]\n",
        "    host-nodes: {exclusive: [/dev/dri/renderD128]}\n",
        "    host-nodes: {shared: [\"/dev/dri/card*\"]}\n",
    ] {
        let (world, may) = start(slow);
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert_eq!(world.plugins.offers().borrow().len(), 0, "{slow}");
        may.store(true, Ordering::SeqCst);
        let listed = settled(&world, "quick").await;
        assert!(listed.starts_with("0000:00:01.0 {1}"), "{slow}: {listed}");
    }
}
