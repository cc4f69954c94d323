//! What a component may look at, and where that ends.

use crate::component::Capabilities;
use crate::testing::*;
use std::sync::Arc;

/// What a component reads it must have been granted; and some things nobody is.
#[test]
fn reading_stops_at_the_grants() {
    let mut host = call_host();
    let gpu = host.devices("pci").unwrap()[0];
    assert_eq!(host.attribute(gpu, "vendor"), Ok("0x1234".into()));
    let said: Vec<_> = [
        "secret_key",
        "config",
        "../0000:00:03.0/vendor",
        "/etc/passwd",
        "",
        "nope",
        "drm",
    ]
    .into_iter()
    .map(|path| format!("{path:?}: {:?}", host.attribute(gpu, path).unwrap_err()))
    .collect();
    insta::assert_snapshot!(said.join("\n"));
    let cards = host.children(gpu, "drm").unwrap();
    assert_eq!(cards.len(), 2, "beneath a granted device");
    assert!(
        host.device_by_name("pci", "0000:00:03.0").is_err(),
        "not granted, and looks as if it were not there"
    );
    assert!(host.device_by_name("drm", "card2").is_err());
    assert!(host.device_by_name("drm", "card0").is_ok());
    let uinput = host.device_by_name("misc", "uinput").unwrap();
    assert_eq!(
        host.nodes(uinput),
        Ok(vec![]),
        "the policy offers it, and the host does not give it"
    );
    assert!(host.attribute(devgate_model::DeviceHandle(99), "vendor").is_err());
}

#[test]
fn reading_more_than_the_limit_ends_the_call() {
    let policy = POLICY.replace("    health:", "    limits: {read: 4KiB}\n    health:");
    let grants = Arc::new(crate::grants::Grants::new(node(), plugin_policy(&policy)));
    let limits = Arc::new(grants.policy.limits.clone());
    let mut host = crate::call::CallHost::new(grants, limits, "null".into(), crate::call::Reads::Here);
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
    let node = devgate_node::Node::recorded("bridge", BRIDGE).unwrap();
    let grants = Arc::new(crate::grants::Grants::new(node, plugin_policy(GRANT)));
    let limits = Arc::new(grants.policy.limits.clone());
    let mut host = crate::call::CallHost::new(grants, limits, "null".into(), crate::call::Reads::Here);
    let bridge = host.devices("pci").unwrap();
    assert_eq!(bridge.len(), 1);
    let bridge = bridge[0];
    assert_eq!(
        host.attribute(bridge, "power/control"),
        Ok("auto".into()),
        "a directory of its own"
    );
    assert_eq!(host.children(bridge, "pci"), Ok(vec![]));
    assert_eq!(host.children(bridge, "net"), Ok(vec![]));
    assert!(host.device_by_name("net", "eth0").is_err());
    assert!(host.attribute(bridge, "0000:01:00.0/vendor").is_err());
    assert!(host.attribute_bytes(bridge, "0000:01:00.0/vendor", 0, 8).is_err());
    assert!(host.attribute(bridge, "0000:01:00.0/net/eth0/address").is_err());
    assert!(host.entries(bridge, "0000:01:00.0").is_err());
    assert!(host.link(bridge, "0000:01:00.0/driver").is_err());
    assert!(host.related(bridge, "0000:01:00.0/net/eth0/device").is_err());
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
    let node = devgate_node::Node::recorded("usb", USB).unwrap();
    let grants = crate::grants::Grants::new(node, plugin_policy(GRANT));
    let matches = grants.matches().unwrap();
    assert_eq!(matches.len(), 1);
    let nodes: Vec<_> = matches[0].nodes.iter().map(|n| n.node.path.as_str()).collect();
    assert_eq!(nodes, ["/dev/ttyUSB0"]);
}

/// The lesser grant counts, whichever way a component asked first.
#[test]
fn the_order_of_questions_decides_nothing() {
    let policy = POLICY.replace("exclusive: [/dev/fuse]", "shared: [/dev/fuse]").replace(
        "      - {subsystem: misc}\n",
        "      - {subsystem: misc, name: fuse, use: offer, nodes: [{access: r}]}\n",
    );
    let grants = Arc::new(crate::grants::Grants::new(node(), plugin_policy(&policy)));
    let limits = Arc::new(grants.policy.limits.clone());
    for by_path_first in [true, false] {
        let (grants, limits) = (Arc::clone(&grants), Arc::clone(&limits));
        let mut host = crate::call::CallHost::new(grants, limits, "null".into(), crate::call::Reads::Here);
        let fuse = host.device_by_name("misc", "fuse").unwrap();
        let node = match by_path_first {
            true => host.node_at("/dev/fuse").unwrap(),
            false => host.nodes(fuse).unwrap()[0],
        };
        let (_, again) = (host.node_at("/dev/fuse").unwrap(), host.nodes(fuse).unwrap()[0]);
        assert_eq!(node, again);
        let grant = host.held_node(node).unwrap().grant.clone();
        assert_eq!(
            (grant.access.to_string().as_str(), grant.shared),
            ("r", false),
            "{by_path_first}"
        );
    }
}
