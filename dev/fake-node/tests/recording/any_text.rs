//! Any text as a recording: understood or refused, and no path out of the device tree.

use super::*;
use proptest::prelude::*;

/// Lines that are likely to get far.
fn line() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec!["P", "N", "S", "E", "A", "H", "L", "R", "F", "D", "X", ""]);
    let key = prop::sample::select(vec![
        "/devices/a",
        "/devices/a/b",
        "SUBSYSTEM",
        "MAJOR",
        "MINOR",
        "DRIVER",
        "DEVNAME",
        "dev",
        "subsystem",
        "uevent",
        "/dev/x",
        "/proc/x",
        "a/b",
        "a",
        "..",
        "",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "misc",
            "pci",
            "block",
            "1",
            "1:2\\n",
            "c 1:2",
            "../../bus/pci",
            "00FF",
            "..",
            "/",
            ""
        ])
        .prop_map(str::to_owned),
        "\\PC{0,12}",
    ];
    (kind, key, any::<bool>(), value)
        .prop_map(|(kind, key, eq, value)| format!("{kind}: {key}{}{value}", if eq { "=" } else { "" }))
}

fn text() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec(prop_oneof![9 => line(), 2 => Just(String::new()), 1 => "\\PC{0,20}"], 0..24);
    prop_oneof![lines.prop_map(|lines| lines.join("\n")), any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn is_understood_or_refused(text in text()) {
        let Ok(node) = RecordedNode::parse("any", &text) else { return Ok(()) };
        for subsystem in ["misc", "pci", "block"] {
            for device in node.devices(subsystem).unwrap() {
                let _ = (node.own_node(&device), node.subsystem(&device), node.child_devices(&device));
                let _ = (node.numa_node(&device), node.parent(&device), node.entries(&device, ""));
            }
        }
    }

    #[test]
    fn gives_no_path_out_of_the_device_tree(text in text()) {
        let node = small();
        let _ = node.apply(Change::AddDevices(text));
        let fuse = own(&node, "misc", "fuse");
        prop_assert_eq!(fuse.as_deref(), Some("/dev/fuse c 10:229"));
        for device in node.devices("misc").unwrap() {
            prop_assert!(!device.location().contains(".."));
        }
    }
}
