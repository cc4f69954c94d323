//! `devgatectl plan`.

use crate::look::{Said, look};
use crate::small_node::{GPUS, Place, filters};
use serde_json::{Value, json};
use std::path::Path;

/// What is in force, and what is to be: GPUs may be given to read alone, those of one bus address go, fuse comes.
const OLD: &str = r#"
  gpus:
    component: {file: generic.wasm}
    resources: [fake.com/gpu]
    hardware:
      - {subsystem: pci, vendor: "0x1234", use: offer, nodes: [{subsystem: drm, name: "card*", access: rw}]}
    config: {devices: [{resource: fake.com/gpu, subsystem: pci}]}
"#;
const NEW: &str = r#"
  gpus:
    component: {file: generic.wasm}
    resources: [fake.com/gpu]
    hardware:
      - {subsystem: pci, vendor: "0x1234", name: "0000:00:01.0", use: offer, nodes: [{subsystem: drm, name: "card*", access: r}]}
    containers: {env: {GPU: "{ids}"}}
    config: {devices: [{resource: fake.com/gpu, subsystem: pci}]}
  fuse:
    component: {file: generic.wasm}
    resources: [fake.com/fuse]
    hardware: [{subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}]
    config: {devices: [{resource: fake.com/fuse, subsystem: misc}]}
"#;

/// A place with recorded nodes and two policies.
struct Planned(Place);

impl Planned {
    fn new(old: &str, new: &str) -> anyhow::Result<Self> {
        let place = Place::new(old)?;
        let dir = place.dir();
        let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
        std::fs::write(dir.join("new.yaml"), format!("{head}{new}"))?;
        std::fs::create_dir(dir.join("nodes"))?;
        for name in ["a", "b"] {
            std::fs::copy(dir.join("node.umockdev"), dir.join(format!("nodes/{name}.umockdev")))?;
        }
        std::fs::write(dir.join("nodes/none.umockdev"), "P: /devices/virtual/misc/x\nE: SUBSYSTEM=misc\n")?;
        Ok(Self(place))
    }

    /// Says what node `b` has handed out, as `devgate state list` does.
    fn hold(&self, id: &str) -> anyhow::Result<()> {
        self.hold_but(id, None)
    }

    /// The same where that is not all.
    fn hold_but(&self, id: &str, incomplete: Option<&str>) -> anyhow::Result<()> {
        let held = json!({"incomplete": incomplete, "allocations": [
            {"id": 1, "consumer": "pods", "resource": "fake.com/gpu", "units": [id], "since": 1},
        ]});
        Ok(std::fs::write(self.0.dir().join("nodes/b.held.json"), held.to_string())?)
    }

    fn plan(&self, more: &[&str]) -> anyhow::Result<Said> {
        let dir = self.0.dir();
        let components = devgate_tests::components()?;
        let (old, new, nodes) = (dir.join("policy.yaml"), dir.join("new.yaml"), dir.join("nodes"));
        let args =
            [Path::new("plan"), &old, &new, Path::new("--nodes"), &nodes, Path::new("--components"), &components];
        look(args.into_iter().chain(more.iter().map(Path::new)))
    }
}

#[test]
fn a_change_is_told_by_kind_of_node_and_what_is_held_stops_it() -> anyhow::Result<()> {
    let planned = Planned::new(OLD, NEW)?;
    let changes = planned.plan(&[])?;
    assert_eq!(changes.code, Some(10), "{}", changes.out);
    planned.hold("0000:00:02.0")?;
    let lost = planned.plan(&[])?;
    assert_eq!(lost.code, Some(5), "{}", lost.out);
    let markdown = planned.plan(&["--output", "markdown"])?;
    let mut filters = filters();
    filters.push((r"/\S*/new\.yaml", "new.yaml"));
    insta::with_settings!({filters => filters}, {
        insta::assert_snapshot!(format!("{}\n=====\n{}\n=====\n{}", changes.out, lost.out, markdown.out));
    });
    let json: Value = serde_json::from_str(&planned.plan(&["--output", "json"])?.out)?;
    let b = &json["nodes"][1];
    assert_eq!((&b["node"], &b["held_known"]), (&json!("b"), &json!(true)));
    let goes = &b["units"][0];
    assert_eq!((&goes["change"], &goes["id"], &goes["lost"]), (&json!("goes"), &json!("0000:00:02.0"), &json!(true)));
    Ok(())
}

#[test]
fn the_same_policy_changes_nothing() -> anyhow::Result<()> {
    let planned = Planned::new(GPUS, GPUS)?;
    planned.hold("0000:00:02.0")?;
    let said = planned.plan(&[])?;
    assert_eq!(said.code, Some(0), "{}", said.out);
    assert!(said.out.ends_with("\nnothing changes on 3 recorded nodes\n"), "{}", said.out);
    Ok(())
}

/// Where something is wrong there is no plan, and all of it is said.
#[test]
fn what_cannot_be_read_is_named() -> anyhow::Result<()> {
    let planned = Planned::new(GPUS, "  gpus: {}\n")?;
    let wrong = planned.plan(&[])?;
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(3), ""));
    assert!(wrong.err.contains("new.yaml"), "{}", wrong.err);
    let nodes = planned.0.dir().join("nodes");
    std::fs::write(nodes.join("a.umockdev"), "P: nothing\nX\n")?;
    std::fs::write(nodes.join("b.held.json"), "{}")?;
    let broken = planned.plan(&[])?;
    assert_eq!((broken.code, broken.out.as_str()), (Some(4), ""));
    assert!(broken.err.contains("a.umockdev") && broken.err.contains("b.held.json"), "{}", broken.err);
    for file in ["a.umockdev", "b.umockdev", "none.umockdev"] {
        std::fs::remove_file(nodes.join(file))?;
    }
    let none = planned.plan(&[])?;
    assert_eq!(none.code, Some(4));
    assert!(none.err.contains("no file in it ends with .umockdev"), "{}", none.err);
    Ok(())
}

/// What is not known is not said to stay.
#[test]
fn what_is_not_known_of_the_old_policy_or_of_what_is_held_is_said() -> anyhow::Result<()> {
    let planned = Planned::new(&GPUS.replace("generic.wasm", "gone.wasm"), GPUS)?;
    let said = planned.plan(&[])?;
    assert_eq!((said.code, said.out.as_str()), (Some(4), ""));
    assert!(said.err.contains("gone.wasm") && said.err.contains("--old-components"), "{}", said.err);
    let planned = Planned::new(GPUS, GPUS)?;
    planned.hold_but("0000:00:02.0", Some("the journal is damaged"))?;
    let said = planned.plan(&[])?;
    assert!(said.out.contains("what is held is not all known: the journal is damaged"), "{}", said.out);
    Ok(())
}

/// A component that is not there fails on every node where it would be asked, which a reload would refuse.
#[test]
fn a_plugin_that_would_fail_is_told_with_the_command_that_says_more() -> anyhow::Result<()> {
    let planned = Planned::new(GPUS, &GPUS.replace("generic.wasm", "gone.wasm"))?;
    let said = planned.plan(&[])?;
    assert_eq!(said.code, Some(5), "{}", said.out);
    assert!(said.out.contains("plugin gpus: not-loaded, was works"), "{}", said.out);
    assert!(said.out.contains("; 2 plugins fail that did not"), "{}", said.out);
    let last = said.out.lines().last().unwrap_or_default();
    assert!(last.starts_with("next: devgatectl check --run --policy "), "{last}");
    assert!(last.contains(" --components ") && last.ends_with("/nodes/a.umockdev"), "{last}");
    Ok(())
}
