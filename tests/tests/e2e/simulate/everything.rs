//! Every step, and everything that can be expected, where it is so.

use super::{scenario, simulate};
use std::path::Path;

const NEW: &str = "\
P: /devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1.4
E: SUBSYSTEM=usb
E: DEVTYPE=usb_device
A: idVendor=0403\\n
A: idProduct=6001\\n

P: /devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1.4/1-1.4:1.0/ttyUSB3/tty/ttyUSB3
N: ttyUSB3
E: SUBSYSTEM=tty
E: MAJOR=188
E: MINOR=3
";

const STEPS: &str = r#"policy-patch: {plugins: {serial: {health: {healthy-after: 0s}}}}
kubelet: {version: "1.34"}
within: 30s
steps:
  - expect:
      devices:
        example.com/serial: {healthy: [1-1.1, 1-1.2], unhealthy: 0, numa: {1-1.1: [], 1-1.2: []}}
        devgate.dev/fuse: 1
        example.com/rig: [rig]
        example.com/nothing: 0
      plugins:
        serial: serving
        edge: {state: serving, reason: null, resources: [{name: example.com/rig, devices: [{id: "r*", held: false}]}]}
      status: {policy: {refused: null}}
      log: ["plugin serial: loaded", {text: loaded, plugin: edge, level: info}]
      choice: {resource: example.com/serial, size: 1, available: [1-1.1, 1-1.2], must-include: [1-1.2], prefers: [1-1.2]}
    note: What is there at first.

  # An attribute tells nobody; what its driver announces does.
  - set: {device: video4linux/video0, attribute: name, value: "Other\n"}
  - announce: video4linux/video0
  - expect: {devices: {example.com/rig: {healthy: 0}}}
  - set: {device: video4linux/video0, attribute: name, hex: 55 53 42 20 56 69 64 65 6f 0a}
  - announce: /devices/pci0000:00/0000:00:14.0/usb1/1-4/1-4:1.0/video4linux/video0
  - expect: {devices: {example.com/rig: 1}}
  - remove-attribute: {device: video4linux/video0, attribute: name}
  - announce: video4linux/video0
  - expect: {devices: {example.com/rig: {healthy: 0}}}
  - set: {device: video4linux/video0, attribute: name, value: USB Video}
  - announce: video4linux/video0
  - expect: {devices: {example.com/rig: 1}}

  - node-gone: /dev/fuse
  - expect: {devices: {devgate.dev/fuse: {unhealthy: {fuse: " node "}}}}
  - node: {path: /dev/fuse, number: "c 10:229"}
  - expect: {devices: {devgate.dev/fuse: 1}}

  - file: {path: /proc/driver/acme/version, text: "1.2\n"}
  - file: {path: /proc/driver/acme/gone, hex: "00"}
  - remove-file: /proc/driver/acme/gone
  - link: {device: usb/1-1.1, path: acme, target: ../1-1.2}
  - kernel: "usb 1-1.1: said once"
  - kernel: "usb 1-1.1: said twice"

  - unplug: usb/1-1.1
  - unplug: usb/1-1.2
  - expect: {devices: {example.com/serial: {healthy: 0}}}
  - plug: usb/1-1.2
  - plug: usb/1-1.1
  - expect: {devices: {example.com/serial: 2}, plugins: {serial: serving}}
  - plug: {file: new.umockdev}
  - expect: {devices: {example.com/serial: ["1-1.*"]}}
  - expect: {devices: {example.com/serial: 3}}
    for: 200ms
  - expect: {devices: {example.com/serial: 2}}
    never-for: 200ms
  - plug:
      text: |
        P: /devices/virtual/misc/acme
        E: SUBSYSTEM=misc

  - pod: {name: one, requests: {example.com/serial: [1-1.4]}}
    at-most: 60s
  - expect:
      pod:
        name: one
        container: main
        devices: {example.com/serial: [1-1.4]}
        nodes: [{path: /dev/ttyUSB3, host: /dev/ttyUSB3, permissions: rw, count: 1}]
        env: {SERIAL_PORTS: 1-1.*, OTHER: null}
        mounts: []
        annotations: {example.com/none: null}
        cdi: []
      status: {plugins: [{name: serial, allocations: {given: 1}}]}
  - pod:
      name: two
      containers: [{name: first, init: true, requests: {example.com/serial: 2}}, {name: second, requests: {example.com/serial: 1}}]
  - expect: {pod: {name: two, devices: {example.com/serial: 1}}}
  - expect: {pod: {name: two, container: first, devices: {example.com/serial: [1-1.1, 1-1.2]}}}
  - pod: {name: three, requests: {example.com/serial: 2}}
    expect-refused: "Requested: 2, Available: 0"
  - start: one
  - stop: two
  - wait: 1ms
  - pod: {name: three, requests: {example.com/serial: 2}}

  - restart: kubelet
  - crash: kubelet
  - restart: host
  - crash: host
  - start: one
  - expect: {devices: {example.com/serial: 3}, log: []}

  - reload: {policy-patch: {plugins: {serial: null}}}
    expect-refused: a pod may hold device
  - expect: {devices: {example.com/serial: 3}}
  - reload: {policy-patch: {plugins: {edge: null}}}
  - expect: {plugins: {serial: serving}, devices: {devgate.dev/fuse: 0}}
  - reload: {policy-patch: {plugins: {serial: {health: {healthy-after: 1s}}}}, force: true}
  - reload: policy.yaml
  - expect: {devices: {devgate.dev/fuse: 1}}
"#;

#[test]
fn each_step_does_what_it_says() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let (file, kept) = (dir.path().join("all.yaml"), dir.path().join("kept"));
    std::fs::write(&file, scenario("All of it", STEPS))?;
    std::fs::write(dir.path().join("new.umockdev"), NEW)?;
    std::fs::copy(super::guests().join("generic/policy.yaml"), dir.path().join("policy.yaml"))?;
    let output = simulate(&[&file, Path::new("-v"), Path::new("--keep"), &kept])?;
    let (text, wrong) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert!(output.status.success(), "{text}\n{wrong}");
    assert!(text.contains("          What is there at first.\n"), "{text}");

    let folder = std::fs::read_dir(&kept)?.next().unwrap()?.path();
    let read =
        |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let node = read("node.umockdev");
    let lines: Vec<&str> = node.lines().map(|line| line.trim_start_matches("E: DEVGATE=")).collect();
    for line in [
        "F: /proc/driver/acme/version=1.2\\n",
        "L: acme=../1-1.2",
        "A: name=USB Video",
        "P: /devices/virtual/misc/acme",
        "U: /devices/pci0000:00/0000:00:14.0/usb1/1-4/1-4:1.0/video4linux/video0",
    ] {
        assert!(lines.contains(&line), "{line} is not in\n{node}");
    }
    assert!(!node.contains("driver/acme/gone"), "{node}");
    let said = |text: &str| lines.iter().position(|line| line.starts_with("K: ") && line.ends_with(text)).unwrap();
    assert!(said("said once") < said("said twice"));
    assert!(read("policy.yaml").contains("fuse"));
    assert!(read("status.json").contains("\"plugins\""));
    assert!(read("host.log").lines().all(|line| line.starts_with('{')));
    assert!(read("kubelet_internal_checkpoint").contains("example.com/serial"));
    let timeline = read("timeline.txt");
    for part in [
        "kubelet  example.com/serial: list of 2 healthy, 0 unhealthy\n",
        "kubelet  pod one: admitted\n",
        "kubelet  pod three: rejected: ",
        "step     1  expect: ",
        "host     policy: not reloaded",
    ] {
        assert!(timeline.contains(part), "{part} is not in\n{timeline}");
    }
    Ok(())
}
