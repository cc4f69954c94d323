//! `devgatectl check --nodes`.

use crate::look::{Said, look};
use crate::small_node::{GPUS, Place};
use serde_json::{Value, json};
use std::path::Path;

/// GPUs, and fuse, which one of the nodes has not.
const PLUGINS: &str = r#"
  fuse:
    component: {file: generic.wasm}
    resources: [fake.com/fuse]
    hardware: [{subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}]
    config: {devices: [{resource: fake.com/fuse, subsystem: misc}]}
"#;

fn check(place: &Place, more: &[&str]) -> anyhow::Result<Said> {
    let (policy, nodes, components) =
        (place.dir().join("policy.yaml"), place.dir().join("nodes"), devgate_tests::components()?);
    let args = [
        Path::new("check"),
        Path::new("--policy"),
        &policy,
        Path::new("--nodes"),
        &nodes,
        Path::new("--components"),
        &components,
    ];
    let mut command = std::process::Command::new(devgate_tests::devgatectl()?);
    let output = command.args(args).args(more).stdin(std::process::Stdio::null()).output()?;
    Ok(Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    })
}

#[test]
fn what_matches_nothing_is_told_where_it_does_so_on_every_node() -> anyhow::Result<()> {
    let place = Place::new(&format!("{GPUS}{PLUGINS}"))?;
    let nodes = place.dir().join("nodes");
    std::fs::create_dir(&nodes)?;
    let none = check(&place, &[])?;
    assert_eq!(none.code, Some(4));
    assert!(none.err.contains("no file in it ends with .umockdev"), "{}", none.err);
    std::fs::write(nodes.join("bare.umockdev"), "P: /devices/virtual/misc/x\nE: SUBSYSTEM=misc\n")?;
    let bare = check(&place, &[])?;
    assert_eq!(bare.code, Some(0), "{}", bare.err);
    assert_eq!(bare.out.matches("[matches-nothing]").count(), 2, "{}", bare.out);
    std::fs::copy(place.dir().join("node.umockdev"), nodes.join("gpus.umockdev"))?;
    let both = check(&place, &["--run"])?;
    assert_eq!(both.code, Some(0), "{}", both.err);
    assert!(both.out.starts_with("The policy on 2 recorded nodes: bare, gpus\n"), "{}", both.out);
    assert!(!both.out.contains("matches-nothing"), "{}", both.out);
    assert_eq!(both.out.matches("\n  works on gpus\n  idle on bare\n").count(), 2, "{}", both.out);
    assert_eq!(both.out.matches("[component-not-pinned]").count(), 2, "each finding once: {}", both.out);
    assert!(
        both.out
            .ends_with("\n0 errors, 2 warnings, 0 dangers in 2 plugins\nnext: devgatectl help component-not-pinned\n"),
        "{}",
        both.out
    );
    assert_eq!(check(&place, &["--strict"])?.code, Some(5));
    let json: Value = serde_json::from_str(&check(&place, &["--output", "json"])?.out)?;
    assert_eq!(json["nodes"], json!(["bare", "gpus"]));
    assert_eq!(json["plugins"][0]["findings"][0]["nodes"], json!(["bare", "gpus"]));
    Ok(())
}

/// A node's program opens no recording, and says which one does.
#[test]
fn the_node_s_program_says_which_one_looks_at_recordings() -> anyhow::Result<()> {
    let place = Place::new(GPUS)?;
    let (policy, node) = (place.dir().join("policy.yaml"), place.dir().join("copy"));
    std::fs::create_dir(&node)?;
    std::fs::copy(place.dir().join("node.umockdev"), node.join("a.umockdev"))?;
    let said = look([Path::new("check"), Path::new("--policy"), &policy, Path::new("--nodes"), &node])?;
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("run `devgatectl` with the same command and options"), "{}", said.err);
    Ok(())
}
