//! The files of leases, of pods and of `devgate cdi generate`, to the CNCF's own library: what devgate has called devices, and nothing
//! else. What may be in files otherwise is tried where they are made (`host/cdi/src/tests/cncf_library.rs`).

use crate::look::look;
use devgate_fake_kubelet::Pod;
use devgate_tests::{Kind, Setup, recording};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const BENCH: &str = "devgate.dev/1g.5gb";
const POLICY: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  bench:
    component: {file: generic.wasm}
    resources: [devgate.dev/1g.5gb]
    hardware:
      - {subsystem: pci, vendor: \"0x1d9b\", use: offer, nodes: [{subsystem: bench0, access: rw, container-path: \"/dev/bench/{name}\"}]}
    config: {devices: [{resource: devgate.dev/1g.5gb, subsystem: pci}]}
    containers:
      env: {BENCH: \"{ids}\"}
      release-hook: true
";

fn libraries() -> Vec<PathBuf> {
    let programs = std::env::var_os("DEVGATE_CDI_LIBRARIES");
    programs.map_or_else(Vec::new, |programs| std::env::split_paths(&programs).collect())
}

/// The devices that each library finds, in files that have nothing wrong.
fn agree(dir: &Path, names: &BTreeSet<String>) -> anyhow::Result<()> {
    for program in libraries() {
        let said = Command::new(&program).arg(dir).output()?;
        let told: Value = serde_json::from_slice(&said.stdout)?;
        let devices: BTreeSet<String> = serde_json::from_value(told["devices"].clone())?;
        assert_eq!(devices, *names, "{told}");
        for nothing in ["errors", "not_injected"] {
            assert_eq!(told[nothing], serde_json::json!({}), "{told}");
        }
        for (path, file) in told["files"].as_object().into_iter().flatten() {
            assert_eq!(file["schema"], "", "{path}: {told}");
            // That of podman 4.3 cannot tell.
            let is_lowest = file["lowest"] == file["content"]["cdiVersion"];
            assert!(is_lowest || told["version"] == "0.5.0", "{path}: {told}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi01_cdi02_what_is_leased_and_given_to_pods_is_the_same_to_the_library() -> anyhow::Result<()> {
    let root = tempfile::tempdir()?;
    let dir = root.path().join("cdi");
    let kinds = [Kind { class: 0, count: 5 }];
    let setup = Setup::new(POLICY).on(&recording(&kinds));
    let host = setup.args(&["--edits", "cdi", "--cdi-dir", dir.to_str().unwrap()]).start().await?;
    host.allocatable(BENCH, 5).await?;
    let mut names = BTreeSet::new();
    for (pod, devices) in [("one", 1), ("two", 2)] {
        let admitted = host.kubelet.admit(&Pod::new(pod, &[(BENCH, devices)])).await;
        admitted.map_err(|why| anyhow::anyhow!(why.message))?;
        let container = host.kubelet.containers(pod).unwrap_or_default().concat();
        let options = host.kubelet.start_container(pod, &container).await;
        names.extend(options.map_err(anyhow::Error::msg)?.cdi_devices);
    }
    let socket = host.dir().join("status.sock");
    for lease in ["job", "1:x_y.z"] {
        let begun = Instant::now();
        loop {
            let ask = ["cdi", "lease", BENCH, "--for", lease, "--status-socket", socket.to_str().unwrap()];
            let said = look(ask)?;
            if said.code == Some(0) {
                names.extend(said.out.lines().map(str::to_owned));
                break;
            }
            anyhow::ensure!(begun.elapsed() < Duration::from_secs(60), "{said:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert_eq!(names.len(), 4, "{names:?}");
    agree(&dir, &names)
}

#[test]
fn cdi02_what_is_generated_is_the_same_to_the_library() -> anyhow::Result<()> {
    if !Path::new("/dev/fuse").exists() {
        println!("skipped: there is no /dev/fuse here");
        anyhow::ensure!(std::env::var_os("CI").is_none(), "there is no /dev/fuse here");
        return Ok(());
    }
    let root = tempfile::tempdir()?;
    let (policy, out) = (root.path().join("policy.yaml"), root.path().join("cdi"));
    std::fs::write(
        &policy,
        "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  fuse:
    component: {file: generic.wasm}
    replicas: 9
    resources: [devgate.dev/fuse]
    hardware:
      - {subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}
    config: {devices: [{resource: devgate.dev/fuse, subsystem: misc, name: fuse}]}
",
    )?;
    let components = devgate_tests::components()?;
    let place = ["--policy", policy.to_str().unwrap(), "--components", components.to_str().unwrap()];
    let said = look(["cdi", "generate", "--output-dir", out.to_str().unwrap()].iter().chain(&place))?;
    assert_eq!(said.code, Some(0), "{said:?}");
    agree(&out, &BTreeSet::from(["devgate.devgate.dev/fuse=unit:fuse".to_owned()]))
}
