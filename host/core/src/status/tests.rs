use super::{AllocationEnd, CallKind, Nothing, PluginStatus, RefusalKind, State, When};
use crate::allocations::Allocations;
use crate::holders::{Holder, Holders};
use crate::offer::{AllocateError, Offer};
use crate::plugins::Plugins;
use crate::testing::*;
use crate::{LoadFailure, Loader, StatusReader};
use devgate_fake_node::Change;
use devgate_policy::PluginPolicy;
use devgate_types::component::Component;
use devgate_types::{CallError, HostFault, ResourceName, Verdict};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, SystemTime};

const TIMEOUT: Duration = Duration::from_secs(20);

fn start(policy: &str, fakes: impl IntoIterator<Item = (&'static str, Fake)>) -> Plugins {
    let allocations = Allocations::forgetful();
    Plugins::start(&parse(policy), around(&node(), FakeLoader::with(fakes), &allocations))
}

/// The first plugin's status, as soon as it is as wanted.
async fn seen(watch: &StatusReader, wanted: impl Fn(&PluginStatus) -> bool) -> PluginStatus {
    let look = async {
        loop {
            match watch.status().into_iter().next().filter(|status| wanted(status)) {
                Some(status) => return status,
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let last = || format!("{:#?}", watch.status());
    tokio::time::timeout(TIMEOUT, look).await.unwrap_or_else(|_| panic!("{}", last()))
}

async fn offer(plugins: &Plugins) -> Arc<dyn Offer> {
    let mut offers = plugins.offers();
    let offers = tokio::time::timeout(TIMEOUT, offers.wait_for(|all| !all.is_empty()));
    Arc::clone(&offers.await.unwrap().unwrap()[0])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_serves_says_what_it_has_and_what_its_calls_took() {
    let mut fake = Fake::gpus();
    fake.profile.sha256 = Some([0xab; 32]);
    fake.health = Box::new(|_, units| {
        let verdict = |unit: &devgate_types::Unit| match unit.id.as_str() {
            "0000:00:02.0" => Verdict::Unhealthy("too\nhot".into()),
            _ => Verdict::Healthy,
        };
        Ok(units.iter().map(verdict).collect())
    });
    let plugins = start(POLICY, [("fake.wasm", fake)]);
    let offer = offer(&plugins).await;
    offer.allocate(&["0000:00:01.0".to_owned()]).await.unwrap();
    let refused = offer.allocate(&["0000:00:02.0".to_owned()]).await.unwrap_err();
    assert!(matches!(refused, AllocateError::Refused(_)));
    offer.allocate(&["no such".to_owned()]).await.unwrap_err();

    let status = seen(&plugins.status_reader(), |status| status.state == State::Serving).await;
    assert_eq!((status.name.as_str(), status.reason.as_ref()), ("gpus", None));
    assert_eq!(status.component.sha256, Some("ab".repeat(32)));
    let [gpus] = &status.resources[..] else { panic!("{status:#?}") };
    let devices: Vec<_> = gpus
        .devices
        .iter()
        .map(|d| format!("{} {:?} {} {} {:?}", d.id, d.unhealthy, d.since.is_some(), d.held, d.numa_nodes))
        .collect();
    let expected = ["0000:00:01.0 None false true {1}", "0000:00:02.0 Some(\"too\\\\nhot\") true false {}"];
    assert_eq!(devices, expected);
    assert_eq!(
        status.allocations.into_iter().collect::<Vec<_>>(),
        [(AllocationEnd::Given, 1), (AllocationEnd::Unknown, 1), (AllocationEnd::Refused, 1)]
    );
    let refusals: Vec<_> = status.refusals.iter().map(|refusal| refusal.text.as_str()).collect();
    let expected = [
        "plugin gpus: resource fake.com/gpu: device 0000:00:02.0 is unhealthy: too\\nhot",
        "plugin gpus: resource fake.com/gpu: there is no device no such",
    ];
    assert_eq!(refusals, expected);
    let calls: Vec<_> = status.calls.iter().map(|c| (c.call, c.count > 0, c.failed + c.guest + c.host)).collect();
    assert_eq!(calls, [(CallKind::Enumerate, true, 0), (CallKind::Health, true, 0), (CallKind::Allocate, true, 0)]);
    assert_eq!(plugins.status_reader().late(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_fails_says_why_and_what_it_had_stands_until_it_is_quarantined() {
    let broken = Arc::new(AtomicBool::new(false));
    let mut fake = Fake::gpus();
    let seen_broken = Arc::clone(&broken);
    fake.health = Box::new(move |_, units| {
        if seen_broken.load(Ordering::SeqCst) {
            return Err(CallError::Host(HostFault("no luck".into())));
        }
        Ok(vec![Verdict::Healthy; units.len()])
    });
    let plugins = start(&POLICY.replace("stale-after: 1s", "stale-after: 3s"), [("fake.wasm", fake)]);
    let watch = plugins.status_reader();
    let status = seen(&watch, |status| status.state == State::Serving && !status.resources.is_empty()).await;
    assert_eq!(status.reason, None);
    broken.store(true, Ordering::SeqCst);
    let status = seen(&watch, |status| status.state == State::Failing).await;
    assert_eq!(status.reason.as_deref(), Some("plugin gpus: health host fault: no luck"));
    assert!(status.retry_at.is_some());
    let status = seen(&watch, |status| status.state == State::Quarantined).await;
    let health = status.calls.iter().find(|calls| calls.call == CallKind::Health).unwrap();
    assert!(health.host > 0 && health.count > health.host, "{health:?}");
    broken.store(false, Ordering::SeqCst);
    let status = seen(&watch, |status| status.state == State::Serving).await;
    assert_eq!((status.reason, status.retry_at), (None, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_without_a_component_or_without_hardware_says_so() {
    let plugins = start(POLICY, []);
    let status = seen(&plugins.status_reader(), |status| status.state == State::Quarantined).await;
    assert_eq!(status.reason.as_deref(), Some("plugin gpus: fake.wasm: no such file"));

    let elsewhere = policy_of("    hardware: [{subsystem: pci, vendor: \"0xbeef\", use: offer}]\n");
    let plugins = start(&elsewhere, []);
    let status = seen(&plugins.status_reader(), |status| status.state == State::Idle).await;
    assert!(status.reason.is_none() && status.resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_component_asks_for_in_vain_is_counted_every_time_and_shown_once() {
    let mut fake = Fake::gpus();
    fake.health = Box::new(|host, units| {
        assert!(host.node_at("/dev/mem").is_err());
        Ok(vec![Verdict::Healthy; units.len()])
    });
    let plugins = start(POLICY, [("fake.wasm", fake)]);
    let often = |status: &PluginStatus| status.refused.get(&RefusalKind::Capability) > Some(&3);
    let status = seen(&plugins.status_reader(), often).await;
    let refusals: Vec<_> = status.refusals.iter().map(|r| (r.kind, r.text.as_str(), r.times > 3)).collect();
    let text = "plugin gpus: the component asked for node \"/dev/mem\": no entry of the policy's host-nodes matches it";
    assert_eq!(refusals, [(RefusalKind::Capability, text, true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn holders_are_told_by_replica_and_can_be_left_out() {
    let plugins = start(&POLICY.replace("    health:", "    replicas: 2\n    health:"), [("fake.wasm", Fake::gpus())]);
    let status = seen(&plugins.status_reader(), |status| !status.resources.is_empty()).await;
    let holder = Holder { namespace: "team".into(), pod: "train\u{1b}[2J".into(), container: "main".into() };
    let gpus = ResourceName::try_new("fake.com/gpu").unwrap();
    let first = (gpus.clone(), "0000:00:01.0::1".to_owned());
    let holders = Holders {
        seen: BTreeMap::from([(first.clone(), vec![holder.clone()]), ((gpus, "elsewhere".to_owned()), vec![holder])]),
        recorded: None,
        uids: [(first, "u\n1".to_owned())].into(),
        poll: 1,
        process: 1,
        begun: std::time::Instant::now(),
    };
    let status = status.with_holders(&holders);
    let [held, free] = &status.resources[0].devices[..] else { panic!("{status:#?}") };
    let [one] = &held.holders[..] else { panic!("{held:#?}") };
    assert_eq!((one.id.as_str(), one.pod.as_str()), ("0000:00:01.0::1", "train\\u{1b}[2J"));
    assert_eq!(one.uid.as_deref(), Some("u\\n1"));
    assert_eq!(free.holders, []);
    let text = serde_json::to_string(&status.without_holders()).unwrap();
    assert!(!text.contains("train") && !text.contains("team"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_is_the_same_after_it_was_written_and_read() {
    let plugins = start(POLICY, [("fake.wasm", Fake::gpus())]);
    let status = seen(&plugins.status_reader(), |status| !status.resources.is_empty()).await;
    let text = serde_json::to_string(&status).unwrap();
    let read: PluginStatus = serde_json::from_str(&text).unwrap();
    // Moments are written to the second.
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

/// Fails the first time, and waits for the test the second time.
struct Pulling {
    loads: AtomicUsize,
    go_on: Mutex<mpsc::Receiver<()>>,
}

impl Loader for Pulling {
    fn load(&self, _: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        if self.loads.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err(LoadFailure::Host("plugin gpus: component x: its registry answered 503".into()));
        }
        let _ = self.go_on.lock().unwrap().recv();
        Ok(Arc::new(Fake::gpus()))
    }

    fn digest(&self, _: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure> {
        Ok(None)
    }

    fn progress(&self, _: &PluginPolicy) -> Option<String> {
        (self.loads.load(Ordering::SeqCst) > 1).then(|| "pulling from x".to_owned())
    }
}

/// An attempt may take longer than the pause before it: the status says meanwhile why the last one failed.
#[tokio::test(flavor = "multi_thread")]
async fn why_a_pull_failed_stands_while_it_is_tried_again() {
    let (release, go_on) = mpsc::channel();
    let loader = Arc::new(Pulling { loads: AtomicUsize::new(0), go_on: Mutex::new(go_on) });
    let plugins = Plugins::start(&parse(POLICY), around(&node(), loader, &Allocations::forgetful()));
    let watch = plugins.status_reader();
    let why = "plugin gpus: component x: its registry answered 503";
    let status = seen(&watch, |status| status.reason.as_deref() == Some(why)).await;
    assert!(status.state == State::Quarantined && status.retry_at.is_some(), "{status:#?}");
    let since = status.since;
    let status = seen(&watch, |status| status.retry_at.is_none()).await;
    assert_eq!(
        status.reason.as_deref(),
        Some("plugin gpus: component x: its registry answered 503\ntried again now: pulling from x")
    );
    assert_eq!((status.state, status.since), (State::Quarantined, since), "it fails all the time");
    release.send(()).unwrap();
    let status = seen(&watch, |status| status.state == State::Serving).await;
    assert_eq!(status.reason, None);
}

/// Hours may lie between a device that went and the one that comes: why the component could not be had then is no news.
#[tokio::test(flavor = "multi_thread")]
async fn why_a_pull_failed_does_not_stand_after_nothing_was_needed() {
    let (_release, go_on) = mpsc::channel();
    let loader = Arc::new(Pulling { loads: AtomicUsize::new(0), go_on: Mutex::new(go_on) });
    let mut policy = POLICY.to_owned();
    for line in POLICY.lines().filter(|line| line.contains("subsystem: misc")) {
        policy = policy.replace(&format!("{line}\n"), "");
    }
    let node = node();
    let plugins = Plugins::start(&parse(&policy), around(&node, loader, &Allocations::forgetful()));
    let watch = plugins.status_reader();
    seen(&watch, |status| status.retry_at.is_some()).await;
    let vendor = |value: &str| {
        for device in ["0000:00:01.0", "0000:00:02.0"] {
            let change = Change::SetAttribute {
                location: format!("pci0000:00/{device}"),
                path: "vendor".into(),
                value: value.into(),
            };
            node.apply(change).unwrap();
        }
    };
    vendor("0x4321\n");
    seen(&watch, |status| status.state == State::Idle).await;
    vendor("0x1234\n");
    let status = seen(&watch, |status| status.reason.is_some()).await;
    assert_eq!((status.state, status.reason.as_deref()), (State::Loading, Some("pulling from x")));
}

/// Until it returns, it is one of those that hang; that it was given up on stays counted.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_given_up_hangs_until_it_returns() {
    let (release, go_on) = mpsc::channel::<()>();
    let go_on = Mutex::new(go_on);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(move |host| {
        let _ = go_on.lock().unwrap().recv();
        gpu_pool(host)
    });
    let policy = POLICY.replace("    health: {", "    limits: {deadline: 100ms}\n    health: {");
    assert_ne!(policy, POLICY);
    let plugins = start(&policy, [("fake.wasm", fake)]);
    let watch = plugins.status_reader();
    let status = seen(&watch, |status| status.hanging > 0).await;
    assert_eq!(status.given_up, 1, "{status:#?}");
    drop(release);
    let status = seen(&watch, |status| status.hanging == 0).await;
    assert!(status.given_up >= 1, "{status:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn allocations_fail_until_one_is_given_or_something_else_is_in_force() {
    let recorder = super::StatusRecorder::default();
    let failing = |ago: Duration| recorder.status(When(SystemTime::now() + ago)).allocations_failing;
    let (now, later) = (Duration::ZERO, Duration::from_secs(31 * 60));
    let guest = AllocateError::Guest("trapped".into());
    recorder.record_allocation(Some(&AllocateError::Refused("is unhealthy".into())));
    assert_eq!(failing(now), 0, "no fault of theirs");
    recorder.record_allocation(Some(&guest));
    recorder.record_allocation(Some(&AllocateError::Host("no disk".into())));
    assert_eq!((failing(now), failing(later)), (2, 0), "it was long ago");
    recorder.record_allocation(Some(&guest));
    assert_eq!(failing(later), 3, "all of them fail");
    recorder.record_allocation(None);
    assert_eq!(failing(now), 0);
    recorder.record_allocation(Some(&guest));
    recorder.clear_failures();
    assert_eq!(failing(now), 0);
}

/// Of what is listed for its pods alone no other pod gets anything.
#[test]
fn what_offers_nothing_says_why() {
    let nothing =
        |listed, rejected, unread, left_out| Nothing::of(listed, rejected, unread, left_out).map(Nothing::code);
    assert_eq!(nothing(true, true, true, true), None);
    assert_eq!(nothing(false, true, true, false), Some("all-rejected"));
    assert_eq!(nothing(false, true, true, true), Some("nothing-listed"), "a filter is meant");
    assert_eq!(nothing(false, false, true, false), Some("nothing-described"));
    assert_eq!(nothing(false, false, false, false), Some("nothing-listed"));
}
