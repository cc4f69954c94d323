//! What wakes whom.

use super::*;
use crate::inventory::Inventory;
use crate::testing::*;
use devgate_fake_node::{Change, RecordedNode};
use devgate_types::component::Capabilities;
use devgate_types::{NodeKind, NodeNumber};

const GPU: &str = "pci0000:00/0000:00:01.0";

/// What a plugin with this policy and the units of the recorded node is asked for by changes.
struct Woken {
    node: RecordedNode,
    wake: Arc<Wake>,
    _watcher: Watcher,
}

impl Woken {
    fn with(policy: &str, units: bool) -> Self {
        let node = node();
        let wake: Arc<Wake> = Arc::default();
        let policy = plugin_policy(policy);
        let mut inventory = Inventory::default();
        if units {
            inventory = Inventory::ask(&Fake::gpus(), &mut call_host()).unwrap().0;
        }
        let watcher = Watcher::new(node.clone().into());
        watcher.register(PluginIndex(0), Interest::new(&policy, &inventory, Arc::clone(&wake), matched_lines(&policy)));
        Self { node, wake, _watcher: watcher }
    }

    /// What is asked for after a change; nothing if the plugin sleeps on.
    fn by(&self, change: Change) -> Option<Asked> {
        self.node.apply(change).unwrap();
        self.wake.take()
    }
}

fn announce(location: &str) -> Change {
    Change::Announce(location.to_owned())
}

#[test]
fn events_wake_whom_they_may_be_about() {
    let gpus = Woken::with(POLICY, true);
    let all = Some(Asked::HARDWARE | Asked::UNITS);
    assert_eq!(gpus.by(announce(GPU)), Some(Asked::UNITS));
    assert_eq!(gpus.by(announce(&format!("{GPU}/drm/card0"))), Some(Asked::UNITS), "a part of it");
    assert_eq!(gpus.by(Change::RemoveNode("/dev/dri/card0".into())), all);
    assert_eq!(gpus.by(Change::RemoveNode("/dev/fuse".into())), all, "a node of the policy's host-nodes");
    let elsewhere = Change::SetFile { path: "/etc/conf".into(), value: vec![] };
    assert_eq!(gpus.by(elsewhere), None);
    assert_eq!(gpus.by(Change::RemoveDevice(GPU.into())), all);
}

#[test]
fn events_about_others_wake_nobody() {
    let policy = policy_of("    hardware: [{subsystem: usb, use: offer}]\n");
    let usb = Woken::with(&policy, false);
    assert_eq!(usb.by(announce(GPU)), None);
    assert_eq!(usb.by(Change::RemoveDevice(GPU.into())), None);
    let hub = "P: /devices/pci0000:00/usb1\nE: SUBSYSTEM=usb\n";
    assert_eq!(usb.by(Change::AddDevices(hub.into())), Some(Asked::UNITS), "its hardware is there at last");
}

#[test]
fn files_and_nodes_of_the_policy_wake_it_wherever_their_directory_is_made() {
    let policy = policy_of(
        "    files: [/opt/vendor/etc/*.conf, /proc/driver/x]\n    host-nodes: {shared: [\"/dev/vendor/[0-9]*\"]}\n",
    );
    let vendor = Woken::with(&policy, false);
    let all = Some(Asked::HARDWARE | Asked::UNITS);
    let file = |path: &str| Change::SetFile { path: path.into(), value: b"1".to_vec() };
    assert_eq!(vendor.by(file("/opt/other")), all, "the way to it is made");
    assert_eq!(vendor.by(file("/opt/another")), None, "beside the way");
    assert_eq!(vendor.by(file("/opt/vendor/etc/a.conf")), all);
    let number = NodeNumber { kind: NodeKind::Character, major: 240, minor: 0 };
    let path = "/dev/vendor/0".to_owned();
    assert_eq!(vendor.by(Change::AddNode { path, number }), all);
}

#[test]
fn a_unit_is_about_what_is_above_and_beneath_it() {
    let mut host = call_host();
    let interest = |inventory| {
        let policy = plugin_policy(&policy_of("    hardware: [{subsystem: none, use: offer}]\n"));
        Interest::new(&policy, &inventory, Arc::default(), matched_lines(&policy))
    };
    let devices = host.devices("pci").unwrap();
    assert_eq!(devices.len(), 2);
    let (inventory, rejected) = Inventory::ask(&Fake::gpus(), &mut host).unwrap();
    assert_eq!(rejected, []);
    let interest = interest(inventory);
    let node = node();
    let card = node.devices_named("card0").unwrap().remove(0);
    let parent = node.parent(&card).unwrap();
    let stranger = node.devices_named("fuse").unwrap().remove(0);
    let event = |device: &devgate_node::DevicePath| devgate_node::DeviceEvent {
        action: DeviceAction::Change,
        device: device.clone(),
        subsystem: "x".into(),
        node: None,
        words: Vec::new(),
    };
    let about = |device| {
        interest.tell(1, &NodeEvent::Device(event(device)));
        interest.take()
    };
    assert!(about(&card) && about(&parent));
    assert!(!about(&stranger));
}

fn events(matched_lines: &crate::kernel_log::MatchedLines) -> usize {
    matched_lines.since("", 10).unwrap().events.len()
}

fn matched_lines(policy: &devgate_policy::PluginPolicy) -> Arc<crate::kernel_log::MatchedLines> {
    Arc::new(crate::kernel_log::MatchedLines::new(policy.kernel_log.clone(), None))
}

/// Lines that were there before, those that come, and nothing of what no pattern matches; a plugin that comes later gets them all.
#[test]
fn captures_wake_and_late_ones_get_the_lines_from_the_start() {
    let node = RecordedNode::parse("test", "K: 5 ACME: Fault (PCI:0000:05:00): 13,\n").unwrap();
    let policy = plugin_policy(&policy_of("    kernel-log: ['^ACME: Fault .PCI:([0-9a-f:]+).: ([0-9]+),']\n"));
    let watcher = Watcher::new(node.clone().into());
    let register = |index: usize| {
        let (wake, matched_lines): (Arc<Wake>, _) = (Arc::default(), matched_lines(&policy));
        let interest = Interest::new(&policy, &Inventory::default(), Arc::clone(&wake), Arc::clone(&matched_lines));
        watcher.register(PluginIndex(index), interest);
        (wake, matched_lines)
    };
    let (wake, first) = register(0);
    assert_eq!((events(&first), wake.take()), (1, Some(Asked::HEALTH)));
    let line = |text: &str| {
        node.apply(Change::Say { micros: 9, text: text.to_owned() }).unwrap();
    };
    line("usb 1-1: new device");
    assert_eq!(wake.take(), None);
    line("ACME: Fault (PCI:0000:05:00): 79,");
    assert_eq!((events(&first), wake.take()), (2, Some(Asked::HEALTH)));
    let (_, second) = register(1);
    assert_eq!((events(&second), events(&first)), (2, 2), "and no plugin gets one twice");
}

/// The first watch goes on until another one has taken its place, which tells all lines again.
#[test]
fn what_an_earlier_watch_says_makes_nothing_pass_for_known() {
    let policy = plugin_policy(&policy_of("    kernel-log: ['^ACME: Fault: ([0-9]+)']\n"));
    let matched_lines = matched_lines(&policy);
    let interest = Interest::new(&policy, &Inventory::default(), Arc::default(), Arc::clone(&matched_lines));
    let say = |watch, sequence| {
        let text = format!("ACME: Fault: {sequence}");
        let line = devgate_node::KernelLine { sequence, micros: sequence, text };
        interest.tell(watch, &NodeEvent::Line(line));
    };
    let source = |watch| interest.tell(watch, &NodeEvent::Log(LogSource::Kmsg));
    // Of the watch that another plugin has, before and after its own has begun.
    say(1, 7);
    assert!(interest.matched_lines.is_new());
    interest.matched_lines.begin(2);
    assert!(!interest.matched_lines.is_new() && !interest.take());
    say(1, 8);
    interest.tell(1, &NodeEvent::Gap);
    source(1);
    assert!(matched_lines.since("", 1).is_err(), "nothing has been read for it");
    source(2);
    (1..=8).for_each(|n| say(2, n));
    assert_eq!((events(&matched_lines), interest.take()), (8, true));
    // A third plugin's: it tells all again, and none says more than it.
    source(3);
    (1..=9).for_each(|n| say(3, n));
    assert_eq!((events(&matched_lines), interest.take()), (9, true));
    say(2, 99);
    assert_eq!((events(&matched_lines), interest.take()), (9, false));
}

#[test]
fn a_log_that_fails_or_is_another_one_is_told() {
    let policy = plugin_policy(&policy_of("    kernel-log: ['^(x)']\n"));
    let matched_lines = matched_lines(&policy);
    let interest = Interest::new(&policy, &Inventory::default(), Arc::default(), Arc::clone(&matched_lines));
    interest.matched_lines.begin(1);
    let source = |source| {
        interest.tell(1, &NodeEvent::Log(source));
        interest.take()
    };
    let line = |sequence| {
        let (micros, text) = (1, "x".to_owned());
        interest.tell(1, &NodeEvent::Line(devgate_node::KernelLine { sequence, micros, text }));
        interest.take()
    };
    assert!(!source(LogSource::Kmsg), "no plugin has asked yet");
    assert!(line(500));
    let cursor = matched_lines.since("", 10).unwrap().cursor;
    let (why, no_kmsg) = ("it fails".to_owned(), "it fails".to_owned());
    assert!(source(LogSource::Off { why }));
    let refused = matched_lines.since(&cursor, 10).unwrap_err();
    assert_eq!(refused.message, "the kernel's log: it fails");
    assert!(source(LogSource::Kmsg));
    assert!(!matched_lines.since(&cursor, 10).unwrap().gap, "where it was");
    // The same lines have other numbers there, smaller or greater.
    assert!(source(LogSource::Syslog { no_kmsg }));
    assert!(line(8) && line(9_000));
    let batch = matched_lines.since(&cursor, 10).unwrap();
    assert_eq!((batch.events.len(), batch.gap), (2, true));
    assert!(!matched_lines.since(&batch.cursor, 10).unwrap().gap);
    assert!(source(LogSource::Kmsg));
    assert!(matched_lines.since(&batch.cursor, 10).unwrap().gap);
}

/// Every process that is done with `/dev/null` closes it.
#[test]
fn what_is_beside_the_paths_of_the_policy_wakes_nobody() {
    let policy = plugin_policy(&policy_of(
        "    files: [/etc/vendor/*.conf, \"/opt/*/etc/conf\"]\n    host-nodes: {shared: [\"/dev/vendor[0-9]\"]}\n",
    ));
    let interest = Interest::new(&policy, &Inventory::default(), Arc::default(), matched_lines(&policy));
    let near = |path: &str| {
        interest.tell(1, &NodeEvent::Path(path.to_owned()));
        interest.take()
    };
    for path in ["/dev/null", "/dev/vendor", "/etc/vendor/x", "/etc/passwd", "/etc/vendors"] {
        assert!(!near(path), "{path}");
    }
    for path in ["/dev/vendor1", "/dev", "/etc/vendor/a.conf", "/etc/vendor", "/etc", "/opt/x"] {
        assert!(near(path), "{path}");
    }
    let told: Vec<_> = interest.directories.iter().map(|(path, told)| (path.as_str(), *told)).collect();
    let (entries, contents) = (Told::Entries, Told::Contents);
    assert_eq!(told, [("/dev", entries), ("/etc/vendor", contents), ("/opt", contents)]);
}

#[test]
fn what_a_driver_says_is_kept_for_who_holds_its_device() {
    let gpus = Woken::with(POLICY, true);
    let heard = |name: &str| {
        let device = gpus.node.devices_named(name).unwrap().remove(0);
        gpus._watcher.uevents().of(&device).unwrap()
    };
    let words = |location: &str| Change::AnnounceWords { location: location.into(), words: "WEDGED=rebind".into() };
    gpus.node.stop_clock(42_000);
    gpus.by(words(&format!("{GPU}/drm/card0"))).unwrap();
    let events = heard("card0");
    assert_eq!((events.len(), events[0].millis, events[0].words[0].value.as_str()), (1, 42_000, "rebind"));
    let usb = Woken::with(&policy_of("    hardware: [{subsystem: usb, use: offer}]\n"), false);
    assert_eq!(usb.by(words(&format!("{GPU}/drm/card0"))), None);
    let card = usb.node.devices_named("card0").unwrap().remove(0);
    assert_eq!(usb._watcher.uevents().of(&card).unwrap(), [], "no plugin is about it");
    gpus.node.apply(Change::RemoveDevice(format!("{GPU}/drm/card0"))).unwrap();
    assert_eq!(gpus._watcher.uevents().of(&card).unwrap(), []);
}
