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
fn names_of_nodes_keep_their_resources_and_how_many_may_have_them() {
    let (policy, lost) = migrated(
        "kind: ConfigMap\ndata:\n  conf.yaml: |\n    - devicematch: ^fuse$\n      nummaxdevices: 50\n    - devicematch: ^net/tun$\n      \
         nummaxdevices: 50\n    - devicematch: ^snd$\n      nummaxdevices: 20\n    - devicematch: ^gpiomem$\n      nummaxdevices: 1\n",
    );
    assert_eq!(lost, "");
    insta::assert_snapshot!(policy, @r#"
    # Made by `devgatectl migrate`: read it before a node does. Pin components by `sha256`.
    apiVersion: devgate.dev/v1alpha1
    kind: Policy
    plugins:
      generic:
        component: {file: generic.wasm}
        resources: [smarter-devices/gpiomem]
        hardware:
          # To look at alone: the component is loaded only where `hardware` is granted.
          - {subsystem: misc, name: fuse}
        # By path, as it is not known what they are to the kernel.
        host-nodes: {exclusive: [/dev/gpiomem]}
        config:
          devices:
            - {resource: smarter-devices/gpiomem, id: gpiomem, group: [{node: /dev/gpiomem}]}
      generic-x20:
        component: {file: generic.wasm}
        resources: [smarter-devices/snd]
        hardware:
          - {subsystem: sound, name: "control*", use: offer, nodes: [{access: rw}]}
          - {subsystem: sound, name: "pcm*", use: offer, nodes: [{access: rw}]}
          - {subsystem: sound, name: timer, use: offer, nodes: [{access: rw}]}
          - {subsystem: sound, name: seq, use: offer, nodes: [{access: rw}]}
          - {subsystem: sound, name: "midi*", use: offer, nodes: [{access: rw}]}
          - {subsystem: sound, name: "hw*", use: offer, nodes: [{access: rw}]}
        replicas: 20
        config:
          devices:
            - {resource: smarter-devices/snd, id: snd, group: [{subsystem: sound, name: "control*", optional: true}, {subsystem: sound, name: "pcm*", optional: true}, {subsystem: sound, name: timer, optional: true}, {subsystem: sound, name: seq, optional: true}, {subsystem: sound, name: "midi*", optional: true}, {subsystem: sound, name: "hw*", optional: true}]}
      generic-x50:
        component: {file: generic.wasm}
        resources: [smarter-devices/fuse, smarter-devices/net_tun]
        hardware:
          - {subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}
          - {subsystem: misc, name: tun, use: offer, nodes: [{access: rw}]}
        replicas: 50
        config:
          devices:
            - {resource: smarter-devices/fuse, subsystem: misc, name: fuse}
            - {resource: smarter-devices/net_tun, subsystem: misc, name: tun}
    "#);
}

#[test]
fn a_pattern_is_one_resource_which_is_said() {
    let (policy, lost) = migrated("config:\n- {devicematch: '^tty(USB|ACM)[0-9]*$', nummaxdevices: 1}\n");
    assert!(policy.contains("resources: [smarter-devices/ttyUSB, smarter-devices/ttyACM]\n"), "{policy}");
    assert!(policy.contains("{subsystem: tty, name: \"ttyUSB[0-9]*\", use: offer, nodes: [{access: rw}]}"), "{policy}");
    insta::assert_snapshot!(lost, @r"
    f: config[0]: ^tty(USB|ACM)[0-9]*$: there each node is a resource; here all of them are one, and pods ask for smarter-devices/ttyUSB; write an entry for each to keep the names
    f: config[0]: ^tty(USB|ACM)[0-9]*$: there each node is a resource; here all of them are one, and pods ask for smarter-devices/ttyACM; write an entry for each to keep the names
    ");
}

#[test]
fn what_is_not_carried_over_is_named() {
    let (policy, lost) = migrated(
        "- {devicematch: nvidia-gpu, nummaxdevices: 10}\n- {devicematch: ^*tun$, nummaxdevices: 5000, x: 1}\n\
         - {devicematch: '^hci[0-9]*$', nummaxdevices: 1}\n- {devicematch: ^bus.*$, nummaxdevices: 1}\n- {devicematch: ^fuse$}\n\
         - {devicematch: '^.*$', nummaxdevices: 1}\n- {devicematch: '^(', nummaxdevices: 1}\n- {devicematch: no-such, nummaxdevices: 1}\n\
         - {devicematch: ^kvm$, nummaxdevices: -1}\n",
    );
    assert!(
        policy.contains("resources: [smarter-devices/net_tun]\n") && policy.contains("replicas: 4096\n"),
        "{policy}"
    );
    insta::assert_snapshot!(lost, @r"
    f[0]: nvidia-gpu: is the GPU of a Jetson, which no component offers: keep theirs there
    f[1]: ^*tun$: x: this key is not known, and their plugin ignores it
    f[1]: ^*tun$: matches in the midst of a name; write `^` and what names begin with; of the nodes that it may mean, these are in the policy: net/tun
    f[1]: ^*tun$: nummaxdevices 5000: at most 4096
    f[2]: ^hci[0-9]*$: `udevadm info` says which subsystem it is of, for a selector of `hardware`
    f[3]: ^bus.*$: changes with each plug; name the device by vendor and product (`usb`) instead
    f[4]: ^fuse$: nummaxdevices 0 offers nothing
    f[5]: ^.*$: means any node; write the names of those that are wanted
    f[6]: ^(: is no regular expression
    f[7]: no-such: matches in the midst of a name; write `^` and what names begin with
    f[8]: invalid value: integer `-1`, expected u32
    ");
}

#[test]
fn a_list_that_cannot_be_read_is_lost() {
    let (_, lost) = migrated("data:\n  conf.yaml: |\n    - devicematch: ^fuse$\n    nummaxdevices: 50\n");
    assert!(lost.starts_with("f: data: conf.yaml: line 2: cannot be read as YAML"), "{lost}");
}
