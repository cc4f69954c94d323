//! What a wrong policy gets: one clear message each, exit code 3, and nothing started.

use devgate_tests::devgate;
use std::process::{Command, Output};

fn run(policy: &[u8]) -> anyhow::Result<Output> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("policy.yaml");
    std::fs::write(&file, policy)?;
    Ok(Command::new(devgate()?).arg("run").arg("--policy").arg(&file).arg("--kubelet-dir").arg(dir.path()).output()?)
}

const GOOD: &str = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  fuse:
    component: {file: generic.wasm}
    resources: [devgate.dev/fuse]
    hardware:
      - {subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}
";

#[test]
fn each_mistake_gets_one_clear_message() -> anyhow::Result<()> {
    let bad = [
        ("a typo", GOOD.replace("hardware", "hardwear")),
        ("a wrong type", GOOD.replace("resources: [devgate.dev/fuse]", "resources: 7")),
        ("a plugin twice", format!("{GOOD}{}", GOOD.split("plugins:\n").nth(1).unwrap())),
        ("an illegal resource", GOOD.replace("devgate.dev/fuse", "fuse")),
        ("another version", GOOD.replace("v1alpha1", "v2")),
        ("a signature without a key", GOOD.replace("{file: generic.wasm}", "{file: generic.wasm, signature: x}")),
        ("not YAML", "plugins: [".into()),
        ("nothing", String::new()),
    ];
    let mut said = String::new();
    for (what, policy) in bad {
        let output = run(policy.as_bytes())?;
        assert_eq!(output.status.code(), Some(3), "{what}: {output:?}");
        assert!(output.stdout.is_empty());
        said += &format!("{what}:\n{}\n", String::from_utf8(output.stderr)?);
    }
    insta::with_settings!({filters => vec![(r"/\S*/policy\.yaml", "policy.yaml")]}, {
        insta::assert_snapshot!(said);
    });
    let output = run(b"\xff\xfe\x00")?;
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr)?.contains("is not UTF-8 text"));
    Ok(())
}

#[test]
fn a_policy_that_is_not_there_and_an_empty_directory_are_told_apart() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let run = |path: &std::path::Path| {
        Command::new(devgate()?).arg("run").arg("--policy").arg(path).output().map_err(anyhow::Error::from)
    };
    let missing = run(&dir.path().join("nope.yaml"))?;
    let empty = run(dir.path())?;
    assert_eq!((missing.status.code(), empty.status.code()), (Some(3), Some(3)));
    assert!(String::from_utf8(missing.stderr)?.contains("No such file"));
    assert!(String::from_utf8(empty.stderr)?.contains("the directory has no .yaml or .yml file"));
    Ok(())
}

#[test]
fn a_directory_of_files_is_one_policy() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("a.yaml"), GOOD)?;
    std::fs::write(dir.path().join("b.yaml"), GOOD)?;
    let output = Command::new(devgate()?).arg("run").arg("--policy").arg(dir.path()).output()?;
    assert_eq!(output.status.code(), Some(3), "the same plugin in both");
    let text = String::from_utf8(output.stderr)?;
    assert!(text.contains("b.yaml:4:3") && text.contains("fuse"), "{text}");
    Ok(())
}
