//! `labels:`: what plugins tell of the node, in the file that Node Feature Discovery reads.

use crate::look::status;
use devgate_tests::Setup;
use rustix::process::Signal;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Two cards of one make.
const NODE: &str = "\
P: /devices/pci0000:00/0000:00:01.0
E: SUBSYSTEM=pci
E: DRIVER=acme one
A: vendor=0x9999\\n
A: numa_node=0\\n

P: /devices/pci0000:00/0000:00:01.0/acme/acme0
N: acme0
E: SUBSYSTEM=acme
E: DEVNAME=/dev/acme0
E: MAJOR=240
E: MINOR=0
A: dev=240:0\\n

P: /devices/pci0000:00/0000:00:01.0/acme/acme1
N: acme1
E: SUBSYSTEM=acme
E: DEVNAME=/dev/acme1
E: MAJOR=240
E: MINOR=1
A: dev=240:1\\n
";

fn policy(labels: &str) -> String {
    format!(
        r#"
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  acme:
    component: {{file: generic.wasm}}
    resources: [example.com/acme]
    hardware:
      - {{subsystem: acme, use: offer, nodes: [{{access: rw}}]}}
    health: {{check-every: 200ms, enumerate-every: 200ms}}
    config: {{devices: [{{resource: example.com/acme, subsystem: acme, name: "acme*"}}]}}
{labels}"#
    )
}

const LABELS: &str = r#"
    labels:
      example.com/acme.count: "{count}"
      example.com/acme.kind: "{property.subsystem} ({resource})"
      example.com/acme.name: "{property.name}"
      "example.com/acme.has.{property.name}": "true"
"#;

fn told(dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join("nfd/devgate.features")).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_s_labels_follow_its_devices_a_restart_and_the_policy() -> anyhow::Result<()> {
    let mut host = Setup::new(&policy(LABELS)).on(NODE).start().await?;
    let dir = host.dir().to_owned();
    let both = [
        "example.com/acme.count=2",
        "example.com/acme.has.acme0=true",
        "example.com/acme.has.acme1=true",
        "example.com/acme.kind=acme-example.com-acme",
    ];
    until("both are told of", || told(&dir) == both).await;
    let labels = &status(&host)?["plugins"][0]["labels"];
    assert_eq!(labels["given"]["example.com/acme.count"], "2");
    assert_eq!(labels["missing"][0]["name"], "example.com/acme.name");
    let why = labels["missing"][0]["why"].as_str().expect("why");
    insta::assert_snapshot!(why, @r#"the units differ: "acme0" and "acme1"; "of" says what then"#);

    // In a rolling update there is a time without a host, and one in which the new one knows nothing yet.
    host.end(Signal::TERM).await?;
    assert_eq!(told(&dir), both);
    let file = std::fs::read_to_string(dir.join("nfd/devgate.features"))?;
    assert!(file.contains("\n# +expiry-time="), "{file}");
    host.spawn()?;
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(2) {
        assert_eq!(told(&dir), both, "nothing blinks");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let first = NODE.split("\nP: /devices/pci0000:00/0000:00:01.0/acme/acme1").next();
    host.replay(first.expect("a part"))?;
    let one = [
        "example.com/acme.count=1",
        "example.com/acme.has.acme0=true",
        "example.com/acme.kind=acme-example.com-acme",
        "example.com/acme.name=acme0",
    ];
    until("one is gone", || told(&dir) == one).await;

    // Somebody removes the file; then the policy has no labels any more.
    std::fs::remove_file(dir.join("nfd/devgate.features"))?;
    until("it is written again", || told(&dir) == one).await;
    std::fs::write(dir.join("policy.yaml"), policy(""))?;
    until("no labels, no file", || !dir.join("nfd/devgate.features").exists()).await;

    // What a host that was killed left behind goes with all else.
    std::fs::write(dir.join("policy.yaml"), policy(LABELS))?;
    until("told again", || told(&dir) == one).await;
    host.end(Signal::KILL).await?;
    let cleaned = Command::new(devgate_tests::devgate()?)
        .arg("cleanup")
        .args([Path::new("--nfd-dir"), &dir.join("nfd"), Path::new("--kubelet-dir"), &dir.join("plugins")])
        .args([Path::new("--state-dir"), &dir.join("state"), Path::new("--status-socket"), &dir.join("status.sock")])
        .output()?;
    let said = String::from_utf8(cleaned.stdout)?;
    assert!(cleaned.status.success() && said.contains("devgate.features"), "{said}");
    assert!(told(&dir).is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_labels_nothing_is_written() -> anyhow::Result<()> {
    let mut host = Setup::new(&policy("")).on(NODE).start().await?;
    host.allocatable("example.com/acme", 2).await?;
    assert!(!host.dir().join("nfd").exists());
    host.end(Signal::TERM).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn check_and_explain_show_what_labels_would_be() -> anyhow::Result<()> {
    let host = Setup::new(&policy(LABELS)).on(NODE).start().await?;
    let ask = |args: &[&str]| -> anyhow::Result<String> {
        let output = Command::new(devgate_tests::devgatectl()?)
            .args(args)
            .args([Path::new("--policy"), &host.dir().join("policy.yaml")])
            .args([Path::new("--node-root"), &host.dir().join("node.umockdev")])
            .output()?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let text = ask(&["check", "--run"])?;
    let lines = text.lines().filter(|line| line.contains("label"));
    let lines = lines.map(|line| line.split("policy.yaml:5: ").last().unwrap_or_default().trim());
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    no label example.com/acme.name: the units differ: "acme0" and "acme1"; "of" says what then [label-missing]
    label      example.com/acme.count=2
    label      example.com/acme.has.acme0=true
    label      example.com/acme.has.acme1=true
    label      example.com/acme.kind=acme-example.com-acme
    "#);
    let said = ask(&["explain", "example.com/acme"])?;
    assert!(said.contains("\nLabels of the node\n  example.com/acme.count=2\n"), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn check_shows_what_schedulers_would_be_told() -> anyhow::Result<()> {
    let dra =
        "    dra: {driver: acme.example.com, attributes: {name: \"{property.name}\", speed: \"{property.speed}\"}}\n";
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("policy.yaml"), policy(dra))?;
    std::fs::write(dir.path().join("node.umockdev"), NODE)?;
    let output = Command::new(devgate_tests::devgatectl()?)
        .args(["check", "--run", "--components"])
        .arg(devgate_tests::components()?)
        .args([Path::new("--policy"), &dir.path().join("policy.yaml")])
        .args([Path::new("--node-root"), &dir.path().join("node.umockdev")])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let lines = text.lines().filter(|line| line.contains("published") || line.contains("attribute"));
    let lines = lines.map(|line| line.split("policy.yaml:5: ").last().unwrap_or_default().trim());
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    id acme0: dra: "speed": there is no property "speed" [attribute-missing]
    id acme1: dra: "speed": there is no property "speed" [attribute-missing]
    published  acme0  name=acme0
    published  acme1  name=acme1
    "#);
    Ok(())
}
