//! What people read of commands that look: good, bad and next to nothing.

use crate::look::look;
use crate::small_node::{GPUS, Place, filters};
use std::path::Path;

/// One plugin works; the other offers what the first has, and its component lacks most of what it needs.
const BAD: &str = r#"
  greedy:
    component: {file: overreach.wasm}
    resources: [fake.com/greedy]
    hardware:
      - {subsystem: pci, vendor: "0x1234", use: offer}
      - {subsystem: usb, use: offer}
      - {subsystem: usb, name: "1-*", use: offer}
      - {subsystem: usb, name: "2-*", use: offer}
"#;

/// The command, what it ends with, and what it says on both streams.
fn said(place: &Place, command: &[&str]) -> anyhow::Result<String> {
    let said = look(place.args(command)?)?;
    let code = said.code.unwrap_or_default();
    Ok(format!("$ {}\n{}{}ends with {code}\n", command.join(" "), said.out, said.err))
}

fn all(place: &Place, commands: &[&[&str]]) -> anyhow::Result<String> {
    let said: Vec<_> = commands.iter().map(|command| said(place, command)).collect::<anyhow::Result<_>>()?;
    Ok(said.join("\n"))
}

macro_rules! reads {
    ($said:expr) => {
        let said = $said;
        let mut filters = filters();
        filters.push((r"\d+\.\d\d s", "[time]"));
        // That it takes a while, where it does.
        filters.push((r"(?m)^devgate: (loading|testing) the component of plugin .*\n", ""));
        insta::with_settings!({filters => filters}, { insta::assert_snapshot!(said); });
    };
}

#[test]
fn good() -> anyhow::Result<()> {
    let commands: [&[&str]; 3] = [&["check", "--run"], &["explain", "fake.com/gpu"], &["conform", "--only", "answers"]];
    reads!(all(&Place::new(GPUS)?, &commands)?);
    Ok(())
}

#[test]
fn bad() -> anyhow::Result<()> {
    let commands: [&[&str]; 3] =
        [&["check", "--run"], &["explain", "fake.com/greedy"], &["conform", "--only", "loads"]];
    reads!(all(&Place::new(&format!("{GPUS}{BAD}"))?, &commands)?);
    Ok(())
}

#[test]
fn a_policy_without_plugins() -> anyhow::Result<()> {
    let commands: [&[&str]; 3] = [&["check"], &["explain", "fake.com/gpu"], &["conform"]];
    reads!(all(&Place::new("  {}\n")?, &commands)?);
    Ok(())
}

#[test]
fn a_node_without_devices() -> anyhow::Result<()> {
    let commands: [&[&str]; 3] = [&["check", "--run"], &["explain", "fake.com/gpu"], &["conform"]];
    reads!(all(&Place::on("", GPUS)?, &commands)?);
    Ok(())
}

#[test]
fn scenarios() -> anyhow::Result<()> {
    let place = Place::new(GPUS)?;
    let write = |name: &str, text: &str| std::fs::write(place.dir().join(name), text);
    let scenario = |about: &str, steps: &str| {
        let head = "apiVersion: devgate.dev/v1alpha1\nkind: Scenario";
        format!("{head}\nabout: {about}\npolicy: policy.yaml\nnode: node.umockdev\nsteps:\n{steps}")
    };
    write("good.yaml", &scenario("Both are there", "  - expect: {devices: {fake.com/gpu: 2}}\n"))?;
    write("bad.yaml", &scenario("A third one", "  - {within: 100ms, expect: {devices: {fake.com/gpu: 3}}}\n"))?;
    write("wrong.yaml", &scenario("A mistake", "  - expects: {devices: {}}\n"))?;
    std::fs::create_dir(place.dir().join("empty"))?;
    let mut shown = String::new();
    for name in ["good.yaml", "bad.yaml", "wrong.yaml", "empty"] {
        let (file, components) = (place.dir().join(name), devgate_tests::components()?);
        let said = look([Path::new("simulate"), &file, Path::new("--components"), &components])?;
        let code = said.code.unwrap_or_default();
        shown += &format!("$ simulate {name}\n{}{}ends with {code}\n\n", said.out, said.err);
    }
    reads!(shown.replace(&*place.dir().to_string_lossy(), "[dir]"));
    Ok(())
}
