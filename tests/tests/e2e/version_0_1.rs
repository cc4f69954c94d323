//! What version 0.1 built, wrote and was configured with: it loads, and means the same. Recorded once, and never made anew.

use devgate_fake_kubelet::Pod;
use devgate_tests::{Setup, devgate, devgatectl};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Components, policies, recorded nodes and scenarios of that version, and a state directory that its host left.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/0.1.0")
}

/// Its components with its policies on its nodes do what its scenarios say.
#[test]
fn its_components_and_policies_do_what_they_did() -> anyhow::Result<()> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(fixtures())? {
        let scenarios = entry?.path().join("scenarios");
        folders.extend(scenarios.is_dir().then_some(scenarios));
    }
    assert_eq!(folders.len(), 10);
    let mut simulate = Command::new(devgatectl()?);
    simulate.arg("simulate").args(&folders).args(["--jobs", "2", "--components"]);
    let output = simulate.arg(fixtures().join("components")).output()?;
    let (text, wrong) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert!(output.status.success(), "{text}\n{wrong}");
    Ok(())
}

/// A host of that version left it when it ended, with a device of each of two resources given.
#[tokio::test(flavor = "multi_thread")]
async fn what_it_gave_is_known_and_it_can_come_back() -> anyhow::Result<()> {
    const SERIAL: &str = "example.com/serial";
    let left = std::fs::read_to_string(fixtures().join("state/handed-out.json"))?;
    let mut export = Command::new(devgate()?);
    let said = export.args(["state", "export", "--state-dir"]).arg(fixtures().join("state")).output()?;
    // Others may write to a checkout's directories, and devgate trusts none such: then the copy below says it.
    assert!(!said.status.success() || String::from_utf8(said.stdout)? == left);

    let policy = std::fs::read_to_string(fixtures().join("generic/policy.yaml"))?;
    let node = std::fs::read_to_string(fixtures().join("generic/nodes/edge.umockdev"))?;
    let mut host = Setup::new(&policy).on(&node).start().await?;
    host.allocatable(SERIAL, 2).await?;
    host.end(Signal::TERM).await?;
    let state = host.dir().join("state");
    std::fs::remove_dir_all(&state)?;
    let mut copy = Command::new("cp");
    assert!(copy.arg("-rT").arg(fixtures().join("state")).arg(&state).status()?.success());
    let mut private = Command::new("chmod");
    assert!(private.args(["-R", "go="]).arg(&state).status()?.success());
    assert_eq!(host.recorded()?, left);

    host.spawn()?;
    host.allocatable(SERIAL, 2).await?;
    assert_eq!(host.recorded()?, left, "it is in the journal now");
    assert!(!state.join("handed-out.json").exists());
    host.end(Signal::TERM).await?;
    assert_eq!(std::fs::read_to_string(state.join("handed-out.json"))?, left, "as it would have left it");
    assert_eq!(host.recorded()?, left);

    // The other device of the resource is given, and beside what was given then it is one more.
    host.spawn()?;
    host.allocatable(SERIAL, 2).await?;
    host.kubelet.admit(&Pod::new("two", &[(SERIAL, 2)])).await?;
    host.end(Signal::KILL).await?;
    let now = host.recorded()?;
    assert!(now.contains("/dev/ttyUSB0") && now.contains("/dev/ttyUSB1") && now.contains("/dev/fuse"), "{now}");
    Ok(())
}
