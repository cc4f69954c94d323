//! `devgate check`.

use crate::look::{Said, look, unread};
use crate::small_node::{GPUS, Place, filters};
use anyhow::Context;
use devgate_tests::components;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// One plugin for each thing that can be wrong or dangerous.
const BAD: &str = r#"
  again:
    component: {file: generic.wasm}
    resources: [fake.com/again]
    hardware:
      - {subsystem: pci, name: "0000:00:01.0", use: offer, nodes: [{subsystem: drm}]}
      - {subsystem: pci, vendor: "0x4321", use: offer}
      - {subsystem: pci, vendor: "0x5432", use: offer}
      - {subsystem: misc}
    host-nodes: {exclusive: ["/dev/nope*"]}
    files: [/proc/driver/fake/version]
    state: true
    shares-hardware: true
    containers:
      env: {FAKE_HINT: any}
      mounts:
        libraries: {source: /opt/fake, target: /opt/fake, unchecked: true}
        tools: {source: /opt/fake-tools, target: /opt/fake-tools}
    config: {devices: [{resource: fake.com/ungranted, subsystem: pci}]}
  memory:
    component: {file: generic.wasm, sha256: "abababababababababababababababababababababababababababababababab"}
    resources: [fake.com/memory]
    hardware:
      - {subsystem: mem, name: mem, use: offer, nodes: [{access: r}]}
    dangerous: [mem, kmsg]
  greedy:
    component: {file: overreach.wasm}
    resources: [fake.com/greedy]
  missing:
    component: {file: missing.wasm}
    resources: [fake.com/missing]
  small:
    component: {file: generic.wasm}
    resources: [fake.com/small]
    hardware:
      - {subsystem: infiniband, use: offer}
    limits: {functions: 3}
"#;

/// What words are needed for besides nodes; a component that is too large to be read; a node that two plugins list.
const MORE: &str = r#"
  orders:
    component: {file: generic.wasm}
    resources: [fake.com/orders]
    hardware:
      - {subsystem: misc, name: "*", use: offer, nodes: [{access: rw}]}
    dangerous: [runtime-annotations, system]
    containers:
      annotations: {io.containerd.fake: any}
      mounts:
        programs: {source: /usr/fake, target: /opt/fake, writable: true}
  large:
    component: {file: generic.wasm, sha256: "abababababababababababababababababababababababababababababababab"}
    resources: [fake.com/large]
    host-nodes: {exclusive: [/dev/fuse]}
    limits: {component-size: 4KiB}
"#;

#[test]
fn words_large_components_and_listed_nodes_are_understood() -> anyhow::Result<()> {
    let said = check(&Place::new(MORE)?, &[])?;
    assert_eq!(said.code, Some(5), "{}{}", said.out, said.err);
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(said.out);
    });
    Ok(())
}

/// The mistakes of one file do not wait until another can be read.
#[test]
fn the_mistakes_of_all_files_are_told() -> anyhow::Result<()> {
    let place = Place::new("  a: {resources: 7}\n")?;
    let said = check(&place, &["--policy", "/nonexistent/policy.yaml"])?;
    assert_eq!(said.code, Some(3), "{}", said.out);
    assert!(said.err.contains("/nonexistent/policy.yaml") && said.err.contains("resources"), "{}", said.err);
    Ok(())
}

fn check(place: &Place, more: &[&str]) -> anyhow::Result<Said> {
    look(place.args(&[&["check"], more].concat())?)
}

#[test]
fn everything_that_is_wrong_is_told_at_once() -> anyhow::Result<()> {
    let place = Place::new(&format!("{GPUS}{BAD}"))?;
    let said = check(&place, &[])?;
    assert_eq!(said.code, Some(5), "{}{}", said.out, said.err);
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(said.out);
    });
    Ok(())
}

/// The same with the digest of its component.
fn pinned(policy: &str) -> anyhow::Result<String> {
    let mut digest = String::new();
    for byte in Sha256::digest(std::fs::read(components()?.join("generic.wasm"))?) {
        write!(digest, "{byte:02x}")?;
    }
    Ok(policy.replace("generic.wasm}", &format!("generic.wasm, sha256: \"{digest}\"}}")))
}

/// A mount that went away, or a mistyped root: there is nothing to say of a policy on a node that is none.
#[test]
fn a_root_without_a_device_tree_is_no_node() -> anyhow::Result<()> {
    let place = Place::new(GPUS)?;
    let empty = tempfile::tempdir()?;
    let mut args = place.args(&["check"])?;
    let root = args.iter().position(|arg| arg == "--node-root").context("it has a root")?;
    args[root + 1] = empty.path().to_owned();
    let said = look(args)?;
    assert_eq!((said.code, said.out.as_str()), (Some(4), ""), "{}", said.err);
    assert!(said.err.contains("there is no device tree") && said.err.contains("--node-root"), "{}", said.err);
    Ok(())
}

/// `make`, `flock` and some terminals do, and what looks at a component has no room for any.
#[test]
fn files_that_a_caller_left_open_are_in_nobodys_way() -> anyhow::Result<()> {
    let place = Place::new(GPUS)?;
    let check = "exec 3</dev/null 4</dev/null 9</dev/null; exec \"$@\"";
    let program = devgate_tests::devgatectl()?;
    let mut command = std::process::Command::new("sh");
    command.args(["-c", check, "sh"]).arg(program).args(place.args(&["check", "--run"])?);
    let output = command.output().context("sh")?;
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// What `inspect --output policy` could not know, and its reader has not put in.
#[test]
fn what_a_skeleton_left_open_is_an_error_where_it_is_no_comment() -> anyhow::Result<()> {
    let text = pinned(GPUS)?;
    let place = Place::new(&format!("# CHANGE-ME is explained here\n{text}"))?;
    assert_eq!(check(&place, &["--strict"])?.code, Some(0));
    let said = check(&Place::new(&text.replace("card*", "CHANGE-ME"))?, &[])?;
    assert_eq!(said.code, Some(5), "{}", said.out);
    assert!(said.out.contains("ERROR") && said.out.contains("CHANGE-ME stands where"), "{}", said.out);
    Ok(())
}

/// Without --run it is said that the component was not asked.
#[test]
fn who_was_not_asked_is_said() -> anyhow::Result<()> {
    let place = Place::new(GPUS)?;
    let word = "no component was asked what it finds and offers: --run starts each once";
    assert!(check(&place, &[])?.out.contains(word));
    assert!(!check(&place, &["--run"])?.out.contains(word));
    Ok(())
}

#[test]
fn a_good_policy_is_good_and_strict_fails_for_warnings() -> anyhow::Result<()> {
    let good = Place::new(&pinned(GPUS)?)?;
    for more in [&[][..], &["--strict"], &["--run", "--strict"]] {
        let said = check(&good, more)?;
        assert_eq!(said.code, Some(0), "{more:?}: {}{}", said.out, said.err);
        assert!(said.out.ends_with("\n0 errors, 0 warnings, 0 dangers in 1 plugin\n"), "{}", said.out);
    }
    let warned = Place::new(&format!("{GPUS}    shares-hardware: true\n"))?;
    assert_eq!(check(&warned, &[])?.code, Some(0));
    assert_eq!(check(&warned, &["--strict"])?.code, Some(5));
    assert_eq!(unread(good.args(&["check"])?)?.code, Some(0), "nobody reads it");
    Ok(())
}

/// Neither node lies beneath the other, and both are of one GPU.
#[test]
fn two_plugins_that_may_offer_nodes_of_one_piece_of_hardware_are_told() -> anyhow::Result<()> {
    let plugin = |name: &str, nodes: &str| {
        format!(
            "  {name}:\n    component: {{file: generic.wasm}}\n    resources: [fake.com/{name}]\n    hardware:\n      - {{subsystem: drm, name: \
             \"{nodes}\", use: offer, nodes: [{{access: rw}}]}}\n    config: {{devices: [{{resource: fake.com/{name}, subsystem: drm}}]}}\n"
        )
    };
    let (cards, renderers) = (plugin("cards", "card*"), plugin("renderers", "renderD*"));
    let node = include_str!("../../../guests/intel-gpu/nodes/flex-and-arc.umockdev");
    let said = check(&Place::on(node, &format!("\n{cards}{renderers}"))?, &[])?;
    let told = "plugin cards may offer the same hardware by another node: renderD128";
    assert!(said.out.contains(told), "{}{}", said.out, said.err);
    let shares = "    shares-hardware: true\n";
    let said = check(&Place::on(node, &format!("\n{cards}{shares}{renderers}{shares}"))?, &[])?;
    assert!(!said.out.contains("by another node"), "{}", said.out);
    Ok(())
}

/// Scripts rely on these.
#[test]
fn the_json_form_has_a_code_for_each_finding() -> anyhow::Result<()> {
    let place = Place::new(&format!("{GPUS}{BAD}"))?;
    let json: serde_json::Value = serde_json::from_str(&check(&place, &["--output", "json", "--run"])?.out)?;
    let codes = |plugin: usize| {
        let findings = json["plugins"][plugin]["findings"].as_array().expect("findings");
        let mut codes: Vec<_> = findings.iter().map(|f| f["code"].as_str().expect("a code").to_owned()).collect();
        codes.dedup();
        codes
    };
    assert_eq!(codes(0), ["component-not-pinned"]);
    assert_eq!(json["plugins"][0]["units"]["healthy"], 2);
    insta::assert_snapshot!((1..6).map(|n| codes(n).join(" ")).collect::<Vec<_>>().join("\n"));
    let documents = include_str!("../../../docs/devgatectl.md");
    for code in (1..6).flat_map(codes) {
        assert!(documents.contains(&format!("`{code}`")), "{code} is not in docs/devgatectl.md");
    }
    let errors = json["errors"].as_u64().expect("a count");
    assert!(errors >= 5, "{errors}");
    Ok(())
}

#[test]
fn a_policy_with_mistakes_is_told_with_all_of_them() -> anyhow::Result<()> {
    let place = Place::new("  a:\n    component: {file: x.wasm}\n    resources: 7\n    hardwear: []\n")?;
    let said = check(&place, &[])?;
    assert_eq!((said.code, said.out.as_str()), (Some(3), ""));
    assert!(said.err.contains("resources") && said.err.contains("hardwear"), "{}", said.err);
    Ok(())
}
