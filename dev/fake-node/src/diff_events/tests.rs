use super::*;
use crate::{Change, RecordedNode};
use devgate_types::{NodeKind, NodeNumber};
use std::sync::Arc;

const NODE: &str = "\
P: /devices/pci0000:00/0000:00:01.0
E: SUBSYSTEM=pci
E: DRIVER=fakegpu
A: vendor=0x1234\\n

P: /devices/pci0000:00/0000:00:01.0/drm/card0
N: dri/card0
E: SUBSYSTEM=drm
E: DEVNAME=/dev/dri/card0
E: MAJOR=226
E: MINOR=0
A: dev=226:0\\n

K: 1000000 Linux version 6.18
";

const GPU: &str = "pci0000:00/0000:00:01.0";

/// A watched node, and what it has told so far, one event a line.
struct Told {
    node: RecordedNode,
    events: Arc<Mutex<Vec<NodeEvent>>>,
    _watch: devgate_node::Watch,
}

impl Told {
    fn of(node: &RecordedNode, kernel_log: bool) -> Self {
        let events: Arc<Mutex<Vec<NodeEvent>>> = Arc::default();
        let heard = Arc::clone(&events);
        let watch = node.watch(kernel_log, Arc::new(move |event| heard.lock().unwrap().push(event)));
        let node = node.clone();
        Self { node, events, _watch: watch }
    }

    fn take(&self) -> String {
        let one = |event: NodeEvent| match event {
            NodeEvent::Device(event) => {
                let node = event.node.map(|node| format!(" {node}")).unwrap_or_default();
                let words: String = event.words.iter().map(|(name, value)| format!(" {name}={value}")).collect();
                format!("{:?} {} {}{node}{words}", event.action, event.subsystem, event.device.location())
            }
            NodeEvent::Line(line) => format!("{} {}: {}", line.sequence, line.micros, line.text),
            other => format!("{other:?}"),
        };
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        events.into_iter().map(one).collect::<Vec<_>>().join("\n")
    }

    /// What is told of one change.
    fn after(&self, change: Change) -> String {
        self.node.apply(change).unwrap();
        self.take()
    }
}

fn set_driver(target: &str) -> Change {
    Change::SetLink { location: GPU.to_owned(), path: "driver".to_owned(), target: target.to_owned() }
}

#[test]
fn each_change_tells_what_the_kernel_would() {
    let told = Told::of(&RecordedNode::parse("test", NODE).unwrap(), true);
    assert_eq!(told.take(), "Log(Recorded)\n0 1000000: Linux version 6.18");
    let vendor =
        Change::SetAttribute { location: GPU.to_owned(), path: "vendor".to_owned(), value: b"0xffff\n".to_vec() };
    assert_eq!(told.after(vendor), "", "the kernel says nothing of an attribute");
    assert_eq!(told.after(Change::Announce(GPU.to_owned())), format!("Change pci {GPU}"));
    let announce = |words: &str| Change::AnnounceWords { location: GPU.to_owned(), words: words.to_owned() };
    assert_eq!(told.after(announce("WEDGED=rebind\nA=b=c")), format!("Change pci {GPU} WEDGED=rebind A=b=c"));
    for bad in ["WEDGED", "=x", "A=b\n\nC=d", "A=\0"] {
        assert!(told.node.apply(announce(bad)).is_err(), "{bad:?}");
    }
    assert!(told.node.text().unwrap().contains(&format!("U: /devices/{GPU}=WEDGED=rebind\\nA=b=c\n")));
    let rebound = told.after(set_driver("../../../bus/pci/drivers/vfio-pci"));
    assert_eq!(rebound, format!("Unbind pci {GPU}\nBind pci {GPU}"));
    let unbind = Change::RemoveAttribute { location: GPU.to_owned(), path: "driver".to_owned() };
    assert_eq!(told.after(unbind), format!("Unbind pci {GPU}"));
    let number = NodeNumber { kind: NodeKind::Character, major: 195, minor: 0 };
    let path = "/dev/acme0".to_owned();
    assert_eq!(told.after(Change::AddNode { path: path.clone(), number }), "Path(\"/dev/acme0\")");
    assert_eq!(told.after(Change::RemoveNode(path)), "Path(\"/dev/acme0\")");
    let file = |path: &str| Change::SetFile { path: path.to_owned(), value: b"1".to_vec() };
    assert_eq!(told.after(file("/proc/driver/x")), "", "procfs tells nothing");
    assert_eq!(
        told.after(file("/opt/vendor/conf")),
        "Path(\"/opt\")\nPath(\"/opt/vendor\")\nPath(\"/opt/vendor/conf\")"
    );
    assert_eq!(told.after(file("/opt/vendor/conf")), "", "nothing has changed");
    assert_eq!(told.after(Change::RemoveFile("/opt/vendor/conf".to_owned())), "Path(\"/opt/vendor/conf\")");
    let line = Change::Say { micros: 2_000_000, text: "ACME: Fault (PCI:0000:05:00): 79".to_owned() };
    assert_eq!(told.after(line), "1 2000000: ACME: Fault (PCI:0000:05:00): 79");
    let gone = told.after(Change::RemoveDevice(GPU.to_owned()));
    let expected = format!("Remove drm {GPU}/drm/card0 /dev/dri/card0\nRemove pci {GPU}\nPath(\"/dev/dri/card0\")");
    assert_eq!(gone, expected, "children first");
    let devices = NODE.split("K: ").next().unwrap().to_owned();
    let come = told.after(Change::AddDevices(devices));
    assert!(come.starts_with(&format!("Add pci {GPU}\nAdd drm {GPU}/drm/card0 /dev/dri/card0\n")), "{come}");
    assert!(told.node.apply(Change::Announce("nowhere".to_owned())).is_err());
    assert_eq!(told.take(), "");
}

#[test]
fn a_recording_that_is_read_again_tells_what_is_different() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.umockdev");
    std::fs::write(&file, NODE).unwrap();
    let node = RecordedNode::open(&file).unwrap();
    let (told, deaf) = (Told::of(&node, true), Told::of(&node, false));
    told.take();
    std::fs::write(&file, format!("{}K: 1000000 Linux version 6.18\nK: 3000000 lost\n", "")).unwrap();
    node.reload(&file).unwrap();
    let heard = told.take();
    assert!(heard.starts_with("Remove drm") && heard.ends_with("\n1 3000000: lost"), "{heard}");
    assert!(!deaf.take().contains("lost"), "who did not ask is not told");
    std::fs::write(&file, "K: 5 another boot\n").unwrap();
    node.reload(&file).unwrap();
    assert_eq!(told.take(), "Gap\n0 5: another boot");
}

/// What a driver has announced is told once, of a device that is still there.
#[test]
fn an_announcement_that_is_added_to_a_recording_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.umockdev");
    let text = format!("{NODE}U: /devices/{GPU}\n");
    std::fs::write(&file, &text).unwrap();
    let node = RecordedNode::open(&file).unwrap();
    let told = Told::of(&node, false);
    std::fs::write(&file, format!("{text}U: /devices/gone\nU: /devices/{GPU}=A=b\\nC=d\n")).unwrap();
    node.reload(&file).unwrap();
    assert_eq!(told.take(), format!("Change pci {GPU} A=b C=d"));
    std::fs::write(&file, NODE).unwrap();
    node.reload(&file).unwrap();
    assert_eq!(told.take(), "");
    for bad in ["U: pci/0", "U: /devices/", "U: /devices/../x", "U: /devices/x=A", "U: /devices/x=A=\\377"] {
        assert!(RecordedNode::parse("test", &format!("{bad}\n")).is_err(), "{bad}");
    }
}

#[test]
fn nobody_is_told_after_the_watch_is_dropped() {
    let node = RecordedNode::parse("test", NODE).unwrap();
    let Told { events, _watch, .. } = Told::of(&node, true);
    drop(_watch);
    events.lock().unwrap().clear();
    node.apply(Change::Announce(GPU.to_owned())).unwrap();
    assert!(events.lock().unwrap().is_empty());
}

#[test]
fn lines_of_the_log_are_the_kernels() {
    let said = |line: &str| RecordedNode::parse("test", line).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(said("K: 1 a\nK: 1 b\n"), Ok(()));
    for bad in ["K: 1", "K: x y", "K: +1 y", "K: 2 a\nK: 1 b", "K: 1 na\u{ef}ve"] {
        assert!(said(bad).is_err(), "{bad}");
    }
}

#[test]
fn its_log_is_its_own() {
    let node = RecordedNode::parse("test", NODE).unwrap();
    assert_eq!(node.events().log_source(), devgate_node::LogSource::Recorded);
}
