//! `devgatectl migrate`: what other plugins are told becomes a policy that the components take on a recorded node.

use crate::new_project::repository;
use devgate_tests::{components, devgatectl};
use std::process::{Command, Output};

struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

fn run(args: &[&str]) -> anyhow::Result<Ended> {
    let Output { status, stdout, stderr } = Command::new(devgatectl()?).args(args).output()?;
    Ok(Ended { code: status.code(), out: String::from_utf8(stdout)?, err: String::from_utf8(stderr)? })
}

/// Of the configuration of this name.
fn migrated(name: &str, options: &[&str]) -> anyhow::Result<Ended> {
    let file = repository().join(format!("tests/tests/e2e/migrate/{name}.yaml")).display().to_string();
    run(&[&["migrate", file.as_str()], options].concat())
}

#[test]
fn each_policy_is_right_and_offers_what_the_plugin_did() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    for (name, options, code, node, units) in [
        (
            "sriov",
            &[][..],
            5,
            "sriov-nic/nodes/two-adapters",
            "example.com/vf_vfio, example.com/vf_rdma, example.com/vf",
        ),
        ("nvidia", &["--key", "shared"], 0, "nvidia-gpu/nodes/mig-vfio", "nvidia.com/gpu.shared"),
        ("generic", &[], 5, "generic/nodes/edge", "example.com/serial, example.com/grabber"),
        ("rdma-shared", &["--from", "rdma-shared"], 0, "rdma/nodes/eight-hcas", "rdma/shared_a"),
        ("smarter", &[], 5, "generic/nodes/edge", "smarter-devices/fuse, smarter-devices/ttyUSB"),
        ("akri", &[], 0, "generic/nodes/edge", "akri.sh/ftdi"),
    ] {
        let policy = dir.path().join(format!("{name}.yaml")).display().to_string();
        let ended = migrated(name, &[options, &["--output", &policy]].concat())?;
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{name}: {}", ended.err);
        let node = repository().join(format!("guests/{node}.umockdev")).display().to_string();
        let components = components()?.display().to_string();
        let args = ["check", "--policy", &policy, "--components", &components, "--node-root", &node, "--run"];
        let checked = run(&args)?;
        assert_eq!(checked.code, Some(0), "{name}: {}", checked.out);
        let offers = checked.out.lines().filter_map(|line| line.strip_prefix("  offers ")).map(str::trim).next();
        assert_eq!(offers, Some(units), "{name}: {}", checked.out);
        let counted: Vec<_> = checked.out.lines().filter(|line| line.starts_with("  units ")).collect();
        assert!(
            !counted.is_empty() && !counted.iter().any(|line| line.contains(" 0 healthy")),
            "{name}: {}",
            checked.out
        );
    }
    Ok(())
}

#[test]
fn what_is_not_carried_over_is_named_with_its_key_and_why() -> anyhow::Result<()> {
    let ended = migrated("generic", &[])?;
    insta::assert_snapshot!(ended.err, @r"
    generic.yaml: controllers: plugin: containers: plugin: args: device[0] (example.com/serial): groups[1]: /dev/serial/by-id/usb-Acme_Radio_Stick*: is a link of udev's; name the device by vendor, product and serial (`usb`) instead; the group is left out
    ");
    assert!(ended.out.contains(&format!("#   {}", ended.err)), "{}", ended.out);
    insta::assert_snapshot!(migrated("sriov", &[])?.err, @r"
    sriov.yaml: items[0]: data: config.json: resourceList[1] (example.com/vf_rdma): isRdma: this key is not known, and their plugin ignores it
    ");
    Ok(())
}

#[test]
fn of_several_configurations_one_must_be_chosen() -> anyhow::Result<()> {
    let ended = migrated("nvidia", &[])?;
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(ended.err, @r"
    devgate: several configurations, of which a node has one; choose it by --key, or by its file:
      nvidia.yaml: data: shared
      nvidia.yaml: data: whole
    ");
    assert_eq!(migrated("nvidia", &["--key", "whole"])?.code, Some(0));
    Ok(())
}

#[test]
fn where_there_is_nothing_no_policy_is_written() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> anyhow::Result<String> {
        let path = dir.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let (pod, broken) = (file("pod.yaml", "kind: Pod\n")?, file("broken.yaml", "a: [\n")?);
    let wrong = file("wrong.json", r#"{"resourceList": [{"resourceName": "a b", "selectors": {}}]}"#)?;
    for (args, code, said) in [
        (&["migrate", &pod][..], 5, "no configuration that could become a policy"),
        (&["migrate", &broken], 5, "broken.yaml: line "),
        (&["migrate", &wrong], 5, "the policy would be wrong; nothing was written"),
        (&["migrate", "/nonexistent"], 1, "/nonexistent"),
        (&["migrate", &wrong, "--from", "nvidia"], 5, "no configuration"),
    ] {
        let ended = run(args)?;
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{args:?}");
        assert!(ended.err.contains(said), "{}", ended.err);
    }
    Ok(())
}
