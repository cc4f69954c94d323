use super::super::find;
use super::*;

fn migrated(text: &str) -> (String, String) {
    let mut draft = Draft::default();
    let found = find::in_file("f", text, &mut draft).unwrap();
    take_over(found.iter(), &mut draft);
    draft.said()
}

/// An object with one rule, and more of its details.
fn with(rule: &str, more: &str) -> (String, String) {
    migrated(&format!(
        "apiVersion: akri.sh/v0\nkind: Configuration\nmetadata: {{name: x}}\nspec:\n  discoveryHandler:\n    name: udev\n    \
         discoveryDetails: |\n      udevRules:\n      - '{rule}'\n{more}"
    ))
}

#[test]
fn a_configuration_is_a_plugin_with_its_resource_capacity_and_variables() {
    let (policy, lost) = migrated(
        r#"
apiVersion: akri.sh/v0
kind: Configuration
metadata: {name: zigbee-stick}
spec:
  capacity: 2
  brokerProperties: {BAUD: "115200", RULE: "{x}"}
  discoveryHandler:
    name: udev
    discoveryDetails: |+
      groupRecursive: true
      permissions: rwm
      udevRules:
      - SUBSYSTEM=="tty", ATTRS{idVendor}=="1A86", ATTRS{idProduct}=="7523", ATTRS{bcdDevice}=="0264"
      - KERNEL=="video[0-9]*", ATTR{index}=="0"
"#,
    );
    assert_eq!(lost, "");
    insta::assert_snapshot!(policy, @r#"
    # Made by `devgatectl migrate`: read it before a node does. Pin components by `sha256`.
    apiVersion: devgate.dev/v1alpha1
    kind: Policy
    plugins:
      zigbee-stick:
        component: {file: generic.wasm}
        resources: [akri.sh/zigbee-stick]
        hardware:
          - {subsystem: usb, vendor: "0x1a86", product: "0x7523", attributes: {bcdDevice: "0264"}, use: offer, nodes: [{subsystem: tty, access: rwm}]}
          - {subsystem: video4linux, name: "video[0-9]*", attributes: {index: "0"}, use: offer, nodes: [{access: rwm}]}
        replicas: 2
        config:
          devices:
            - {resource: akri.sh/zigbee-stick, usb: {vendor: "0x1a86", product: "0x7523"}, attributes: {bcdDevice: "0264"}}
            - {resource: akri.sh/zigbee-stick, subsystem: video4linux, name: "video[0-9]*", attributes: {index: "0"}}
        containers:
          env: {BAUD: "115200", RULE: "{{x}}"}
    "#);
}

#[test]
fn what_is_above_a_device_is_known_by_what_usb_says() {
    let mut told = String::new();
    for rule in [
        r#"ENV{ID_VENDOR_ID}=="0781", ENV{ID_MODEL_ID}=="5567", KERNEL=="sd?""#,
        r#"SUBSYSTEM=="usb", ATTR{idVendor}=="0403", ATTR{product}=="EnOcean *""#,
        r#"SUBSYSTEM=="tty", ENV{ID_SERIAL_SHORT}=="A1""#,
        r#"ENV{DEVNAME}=="/dev/ttyS1""#,
        r#"SUBSYSTEM=="usb", KERNEL=="1-1*", DRIVER=="usb", ATTR{idVendor}=="0403""#,
    ] {
        let (policy, lost) = with(rule, "");
        assert_eq!(lost, "", "{rule}");
        let lines: Vec<_> = policy.lines().filter(|line| line.contains("- {")).map(str::trim).collect();
        told += &format!("{rule}\n{}\n", lines.join("\n"));
    }
    insta::assert_snapshot!(told, @r#"
    ENV{ID_VENDOR_ID}=="0781", ENV{ID_MODEL_ID}=="5567", KERNEL=="sd?"
    - {subsystem: usb, vendor: "0x0781", product: "0x5567", use: offer, nodes: [{subsystem: block, access: rw, name: "sd?"}]}
    - {resource: akri.sh/x, usb: {vendor: "0x0781", product: "0x5567"}}
    SUBSYSTEM=="usb", ATTR{idVendor}=="0403", ATTR{product}=="EnOcean *"
    - {subsystem: usb, vendor: "0x0403", attributes: {product: "EnOcean *"}, use: offer, nodes: [{access: rw}]}
    - {resource: akri.sh/x, usb: {vendor: "0x0403"}, attributes: {product: "EnOcean *"}}
    SUBSYSTEM=="tty", ENV{ID_SERIAL_SHORT}=="A1"
    - {subsystem: usb, serial: A1, use: offer, nodes: [{subsystem: tty, access: rw}]}
    - {resource: akri.sh/x, usb: {serial: A1}}
    ENV{DEVNAME}=="/dev/ttyS1"
    - {subsystem: tty, name: ttyS1, use: offer, nodes: [{access: rw}]}
    - {resource: akri.sh/x, subsystem: tty, name: ttyS1}
    SUBSYSTEM=="usb", KERNEL=="1-1*", DRIVER=="usb", ATTR{idVendor}=="0403"
    - {subsystem: usb, vendor: "0x0403", name: "1-1*", driver: usb, use: offer, nodes: [{access: rw}]}
    - {resource: akri.sh/x, usb: {vendor: "0x0403"}, name: "1-1*", driver: usb}
    "#);
}

#[test]
fn a_rule_that_says_more_than_a_policy_can_is_left_out() {
    let mut told = String::new();
    for rule in [
        r#"KERNEL=="null""#,
        r#"SUBSYSTEM=="block", KERNEL!="sda""#,
        r#"SUBSYSTEM=="tty", DRIVERS=="cp210x""#,
        r#"SUBSYSTEM=="block", SUBSYSTEMS=="usb""#,
        r#"SUBSYSTEM=="tty", TAG=="systemd""#,
        r#"DRIVER=="mlx5_core""#,
        r#"SUBSYSTEM=="usb|tty""#,
        r#"ATTRS{idVendor}=="1a8""#,
        r#"DEVPATH=="/devices/x""#,
        r#"SUBSYSTEM=="tty", MODE="0666""#,
        r#"SUBSYSTEM=="tty", ACTION=="add""#,
        r#"KERNEL=="video0|video1""#,
        r#"KERNEL=="foo*", ATTRS{idVendor}=="0403""#,
        r#"SUBSYSTEM=="tty", ATTRS{serial}=="A*""#,
    ] {
        let (policy, lost) = with(rule, "");
        assert!(policy.ends_with("plugins:\n"), "{policy}");
        told += &lost.lines().map(|line| format!("{line}\n")).collect::<String>();
    }
    insta::assert_snapshot!(told, @r#"
    f (x): KERNEL=="null": KERNEL=="null": `udevadm info` says which subsystem it is of; add it; the rule is left out
    f (x): none of its rules is left
    f (x): SUBSYSTEM=="block", KERNEL!="sda": KERNEL!="sda": what something is not, a policy cannot say; the rule is left out
    f (x): none of its rules is left
    f (x): SUBSYSTEM=="tty", DRIVERS=="cp210x": DRIVERS=="cp210x": is of a device above it, which only USB's vendor, product and serial number name; the rule is left out
    f (x): none of its rules is left
    f (x): SUBSYSTEM=="block", SUBSYSTEMS=="usb": names a device above it, and not by USB's vendor, product or serial number; the rule is left out
    f (x): none of its rules is left
    f (x): SUBSYSTEM=="tty", TAG=="systemd": TAG=="systemd": is in udev's database, which is not read; the rule is left out
    f (x): none of its rules is left
    f (x): DRIVER=="mlx5_core": names neither a subsystem nor a name; the rule is left out
    f (x): none of its rules is left
    f (x): SUBSYSTEM=="usb|tty": SUBSYSTEM=="usb|tty": is several subsystems; write a rule for each; the rule is left out
    f (x): none of its rules is left
    f (x): ATTRS{idVendor}=="1a8": ATTRS{idVendor}=="1a8": is not four hexadecimal digits; the rule is left out
    f (x): none of its rules is left
    f (x): DEVPATH=="/devices/x": DEVPATH=="/devices/x": is a place; name the device by what it is; the rule is left out
    f (x): none of its rules is left
    f (x): SUBSYSTEM=="tty", MODE="0666": MODE = sets something; their handler refuses the rule, too; the rule is left out
    f (x): none of its rules is left
    f (x): SUBSYSTEM=="tty", ACTION=="add": ACTION=="add": their handler refuses the rule, too; the rule is left out
    f (x): none of its rules is left
    f (x): KERNEL=="video0|video1": KERNEL=="video0|video1": is several names; write a rule for each; the rule is left out
    f (x): none of its rules is left
    f (x): KERNEL=="foo*", ATTRS{idVendor}=="0403": KERNEL=="foo*": `udevadm info` says which subsystem it is of; add it; the rule is left out
    f (x): none of its rules is left
    f (x): SUBSYSTEM=="tty", ATTRS{serial}=="A*": ATTRS{serial}=="A*": is a pattern, and a serial number is letter by letter; the rule is left out
    f (x): none of its rules is left
    "#);
}

#[test]
fn what_is_otherwise_is_named() {
    let (policy, lost) = with(
        r#"KERNEL=="video[0-9]*", ENV{ID_V4L_CAPABILITIES}==":capture:""#,
        "      - 'ATTRS{idVendor}==\"1a86\", ATTRS{idProduct}==\"7523\"'\n      other: 1\n  capacity: 0\n  brokerProperties: {\"a b\": c}\n  \
         brokerSpec: {brokerPodSpec: {}}\n  instanceServiceSpec: {type: ClusterIP}\n  configurationServiceSpec: {}\n  more: 1\n",
    );
    assert!(policy.contains("subsystem: video4linux, name: \"video[0-9]*\", attributes: {index: \"0\"}}"), "{policy}");
    insta::assert_snapshot!(lost, @r#"
    f (x): discoveryDetails: other: this key is not known, and their plugin ignores it
    f (x): KERNEL=="video[0-9]*", ENV{ID_V4L_CAPABILITIES}==":capture:": ENV{ID_V4L_CAPABILITIES}: the node of index 0 in its place, which is a camera's for pictures
    f (x): ATTRS{idVendor}=="1a86", ATTRS{idProduct}=="7523": each node of the device is a unit there; here the device is one, with all of them
    f (x): capacity 0: must be from 1 to 4096; it is 1
    f (x): brokerSpec: no pod is made for a device: a DaemonSet or Deployment asks for the resource, and is told ids by `env` of the entry
    f (x): instanceServiceSpec: no Service is made for a device
    f (x): more: this key is not known
    f (x): brokerProperties: a b: is no variable that a policy may set
    "#);
}

#[test]
fn a_variable_is_one_plugins() {
    let one = |name: &str| {
        format!(
            "---\napiVersion: akri.sh/v0\nkind: Configuration\nmetadata: {{name: {name}}}\nspec:\n  brokerProperties: {{A: b}}\n  \
             discoveryHandler: {{name: udev, discoveryDetails: \"udevRules: ['KERNEL==\\\"fuse\\\"']\"}}\n"
        )
    };
    let (policy, lost) = migrated(&[one("x"), one("y")].concat());
    assert_eq!(policy.matches("env: {A: b}").count(), 1, "{policy}");
    assert!(lost.contains("brokerProperties: A: is set for x already"), "{lost}");
}

#[test]
fn a_charts_values_are_a_configuration_and_other_handlers_are_none() {
    let (policy, lost) = migrated(
        "udev:\n  configuration:\n    enabled: true\n    name: cams\n    brokerProperties: {}\n    discoveryDetails:\n      \
         groupRecursive: false\n      udevRules: ['KERNEL==\"video0\"']\n      permissions: rwm\n    capacity: 3\n    brokerPod: \
         {image: {repository: null, tag: latest}}\n    createInstanceServices: true\n    instanceService: {type: ClusterIP}\n",
    );
    assert_eq!(lost, "");
    assert!(policy.contains("  cams:\n") && policy.contains("replicas: 3\n"), "{policy}");
    let (policy, lost) = migrated(
        "apiVersion: akri.sh/v0\nkind: Configuration\nmetadata: {name: o}\nspec: {discoveryHandler: {name: onvif, discoveryDetails: \"\"}}\n---\n\
         apiVersion: akri.sh/v0\nkind: Configuration\nmetadata: {name: p}\nspec: {protocol: {udev: {udevRules: ['KERNEL==\"video0\"']}}}\n---\n\
         apiVersion: akri.sh/v0\nkind: Configuration\nmetadata: {name: q}\nspec: {}\n",
    );
    assert!(policy.contains("  p:\n"), "{policy}");
    insta::assert_snapshot!(lost, @r"
    f (o): discoveryHandler onvif: finds no devices of a node; keep Akri for these
    f: has neither a discovery handler nor what it is told
    ");
}
