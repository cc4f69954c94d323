//! What the manifests in `deploy/` hand to the program: policies that mean something, and options that it has.
//! `cargo xtask test --only manifests` checks the manifests themselves.

use crate::look::look;
use devgate_tests::components;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The policies in a file of the chart's values, each as a file in a folder.
fn policies(values: &str) -> anyhow::Result<TempDir> {
    let text = std::fs::read_to_string(root().join("deploy").join(values))?;
    let values: Value = serde_saphyr::from_str(&text)?;
    let folder = tempfile::tempdir()?;
    for (name, policy) in values["policy"]["files"].as_object().into_iter().flatten() {
        if let Some(policy) = policy.as_str() {
            std::fs::write(folder.path().join(name), policy)?;
        }
    }
    Ok(folder)
}

/// Every policy of the chart and of a profile, with its component and a node that has what it is about.
#[test]
fn the_policies_are_right_for_their_components() -> anyhow::Result<()> {
    let mut checked = BTreeSet::new();
    for (values, node, offers) in [
        ("helm/devgate/values.yaml", "guests/generic/nodes/edge.umockdev", "example.com/serial"),
        ("profiles/sriov.yaml", "guests/sriov-nic/nodes/two-adapters.umockdev", "example.com/vf"),
        ("profiles/nvidia.yaml", "tests/nodes/hgx-h100.umockdev", "nvidia.com/gpu"),
    ] {
        let folder = policies(values)?;
        let said = look([
            Path::new("check"),
            Path::new("--policy"),
            folder.path(),
            Path::new("--components"),
            &components()?,
            Path::new("--node-root"),
            &root().join(node),
        ])?;
        assert_eq!(said.code, Some(0), "{values}\n{}{}", said.out, said.err);
        assert!(has_no_fault(&said.out), "{}", said.out);
        assert!(said.out.contains(offers) && !said.out.contains("idle here"), "{}", said.out);
        checked.insert(values.to_owned());
    }
    let mut found = BTreeSet::from(["helm/devgate/values.yaml".to_owned()]);
    for entry in std::fs::read_dir(root().join("deploy/profiles"))? {
        let profile = format!("profiles/{}", entry?.file_name().to_string_lossy());
        if policies(&profile)?.path().read_dir()?.next().is_some() {
            found.insert(profile);
        }
    }
    assert_eq!(found, checked, "a policy that is not checked");
    Ok(())
}

/// Whether nothing is said against a policy but that the admin, who has the component's file, has not pinned it yet.
fn has_no_fault(said: &str) -> bool {
    let warnings = said.matches("\n  warning  ").count();
    let unpinned = said.matches(" is not pinned to a digest: ").count();
    said.contains("\n0 errors, ") && said.contains(", 0 dangers in ") && warnings == unpinned
}

/// What an admin copies: on a node that has what each is about, it offers something, and nobody has a word to say against it.
#[test]
fn the_policies_to_start_from_are_no_more_than_they_need() -> anyhow::Result<()> {
    let folder = root().join("deploy/policies");
    let checked = [
        ("fuse-kvm.yaml", "guests/generic/nodes/edge.umockdev"),
        ("nvidia.yaml", "tests/nodes/hgx-h100.umockdev"),
        ("onload.yaml", "guests/onload/nodes/two-ports.umockdev"),
        ("serial.yaml", "guests/generic/nodes/edge.umockdev"),
        ("sriov-vfio.yaml", "guests/sriov-nic/nodes/two-adapters.umockdev"),
    ];
    for (name, node) in checked {
        let said = look([
            Path::new("check"),
            Path::new("--policy"),
            &folder.join(name),
            Path::new("--components"),
            &components()?,
            Path::new("--node-root"),
            &root().join(node),
            Path::new("--run"),
        ])?;
        assert_eq!(said.code, Some(0), "{name}\n{}{}", said.out, said.err);
        assert!(has_no_fault(&said.out), "{name}\n{}", said.out);
        assert!(said.out.contains("  units ") && !said.out.contains(" 0 healthy"), "{name}\n{}", said.out);
    }
    let mut found = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    found.sort();
    assert_eq!(found, checked.map(|(name, _)| name), "one that is not checked");
    Ok(())
}

/// A node without what it is about: the plugin is idle, and no component is needed.
#[test]
fn the_charts_policy_costs_nothing_where_it_matches_nothing() -> anyhow::Result<()> {
    let folder = policies("helm/devgate/values.yaml")?;
    let said = look([
        Path::new("check"),
        Path::new("--policy"),
        folder.path(),
        Path::new("--components"),
        &components()?,
        Path::new("--node-root"),
        &root().join("tests/nodes/hgx-h100.umockdev"),
    ])?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("idle here"), "{}", said.out);
    Ok(())
}

/// `deploy/allowed.yaml` has the options of every container, which the manifests are held to.
#[test]
fn the_options_of_the_pods_are_the_programs() -> anyhow::Result<()> {
    let list = std::fs::read_to_string(root().join("deploy/allowed.yaml"))?;
    let options = |container| {
        let begin = format!("{container}: option --");
        let lines = list.lines().filter_map(|line| line.split_once(begin.as_str()));
        let names = lines.filter_map(|(_, rest)| rest.split(['=', '"']).next());
        names.map(|name| format!("--{name}")).collect::<BTreeSet<_>>()
    };
    let mut seen = 0;
    for (container, command) in [("devgate", "run"), ("done", "run"), ("cleanup", "cleanup")] {
        let help = look([command, "--help"])?.out;
        for option in options(container) {
            let is_there = help.split([' ', '\n', '[']).any(|word| word == option);
            assert!(is_there, "devgate {command} has no {option}");
            seen += 1;
        }
    }
    assert!(seen >= 9, "only {seen} found");
    Ok(())
}
