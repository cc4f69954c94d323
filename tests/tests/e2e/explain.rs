//! `devgate explain`.

use crate::look::{Said, look};
use crate::small_node::{Place, filters};

/// GPUs for `gpus`; the first of them for `again` as well, which comes later; `lookers` may only look; `idle` has nothing here.
const PLUGINS: &str = r#"
  gpus:
    component: {file: generic.wasm}
    resources: [fake.com/gpu]
    hardware:
      - {subsystem: pci, vendor: "0x1234", use: offer, nodes: [{subsystem: drm, name: "card*"}]}
      - {subsystem: mem, name: mem, use: offer, nodes: [{access: r}]}
    config:
      devices:
        - {resource: fake.com/gpu, subsystem: pci}
        - {resource: fake.com/extra, subsystem: mem}
  again:
    component: {file: generic.wasm}
    resources: [fake.com/again]
    hardware:
      - {subsystem: pci, name: "0000:00:01.0", use: offer, nodes: [{subsystem: drm}]}
      - {subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}
    except: [{id: fuse}]
    config: {devices: [{resource: fake.com/again, subsystem: pci}, {resource: fake.com/again, subsystem: misc}]}
  lookers:
    component: {file: overreach.wasm}
    resources: [fake.com/look]
    hardware:
      - {subsystem: pci}
  idle:
    component: {file: generic.wasm}
    resources: [fake.com/idle]
    hardware:
      - {subsystem: infiniband, use: offer}
"#;

fn explain(place: &Place, what: &str, more: &[&str]) -> anyhow::Result<Said> {
    look(place.args(&[&["explain", what], more].concat())?)
}

/// From the selector to the component's answer, for each way of naming something and each way of not getting it.
#[test]
fn every_way_of_asking_is_answered() -> anyhow::Result<()> {
    let place = Place::new(PLUGINS)?;
    let mut told = String::new();
    for (what, code) in [
        ("fake.com/gpu", 0),
        ("fake.com/again", 5),
        ("fake.com/look", 5),
        ("fake.com/idle", 5),
        ("fake.com/nobody", 5),
        ("pci/0000:00:02.0", 0),
        ("0000:00:03.0", 5),
        ("/dev/dri/card0", 0),
        ("/dev/mem", 5),
        ("/dev/nope", 5),
        ("fuse", 5),
        ("fake.com/extra", 5),
        ("misc/nope", 5),
        ("/sys/bus/pci/devices/0000:00:01.0", 0),
        ("/sys/devices/virtual/mem/mem", 5),
        ("card1", 0),
        ("nonsense\u{1b}[31m", 5),
    ] {
        let said = explain(&place, what, &[])?;
        assert_eq!(said.code, Some(code), "{what}: {}{}", said.out, said.err);
        told += &format!("$ devgate explain {}\n{}\n", what.escape_debug(), said.out);
    }
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(told);
    });
    Ok(())
}

/// A component that lists nothing, whether it may offer something or not; one that lists other things; and one whose things are rejected.
const SILENT: &str = r#"
  silent:
    component: {file: generic.wasm}
    resources: [fake.com/silent]
    hardware: [{subsystem: pci, vendor: "0x1234", use: offer}]
    config: {devices: [{resource: fake.com/silent, subsystem: usb}]}
  looker:
    component: {file: generic.wasm}
    resources: [fake.com/looker]
    hardware: [{subsystem: pci}]
    config: {devices: [{resource: fake.com/looker, subsystem: usb}]}
  others:
    component: {file: generic.wasm}
    resources: [fake.com/others, fake.com/wanted]
    hardware: [{subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}]
    config: {devices: [{resource: fake.com/others, subsystem: misc}]}
  rejected:
    component: {file: generic.wasm}
    resources: [fake.com/rejected]
    hardware: [{subsystem: mem, name: mem, use: offer}]
    config: {devices: [{resource: fake.com/misspelt, subsystem: mem}]}
"#;

#[test]
fn nothing_listed_and_nothing_let_through_are_told_apart() -> anyhow::Result<()> {
    let place = Place::new(SILENT)?;
    let mut told = String::new();
    for what in
        ["fake.com/silent", "fake.com/looker", "fake.com/wanted", "fake.com/rejected", "pci/0000:00:01.0", "mem/mem"]
    {
        let said = explain(&place, what, &[])?;
        assert_eq!(said.code, Some(5), "{what}: {}{}", said.out, said.err);
        told += &format!("{}\n", said.out.lines().next().unwrap_or_default());
    }
    insta::assert_snapshot!(told);
    let json: serde_json::Value =
        serde_json::from_str(&explain(&place, "fake.com/silent", &["--output", "json"])?.out)?;
    let unused = json["plugins"][0]["unused"].as_array().map(Vec::len);
    assert_eq!(unused, Some(2), "{json}");
    Ok(())
}

#[test]
fn the_json_form_says_the_same() -> anyhow::Result<()> {
    let place = Place::new(PLUGINS)?;
    let json = |what: &str| -> anyhow::Result<serde_json::Value> {
        Ok(serde_json::from_str(&explain(&place, what, &["--output", "json"])?.out)?)
    };
    let first = json("0000:00:01.0")?;
    assert_eq!(first["offered"], true);
    let units = first["units"].as_array().expect("units");
    let said: Vec<_> = units.iter().map(|unit| (&unit["plugin"], &unit["says"])).collect();
    assert_eq!(said, [(&"gpus".into(), &serde_json::Value::Null), (&"again".into(), &"exclusivity".into())]);
    let sights = first["devices"][0]["plugins"].as_array().expect("plugins");
    let uses: Vec<_> = sights.iter().map(|sight| sight["use"].as_str()).collect();
    assert_eq!(uses, [Some("offer"), Some("offer"), Some("read"), None]);
    assert_eq!(sights[3]["selectors"][0]["unmet"], "subsystem");

    let third = json("0000:00:03.0")?;
    assert_eq!(third["devices"][0]["plugins"][0]["selectors"][0]["unmet"], "vendor");
    let memory = json("/dev/mem")?;
    assert_eq!((&memory["offered"], &memory["node"]["number"]), (&false.into(), &"c 1:1".into()));
    assert_eq!(memory["rejected"][0]["what"], "resource fake.com/extra");
    Ok(())
}

/// A mounted disk and its controller, which has a node as well; and a function that is alone in iommu group 42.
const DISKS_AND_GROUP: &str = "\
P: /devices/pci0000:00/0000:00:05.0
E: SUBSYSTEM=pci
A: vendor=0x1af4\\n

P: /devices/pci0000:00/0000:00:05.0/block/vda
N: vda
E: SUBSYSTEM=block
E: DEVTYPE=disk
E: DEVNAME=/dev/vda
A: dev=254:0\\n

P: /devices/pci0000:00/0000:00:05.0/nvme/nvme0
N: nvme0
E: SUBSYSTEM=nvme
E: DEVNAME=/dev/nvme0
A: dev=241:0\\n

P: /devices/pci0000:00/0000:00:06.0
E: SUBSYSTEM=pci
E: DRIVER=vfio-pci
A: vendor=0x1234\\n
L: iommu_group=../../../kernel/iommu_groups/42

P: /devices/virtual/vfio/42
N: vfio/42
E: SUBSYSTEM=vfio
E: DEVNAME=/dev/vfio/42
A: dev=239:1\\n

F: /proc/1/mountinfo=30 1 254:0 / /srv rw - ext4 /dev/vda rw\\n
";

const DISK_AND_GROUP_PLUGINS: &str = r#"
  disks:
    component: {file: generic.wasm}
    resources: [fake.com/disk]
    hardware:
      - {subsystem: pci, vendor: "0x1af4", use: offer, nodes: [{subsystem: block}, {subsystem: nvme}]}
    config: {devices: [{resource: fake.com/disk, subsystem: pci}]}
  functions:
    component: {file: generic.wasm}
    resources: [fake.com/function]
    hardware:
      - {subsystem: pci, vendor: "0x1234", use: offer, nodes: [{subsystem: vfio}]}
    config: {devices: [{resource: fake.com/function, subsystem: pci}]}
"#;

/// That its device is offered does not make a node one that is handed out; a group's node belongs to the functions of the group.
#[test]
fn a_node_is_explained_by_who_hands_it_out() -> anyhow::Result<()> {
    let place = Place::on(DISKS_AND_GROUP, DISK_AND_GROUP_PLUGINS)?;
    let mut told = String::new();
    for what in ["0000:00:05.0", "/dev/vda", "/dev/vfio/42"] {
        let said = explain(&place, what, &[])?;
        told += &format!("$ devgate explain {what}  # {:?}\n{}\n", said.code, said.out);
    }
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(told);
    });
    Ok(())
}

#[test]
fn nothing_is_no_question() -> anyhow::Result<()> {
    let place = Place::new(PLUGINS)?;
    assert_eq!(explain(&place, "", &[])?.code, Some(2));
    Ok(())
}

#[test]
fn a_wrong_policy_and_a_missing_node_are_told_apart() -> anyhow::Result<()> {
    let wrong = Place::new("  a: {}\n")?;
    assert_eq!(explain(&wrong, "fuse", &[])?.code, Some(3));
    let mut args = Place::new(PLUGINS)?.args(&["explain", "fuse"])?;
    args.extend(["--node-root".into(), "/nonexistent".into()]);
    assert_eq!(look(args)?.code, Some(2), "twice the same option");
    Ok(())
}
