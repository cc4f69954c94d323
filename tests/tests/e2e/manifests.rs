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

fn chart() -> PathBuf {
    root().join("deploy/helm/devgate")
}

/// The policies in a file of the chart's values, each as a file in a folder.
fn policies(values: &str) -> anyhow::Result<TempDir> {
    let text = std::fs::read_to_string(chart().join(values))?;
    let values: Value = serde_saphyr::from_str(&text)?;
    let folder = tempfile::tempdir()?;
    for (name, policy) in values["policy"]["files"].as_object().into_iter().flatten() {
        if let Some(policy) = policy.as_str() {
            std::fs::write(folder.path().join(name), policy)?;
        }
    }
    Ok(folder)
}

/// What is found in a profile for all vendors on a node of one: hardware of the others, devices that are broken or in use, all of what is
/// only looked at; and the release alone knows digests.
const MEANT: [&str; 5] =
    ["component-not-pinned", "device-unused", "matches-everything", "matches-nothing", "node-withheld"];

/// Every policy of a profile, with its component and a node that has what it is about; the chart has none of its own.
#[test]
fn the_policies_are_right_for_their_components() -> anyhow::Result<()> {
    assert!(policies("values.yaml")?.path().read_dir()?.next().is_none(), "a policy that nobody asked for");
    let mut checked = BTreeSet::new();
    for (values, node, offers) in [
        ("gpu", "tests/nodes/hgx-h100.umockdev", "nvidia.com/gpu"),
        ("gpu", "guests/amd-gpu/nodes/mi210.umockdev", "amd.com/gpu"),
        ("gpu", "guests/intel-gpu/nodes/flex-and-arc.umockdev", "gpu.intel.com/i915"),
        ("nic", "guests/sriov-nic/nodes/two-adapters.umockdev", "example.com/vf"),
        ("storage", "guests/nvme/nodes/storage.umockdev", "devgate.dev/nvme"),
    ] {
        let folder = policies(&format!("profiles/{values}.yaml"))?;
        let said = look([
            Path::new("check"),
            Path::new("--policy"),
            folder.path(),
            Path::new("--components"),
            &components()?,
            Path::new("--node-root"),
            &root().join(node),
            Path::new("--run"),
        ])?;
        assert_eq!(said.code, Some(0), "{values}\n{}{}", said.out, said.err);
        let warnings = said.out.lines().filter(|line| line.starts_with("  warning  "));
        let meant = |line: &&str| MEANT.iter().any(|code| line.ends_with(&format!("[{code}]")));
        assert!(said.out.contains("\n0 errors, ") && warnings.clone().all(|line| meant(&line)), "{}", said.out);
        assert!(said.out.contains(", 0 dangers in "), "{}", said.out);
        assert!(said.out.contains(offers) && !said.out.contains(" 0 healthy"), "{}", said.out);
        // What the node does not have costs nothing.
        let policies = folder.path().read_dir()?.count();
        assert_eq!(said.out.matches("idle here: no selector").count(), policies - 1, "{}", said.out);
        checked.insert(format!("{values}.yaml"));
    }
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(chart().join("profiles"))? {
        let profile = entry?.file_name().to_string_lossy().into_owned();
        if policies(&format!("profiles/{profile}"))?.path().read_dir()?.next().is_some() {
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
