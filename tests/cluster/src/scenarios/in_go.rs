//! A component that is written in Go offers the node's disks, in the place of the one in Rust.

use crate::archive::digest;
use crate::cluster::Cluster;
use crate::devgate::{COMPONENTS, DISK};
use crate::wait::until;
use anyhow::{Context, Result, ensure};

const FILE: &str = "disks-in-go.wasm";

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let wasm = [("GOOS", "wasip1"), ("GOARCH", "wasm")];
    let core = cluster.go_build("component-in-go", "disks-in-go.core.wasm", &wasm, &["-buildmode=c-shared"])?;
    let component = core.with_file_name(FILE);
    let [core, packed] = [&core, &component].map(|path| path.display().to_string());
    let wit = cluster.given.root.join("guests/languages/wit").display().to_string();
    cluster.devgatectl(&["pack", &core, "--wit", &wit, "--world", "widget", "--out", &packed])?;
    std::fs::copy(&component, cluster.file(COMPONENTS).join(FILE)).context("copy the component")?;
    let digest = digest(&std::fs::read(&component)?);
    cluster.change_policy(&policy(&digest, cluster.disks.names()))?;
    // The kubelet brings a changed policy within a minute or two.
    until("the component in Go to be in force", 150, || {
        let status = cluster.in_devgate(&["status", "--output", "json"])?;
        ensure!(status.contains(&digest), "{status}");
        Ok(())
    })?;
    cluster.allocatable(cluster.disks.names().len(), 60)?;
    cluster.run_pod("in-go", 2)?;
    cluster.has_exactly("in-go", 2)?;
    let said = cluster.in_pod("in-go", "echo $DISKS_FROM")?;
    ensure!(said.trim() == "go", "the component's variable is {said}");
    Ok(())
}

fn policy(digest: &str, disks: &[String]) -> String {
    let disks = disks.join(", ");
    format!(
        "apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  disks:
    component: {{file: {FILE}, sha256: \"{digest}\"}}
    resources: [{DISK}]
    hardware:
      - {{subsystem: block, name: [{disks}], use: offer, nodes: [{{access: rw}}]}}
    containers: {{env: {{DISKS_FROM: [go]}}}}
    limits: {{component-size: 6MiB}}
"
    )
}
