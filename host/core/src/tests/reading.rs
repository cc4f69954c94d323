//! What a component may look at, and where that ends.

use crate::testing::*;
use devgate_fake_node::Change;
use devgate_types::FailureKind;
use devgate_types::component::{Capabilities, Denied};
use std::sync::Arc;

/// What a component reads it must have been granted; and some things no component is.
#[test]
fn reading_stops_at_the_grants() {
    let mut host = call_host();
    let gpu = host.devices("pci").unwrap()[0];
    assert_eq!(host.attribute(gpu, "vendor"), Ok("0x1234".into()));
    let said: Vec<_> = ["secret_key", "config", "../0000:00:03.0/vendor", "/etc/passwd", "", "nope", "drm"]
        .into_iter()
        .map(|path| format!("{path:?}: {:?}", host.attribute(gpu, path).unwrap_err()))
        .collect();
    insta::assert_snapshot!(said.join("\n"));
    let cards = host.children(gpu, "drm").unwrap();
    assert_eq!(cards.len(), 2, "beneath a granted device");
    assert!(host.device_by_name("pci", "0000:00:03.0").is_err(), "not granted, and looks as if it were not there");
    assert!(host.device_by_name("drm", "card2").is_err());
    assert!(host.device_by_name("drm", "card0").is_ok());
    let uinput = host.device_by_name("misc", "uinput").unwrap();
    assert_eq!(host.nodes(uinput), Ok(vec![]), "the policy offers it, and the host does not give it");
    assert!(host.attribute(devgate_types::DeviceHandle(99), "vendor").is_err());
}

#[test]
fn reading_more_than_the_limit_ends_the_call() {
    let policy = POLICY.replace("    health:", "    limits: {read: 4KiB}\n    health:");
    let grants = Arc::new(crate::grants::Grants::new(node().into(), plugin_policy(&policy)));
    let mut host = host_of(grants);
    let gpu = host.devices("pci").unwrap()[0];
    let reads = (0..10_000).find_map(|n| host.attribute(gpu, "vendor").err().map(|error| (n, error)));
    let (n, error) = reads.expect("the limit ends it");
    assert!(n > 100 && format!("{error:?}").contains("Limit(Read("), "{n} {error:?}");
}

/// A granted bridge or hub opens nothing of what is behind it, by whichever way a component asks.
#[test]
fn descent_stops_at_another_device_of_a_bus() {
    const BRIDGE: &str = "\
P: /devices/pci0000:00/0000:00:1c.0
E: SUBSYSTEM=pci
A: class=0x060400\\n
A: power/control=auto\\n
L: neighbour=0000:01:00.0

P: /devices/pci0000:00/0000:00:1c.0/0000:01:00.0
E: SUBSYSTEM=pci
E: DRIVER=secret
A: vendor=0x9999\\n

P: /devices/pci0000:00/0000:00:1c.0/0000:01:00.0/net/eth0
E: SUBSYSTEM=net
A: address=aa:bb\\n
";
    const GRANT: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  bridge:
    component: {file: fake.wasm}
    resources: [fake.com/bridge]
    hardware: [{subsystem: pci, name: '0000:00:1c.0'}]
";
    let node = devgate_fake_node::RecordedNode::parse("bridge", BRIDGE).unwrap();
    let grants = Arc::new(crate::grants::Grants::new(node.clone().into(), plugin_policy(GRANT)));
    let mut host = host_of(grants);
    let bridge = host.devices("pci").unwrap();
    assert_eq!(bridge.len(), 1);
    let bridge = bridge[0];
    assert_eq!(host.attribute(bridge, "power/control"), Ok("auto".into()), "a directory of its own");
    assert_eq!(host.children(bridge, "pci"), Ok(vec![]));
    assert_eq!(host.children(bridge, "net"), Ok(vec![]));
    assert!(host.device_by_name("net", "eth0").is_err());
    assert!(host.attribute(bridge, "0000:01:00.0/vendor").is_err());
    assert!(host.attribute_bytes(bridge, "0000:01:00.0/vendor", 0, 8).is_err());
    assert!(host.attribute(bridge, "0000:01:00.0/net/eth0/address").is_err());
    assert!(host.entries(bridge, "0000:01:00.0").is_err());
    assert!(host.link(bridge, "0000:01:00.0/driver").is_err());
    assert!(host.related(bridge, "0000:01:00.0/net/eth0/device").is_err());
    assert!(host.related(bridge, "neighbour").is_err(), "by a link of its own");
    // And nothing of what is above, for one that has a network function alone.
    let above = GRANT.replace("{subsystem: pci, name: '0000:00:1c.0'}", "{subsystem: net, name: eth0}");
    let mut host = host_of(Arc::new(crate::grants::Grants::new(node.into(), plugin_policy(&above))));
    let function = host.devices("net").unwrap()[0];
    assert_eq!(host.attribute(function, "address"), Ok("aa:bb".into()));
    assert_eq!(host.parent(function), Ok(None));
    assert!(host.related(function, "device").is_err());
}

/// What drivers put between a USB adapter and its node is part of it; what hangs on a hub is not part of the hub.
#[test]
fn a_usb_adapters_port_belongs_to_it() {
    const USB: &str = "\
P: /devices/pci0000:00/usb1/1-1
E: SUBSYSTEM=usb
E: DEVTYPE=usb_device
A: idVendor=0403\\n
A: idProduct=6001\\n

P: /devices/pci0000:00/usb1/1-1/1-1:1.0
E: SUBSYSTEM=usb
E: DEVTYPE=usb_interface

P: /devices/pci0000:00/usb1/1-1/1-1:1.0/ttyUSB0
E: SUBSYSTEM=usb-serial
L: subsystem=../../../../../../bus/usb-serial

P: /devices/pci0000:00/usb1/1-1/1-1:1.0/ttyUSB0/tty/ttyUSB0
N: ttyUSB0
E: SUBSYSTEM=tty
E: DEVNAME=/dev/ttyUSB0
E: MAJOR=188
E: MINOR=0
A: dev=188:0\\n

P: /devices/pci0000:00/usb1/1-1/1-1.1
E: SUBSYSTEM=usb
E: DEVTYPE=usb_device
A: idVendor=9999\\n
A: idProduct=0001\\n

P: /devices/pci0000:00/usb1/1-1/1-1.1/1-1.1:1.0
E: SUBSYSTEM=usb
E: DEVTYPE=usb_interface

P: /devices/pci0000:00/usb1/1-1/1-1.1/1-1.1:1.0/tty/ttyACM0
N: ttyACM0
E: SUBSYSTEM=tty
E: DEVNAME=/dev/ttyACM0
E: MAJOR=166
E: MINOR=0
A: dev=166:0\\n
";
    const GRANT: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  serial:
    component: {file: fake.wasm}
    resources: [fake.com/serial]
    hardware: [{subsystem: usb, vendor: '0403', product: '6001', use: offer, nodes: [{subsystem: tty}]}]
";
    let node = devgate_fake_node::RecordedNode::parse("usb", USB).unwrap();
    let grants = crate::grants::Grants::new(node.into(), plugin_policy(GRANT));
    let matches = grants.matches().unwrap();
    assert_eq!(matches.len(), 1);
    let nodes: Vec<_> = matches[0].nodes.iter().map(|n| n.node.path.as_str()).collect();
    assert_eq!(nodes, ["/dev/ttyUSB0"]);
}

/// What has the node of an accelerator's queue is on the queue's bus, and a part of it; a queue is no part of the accelerator.
#[test]
fn a_queues_node_belongs_to_it() {
    const QUEUES: &str = "\
P: /devices/pci0000:6a/0000:6a:01.0/dsa0
E: SUBSYSTEM=dsa
E: DEVTYPE=dsa
A: state=enabled\\n

P: /devices/pci0000:6a/0000:6a:01.0/dsa0/wq0.0
E: SUBSYSTEM=dsa
E: DEVTYPE=wq
A: mode=shared\\n

P: /devices/pci0000:6a/0000:6a:01.0/dsa0/wq0.0/dsa!wq0.0
N: dsa/wq0.0
E: SUBSYSTEM=dsa
E: DEVTYPE=idxd_cdev
E: DEVNAME=/dev/dsa/wq0.0
E: MAJOR=234
E: MINOR=0
A: dev=234:0\\n

P: /devices/pci0000:6a/0000:6a:01.0/dsa0/wq0.1
E: SUBSYSTEM=dsa
E: DEVTYPE=wq
A: mode=dedicated\\n
";
    const GRANT: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  dsa:
    component: {file: fake.wasm}
    resources: [fake.com/queue]
    hardware:
      - {subsystem: dsa, name: 'dsa[0-9]*'}
      - {subsystem: dsa, name: 'wq*', attributes: {mode: shared}, use: offer, nodes: [{access: rw}]}
";
    let node = devgate_fake_node::RecordedNode::parse("dsa", QUEUES).unwrap();
    let mut host = host_of(Arc::new(crate::grants::Grants::new(node.into(), plugin_policy(GRANT))));
    let devices = host.devices("dsa").unwrap();
    let names: Vec<_> = devices.iter().map(|device| host.held_device(*device).unwrap().name().to_owned()).collect();
    assert_eq!(names, ["dsa0", "wq0.0", "dsa!wq0.0"]);
    let nodes = host.nodes(devices[1]).unwrap();
    assert_eq!(nodes.len(), 1);
    assert_eq!(host.held_node(nodes[0]).unwrap().node.path, "/dev/dsa/wq0.0");
}

/// The lesser grant counts, whichever way a component asked first.
#[test]
fn the_order_of_questions_decides_nothing() {
    let policy = POLICY.replace("exclusive: [/dev/fuse]", "shared: [/dev/fuse]").replace(
        "      - {subsystem: misc}\n",
        "      - {subsystem: misc, name: fuse, use: offer, nodes: [{access: r}]}\n",
    );
    let grants = Arc::new(crate::grants::Grants::new(node().into(), plugin_policy(&policy)));
    for by_path_first in [true, false] {
        let mut host = host_of(Arc::clone(&grants));
        let fuse = host.device_by_name("misc", "fuse").unwrap();
        let node = match by_path_first {
            true => host.node_at("/dev/fuse").unwrap(),
            false => host.nodes(fuse).unwrap()[0],
        };
        let (_, again) = (host.node_at("/dev/fuse").unwrap(), host.nodes(fuse).unwrap()[0]);
        assert_eq!(node, again);
        let grant = host.held_node(node).unwrap().grant.clone();
        assert_eq!((grant.access.to_string().as_str(), grant.shared), ("r", false), "{by_path_first}");
    }
}

/// Size, kind and readers of an attribute, each obeyed and violated.
#[test]
fn an_attribute_is_small_for_everybody_and_not_on_the_list() {
    let node = node();
    let set = |path: &str, value: Vec<u8>| {
        let location = "pci0000:00/0000:00:01.0".to_owned();
        let path = path.to_owned();
        node.apply(Change::SetAttribute { location, path, value }).unwrap();
    };
    let mut host = call_host_on(&node, POLICY);
    let gpu = host.devices("pci").unwrap()[0];
    let kind = |answer: Result<String, Denied>| match answer {
        Ok(_) => None,
        Err(Denied::Failure(failure)) => Some((failure.kind, failure.code)),
        Err(end) => panic!("{end:?}"),
    };
    set("large", vec![b'x'; 4096]);
    assert_eq!(kind(host.attribute(gpu, "large")), None);
    set("large", vec![b'x'; 4097]);
    assert_eq!(kind(host.attribute(gpu, "large")), Some((FailureKind::Limit, String::new())));
    assert_eq!(host.attribute_bytes(gpu, "large", 4000, 4096).map(|bytes| bytes.len()), Ok(97));
    assert!(host.attribute_bytes(gpu, "large", 0, 4097).is_err());
    set("binary", vec![0, 255]);
    assert_eq!(kind(host.attribute(gpu, "binary")), Some((FailureKind::Other, "not-text".into())));
    assert_eq!(host.attribute_bytes(gpu, "binary", 0, 2), Ok(vec![0, 255]));
    for path in [
        "secret",
        "my_secret_value",
        "psk_key",
        "config",
        "rom",
        "vpd",
        "resource0",
        "resource1_wc",
        "eeprom",
        "nvmem",
        "msi_irqs/33",
    ] {
        set(path, b"canary".to_vec());
        assert_eq!(kind(host.attribute(gpu, path)), Some((FailureKind::Denied, String::new())), "{path}");
        assert!(host.attribute_bytes(gpu, path, 0, 6).is_err(), "{path}");
    }
    set("resource", b"fine".to_vec());
    assert_eq!(host.attribute(gpu, "resource"), Ok("fine".into()));
    let only_root = NODE.replace("A: class=0x030000\\n\nA: numa_node=1", "R: class=0x030000\\n\nA: numa_node=1");
    let mut host = call_host_on(&devgate_fake_node::RecordedNode::parse("r", &only_root).unwrap(), POLICY);
    let gpu = host.devices("pci").unwrap()[0];
    assert_eq!(kind(host.attribute(gpu, "class")), Some((FailureKind::Denied, String::new())));
}

/// A link tells the name of what it leads to, and gives a handle only to what is granted.
#[test]
fn a_link_gives_a_handle_only_to_what_is_granted() {
    let node = node();
    for (name, target) in
        [("peer", "../0000:00:02.0"), ("stranger", "../0000:00:03.0"), ("group", "../../../kernel/42")]
    {
        node.apply(Change::SetLink {
            location: "pci0000:00/0000:00:01.0".into(),
            path: name.into(),
            target: target.into(),
        })
        .unwrap();
    }
    let mut host = call_host_on(&node, POLICY);
    let gpus = host.devices("pci").unwrap();
    assert_eq!(host.related(gpus[0], "peer"), Ok(gpus[1]));
    assert_eq!(host.link(gpus[0], "stranger"), Ok("0000:00:03.0".into()));
    assert!(matches!(host.related(gpus[0], "stranger"), Err(Denied::Failure(f)) if f.kind == FailureKind::Denied));
    assert_eq!(host.link(gpus[0], "group"), Ok("42".into()));
    assert!(matches!(host.related(gpus[0], "group"), Err(Denied::Failure(f)) if f.kind == FailureKind::NotFound));
    let card = host.device_by_name("drm", "card0").unwrap();
    assert_eq!(host.parent(card), Ok(Some(gpus[0])));
    assert_eq!(host.parent(gpus[0]), Ok(None));
}
