use super::super::find;
use super::*;

fn migrated(text: &str) -> (String, String) {
    let mut draft = Draft::default();
    for found in find::in_file("f", text, &mut draft).unwrap() {
        take_over(&found, &mut draft);
    }
    draft.said()
}

#[test]
fn devices_are_sorted_by_how_often_and_by_what_they_are() {
    let (policy, lost) = migrated(
        r#"
args:
- --domain=example.com
- --device
- |
  name: serial
  groups:
  - paths: [{path: /dev/ttyUSB*}]
  - paths: [{path: /dev/serial/by-id/usb-ITEAD_Dongle_V2_20231031115325-if00, mountPath: /dev/zigbee}]
- '--device={"name": "fuse", "groups": [{"count": 10, "paths": [{"path": "/dev/fuse", "permissions": "r"}]}]}'
- --device
- '{"name": "capture", "groups": [{"paths": [{"path": "/dev/snd/controlC0"}, {"path": "/dev/snd/pcmC0D0c", "optional": true}]}]}'
- --device
- '{"name": "ftdi", "groups": [{"usb": [{"vendor": "403", "product": 6001, "serial": "A1"}]}]}'
- --device
- '{"name": "hsm", "groups": [{"paths": [{"path": "/dev/k7pf0"}, {"path": "/dev/i2c-7"}]}]}'
"#,
    );
    assert_eq!(lost, "");
    insta::assert_snapshot!(policy, @r#"
    # Made by `devgatectl migrate`: read it before a node does. Pin components by `sha256`.
    apiVersion: devgate.dev/v1alpha1
    kind: Policy
    plugins:
      generic:
        component: {file: generic.wasm}
        resources: [example.com/serial, example.com/capture, example.com/ftdi, example.com/hsm]
        hardware:
          - {subsystem: tty, name: "ttyUSB*", use: offer, nodes: [{access: rw}]}
          - {subsystem: usb, serial: "20231031115325", use: offer, nodes: [{subsystem: tty, access: rw, container-path: /dev/zigbee}]}
          - {subsystem: sound, name: controlC0, use: offer, nodes: [{access: rw}]}
          - {subsystem: sound, name: pcmC0D0c, use: offer, nodes: [{access: rw}]}
          - {subsystem: usb, vendor: "0x0403", product: "0x6001", serial: A1, use: offer, nodes: [{access: rw}]}
          - {subsystem: i2c-dev, name: i2c-7, use: offer, nodes: [{access: rw}]}
        # By path, as it is not known what they are to the kernel.
        host-nodes: {exclusive: [/dev/k7pf0]}
        # They reach beyond one device; docs/policy.md says how far.
        dangerous: [i2c]
        config:
          devices:
            - {resource: example.com/serial, subsystem: tty, name: "ttyUSB*"}
            - {resource: example.com/serial, usb: {serial: "20231031115325"}}
            - {resource: example.com/capture, id: capture-0, group: [{subsystem: sound, name: controlC0}, {subsystem: sound, name: pcmC0D0c, optional: true}]}
            - {resource: example.com/ftdi, usb: {vendor: "0x0403", product: "0x6001", serial: A1}}
            - {resource: example.com/hsm, id: hsm-0, group: [{node: /dev/k7pf0}, {subsystem: i2c-dev, name: i2c-7}]}
      generic-x10:
        component: {file: generic.wasm}
        resources: [example.com/fuse]
        hardware:
          - {subsystem: misc, name: fuse, use: offer, nodes: [{access: r}]}
        replicas: 10
        config:
          devices:
            - {resource: example.com/fuse, subsystem: misc, name: fuse}
    "#);
}

#[test]
fn what_is_left_out_is_named_with_what_to_do() {
    let group = |group: &str| migrated(&format!("devices:\n- name: a\n  groups: [{group}]\n"));
    let mut all = String::new();
    for gone in [
        "{paths: [{path: /dev/serial/by-id/usb-Nabu_Casa_SkyConnect*}]}",
        "{paths: [{path: /dev/bus/usb}]}",
        "{paths: [{path: /dev/acme*}]}",
        "{paths: [{path: /opt/x, type: Mount}]}",
        "{paths: [{path: /dev/fuse, type: Mount}]}",
        "{paths: [{path: /dev/fuse, mountPath: /devices/fuse}]}",
        "{paths: [{path: \"/dev/video*\"}, {path: \"/dev/media*\"}]}",
        "{usb: [{vendor: \"zzzz\", product: \"1\"}]}",
        "{paths: 7}",
    ] {
        let (policy, lost) = group(gone);
        assert!(!policy.contains("component:"), "{gone}: {policy}");
        all += &format!("{lost}\n");
    }
    insta::assert_snapshot!(all, @r"
    f: device[0] (squat.ai/a): groups[0]: /dev/serial/by-id/usb-Nabu_Casa_SkyConnect*: is a link of udev's; name the device by vendor, product and serial (`usb`) instead; the group is left out
    f: device[0] (squat.ai/a): groups[0]: /dev/bus/usb: changes with each plug; name the device by vendor and product (`usb`) instead; the group is left out
    f: device[0] (squat.ai/a): groups[0]: /dev/acme*: `udevadm info` says which subsystem it is of, for a selector of `hardware`; the group is left out
    f: device[0] (squat.ai/a): groups[0]: /opt/x: type Mount: generic hands out nodes and no files; the group is left out
    f: device[0] (squat.ai/a): groups[0]: /dev/fuse: type Mount: generic hands out nodes and no files; the group is left out
    f: device[0] (squat.ai/a): groups[0]: /dev/fuse: mountPath: a node is under /dev in a container as well; the group is left out
    f: device[0] (squat.ai/a): groups[0]: several paths with a pattern are paired by their order there; write a group for each pair; the group is left out
    f: device[0] (squat.ai/a): groups[0]: usb: vendor and product must be four hexadecimal digits each; the group is left out
    f: device[0]: invalid type: integer `7`, expected a sequence
    ");
    let (policy, lost) = group(
        "{count: 3, paths: [{path: /dev/kvm, optional: true, limit: 2, readOnly: true, colour: red}]}, {paths: [{path: /dev/fuse}]}",
    );
    assert!(
        policy.contains("replicas: 3") && policy.contains("{resource: squat.ai/a, subsystem: misc, name: kvm}"),
        "{policy}"
    );
    insta::assert_snapshot!(lost, @r"
    f: device[0] (squat.ai/a): groups[0]: /dev/kvm: limit: `replicas` is for whole units
    f: device[0] (squat.ai/a): groups[0]: /dev/kvm: colour: this key is not known, and their plugin ignores it
    f: device[0] (squat.ai/a): groups[1]: count 1: one resource has one count, of at most 4096: 3
    ");
}

#[test]
fn a_path_is_what_the_kernel_calls_it() {
    let mut all = String::new();
    for path in [
        "/dev/ttyAMA0",
        "/dev/tty0",
        "/dev/net/tun",
        "/dev/hwrng",
        "/dev/nvme0",
        "/dev/nvme0n1p1",
        "/dev/sg0",
        "/dev/sda1",
        "/dev/dri",
        "/dev/dri/renderD128",
        "/dev/input/event[^0]",
        "/dev/vfio/vfio",
        "/dev/vfio/12",
        "/dev/tpmrm0",
        "/dev/serial/by-id/usb-0658_0200-if00",
        "/dev/apex_0",
        "/dev/ttyUSB?",
        "/dev/disk/by-id/x",
        "/dev/console",
    ] {
        let shown = device::shown(path).unwrap_or_else(|| format!("not known: {}", kernel::why_unknown(path)));
        all += &format!("{path}: {shown}\n");
    }
    insta::assert_snapshot!(all, @r#"
    /dev/ttyAMA0: {subsystem: tty, name: ttyAMA0, use: offer, nodes: [{access: rw}]}
    /dev/tty0: {subsystem: tty, name: tty0, use: offer, nodes: [{access: rw}]}
    /dev/net/tun: {subsystem: misc, name: tun, use: offer, nodes: [{access: rw}]}
    /dev/hwrng: {subsystem: misc, name: hw_random, use: offer, nodes: [{access: rw}]}
    /dev/nvme0: {subsystem: nvme, name: nvme0, use: offer, nodes: [{access: rw}]}
    /dev/nvme0n1p1: {subsystem: block, name: nvme0n1p1, use: offer, nodes: [{access: rw}]}
    /dev/sg0: {subsystem: scsi_generic, name: sg0, use: offer, nodes: [{access: rw}]}
    /dev/sda1: {subsystem: block, name: sda1, use: offer, nodes: [{access: rw}]}
    /dev/dri: {subsystem: drm, name: "card[0-9]", use: offer, nodes: [{access: rw}]} {subsystem: drm, name: "renderD*", use: offer, nodes: [{access: rw}]}
    /dev/dri/renderD128: {subsystem: drm, name: renderD128, use: offer, nodes: [{access: rw}]}
    /dev/input/event[^0]: {subsystem: input, name: "event[!0]", use: offer, nodes: [{access: rw}]}
    /dev/vfio/vfio: {subsystem: misc, name: vfio, use: offer, nodes: [{access: rw}]}
    /dev/vfio/12: {subsystem: vfio, name: "12", use: offer, nodes: [{access: rw}]}
    /dev/tpmrm0: {subsystem: tpmrm, name: tpmrm0, use: offer, nodes: [{access: rw}]}
    /dev/serial/by-id/usb-0658_0200-if00: {subsystem: usb, vendor: "0x0658", product: "0x0200", use: offer, nodes: [{subsystem: tty, access: rw, container-path: /dev/serial/by-id/usb-0658_0200-if00}]}
    /dev/apex_0: {subsystem: apex, name: apex_0, use: offer, nodes: [{access: rw}]}
    /dev/ttyUSB?: {subsystem: tty, name: "ttyUSB?", use: offer, nodes: [{access: rw}]}
    /dev/disk/by-id/x: not known: is a link of udev's; name the device by vendor, product and serial (`usb`) instead
    /dev/console: {subsystem: tty, name: console, use: offer, nodes: [{access: rw}]}
    "#);
}

#[test]
fn one_piece_of_hardware_in_two_resources_is_named() {
    let (_, lost) = migrated(
        "devices:\n- {name: audio, groups: [{count: 10, paths: [{path: /dev/snd}]}]}\n- {name: mic, groups: [{paths: [{path: \
         /dev/snd/pcmC0D0c}]}]}\n- {name: a, groups: [{paths: [{path: /dev/video0}]}, {paths: [{path: \"/dev/video[1-9]\"}]}]}\n",
    );
    insta::assert_snapshot!(lost, @r"
    f: sound pcmC0D0c of squat.ai/mic and audio-0: is given to one of them at a time; `shared: true` where they may have it at once
    ");
}
